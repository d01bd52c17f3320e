import { channel } from "node:diagnostics_channel";

/** Statuses of refusals: no node has opened a session. */
const isRefusal = (status, headers) =>
  (status >= 401 && status < 500) || (status === 503 && headers.has("retry-after"));

/**
 * Observes the requests of all clients of this process: which node a call, an answer or a handshake reached, as far as the
 * response tells it. Each has the times at which the request began and at which its response began or failed.
 */
export class Wire {
  #record;
  #byToken = new Map();
  #seen = new WeakMap();
  #sessions = new Map();
  #listeners = {
    "undici:request:create": ({ request }) => this.#onCreate(request),
    "undici:request:headers": ({ request, response }) => this.#onHeaders(request, response),
    "undici:request:error": ({ request, error }) => this.#onError(request, error),
  };

  constructor(record) {
    this.#record = record;
    for (const [name, listener] of Object.entries(this.#listeners)) channel(name).subscribe(listener);
  }

  /** Returns the session of the last handshake of a client that was answered with one. */
  sessionOf(client) {
    return this.#sessions.get(client);
  }

  /** Ends the observation. Fails if it has seen nothing, as with a version of Node that does not tell of requests. */
  end() {
    for (const [name, listener] of Object.entries(this.#listeners)) channel(name).unsubscribe(listener);
    if (!this.#record.calls.some(({ attempts }) => attempts.length > 0))
      throw new Error("no request of a client was observed (diagnostics channel undici:request:create)");
  }

  #onCreate(request) {
    if (request.method !== "POST" || !Buffer.isBuffer(request.body)) return;
    const seen = { at: Date.now() };
    if (this.#note(JSON.parse(request.body), seen) !== undefined) this.#seen.set(request, seen);
  }

  #note({ method, params, result }, seen) {
    const { calls, handshakes } = this.#record;
    if (method === "tools/call") {
      const call = calls[params.arguments.call];
      if (call.token !== undefined) this.#byToken.set(call.token, call);
      return call.attempts.push(seen);
    }
    if (method === "initialize") {
      const { name: client, version } = params.clientInfo;
      return handshakes.push(Object.assign(seen, { client, attempt: version }));
    }
    return this.#byToken.get(result?.content?.value)?.answers.push(seen);
  }

  #onHeaders(request, response) {
    const seen = this.#seen.get(request);
    if (seen === undefined) return;
    const headers = toHeaders(response.headers);
    seen.until = Date.now();
    seen.status = response.statusCode;
    seen.node = headers.get("x-chaos-node");
    seen.session = headers.get("mcp-session-id");
    seen.isRefused = isRefusal(seen.status, headers);
    if (seen.session !== undefined) this.#sessions.set(seen.client, seen.session);
  }

  #onError(request, error) {
    const seen = this.#seen.get(request);
    if (seen === undefined) return;
    seen.until ??= Date.now();
    seen.problem = error.message;
    if (error.code === "ECONNREFUSED") seen.isRefused = true;
  }
}

/** Headers come as a list of names and values. */
function toHeaders(list) {
  const headers = new Map();
  for (let at = 0; at < list.length; at += 2) headers.set(String(list[at]).toLowerCase(), String(list[at + 1]));
  return headers;
}
