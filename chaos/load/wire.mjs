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
    if (request.method === "DELETE") {
      const end = { at: Date.now(), session: sentHeaders(request.headers).get("mcp-session-id") };
      this.#record.ends.push(end);
      this.#seen.set(request, end);
      return;
    }
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

  /** Returns a fetch whose requests are observed here. The channel does not show the bodies of texts. */
  observed(fetch) {
    return async (url, init) => {
      const seen = { at: Date.now() };
      const isNoted = init?.method === "POST" && this.#note(JSON.parse(init.body), seen) !== undefined;
      try {
        const response = await fetch(url, init);
        if (isNoted) this.#noteResponse(seen, response.status, response.headers);
        return response;
      } catch (error) {
        if (isNoted) this.#noteProblem(seen, error.cause ?? error);
        throw error;
      }
    };
  }

  #onHeaders(request, response) {
    const seen = this.#seen.get(request);
    if (seen === undefined) return;
    if (request.method === "DELETE") seen.status = response.statusCode;
    else this.#noteResponse(seen, response.statusCode, toHeaders(response.headers));
  }

  #noteResponse(seen, status, headers) {
    seen.until = Date.now();
    seen.status = status;
    seen.node = headers.get("x-chaos-node") ?? undefined;
    seen.session = headers.get("mcp-session-id") ?? undefined;
    seen.isRefused = isRefusal(status, headers);
    if (seen.session !== undefined) this.#sessions.set(seen.client, seen.session);
  }

  #onError(request, error) {
    const seen = this.#seen.get(request);
    if (seen !== undefined) this.#noteProblem(seen, error);
  }

  #noteProblem(seen, { message, code }) {
    seen.until ??= Date.now();
    seen.problem = message;
    if (code === "ECONNREFUSED") seen.isRefused = true;
  }
}

/** Headers of a request are a list of names and values, or a text in older versions of Node. */
function sentHeaders(headers) {
  return toHeaders(typeof headers === "string" ? headers.split(/: |\r\n/) : headers);
}

/** Headers come as a list of names and values. */
function toHeaders(list) {
  const headers = new Map();
  for (let at = 0; at < list.length; at += 2) headers.set(String(list[at]).toLowerCase(), String(list[at + 1]));
  return headers;
}
