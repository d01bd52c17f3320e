import { connect } from "bowline/client";
import { createApp } from "../app.mjs";

const URL_OF_SERVER = "http://localhost/mcp";
const KINDS = ["refused", "reset", "body"];

/**
 * World that uses the fetch handler in place of the network. An outage breaks one request, or one response at a byte.
 */
export class FetchWorld {
  #app;
  #fault;

  constructor(env) {
    this.#app = createApp(env);
  }

  get server() {
    return this.#app.server;
  }

  connect(options) {
    return connect(URL_OF_SERVER, { ...options, fetch: (url, init) => this.#fetch(url, init) });
  }

  /** Sends one message without a client. */
  async post(message, headers) {
    const init = { method: "POST", headers: { ...RAW_HEADERS, ...headers }, body: JSON.stringify(message) };
    const response = await this.server.fetch(new Request(URL_OF_SERVER, init));
    return { status: response.status, header: (name) => response.headers.get(name), text: await response.text() };
  }

  outage(random) {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.#meet()?.resolve(), 300);
      this.#fault = { kind: random.pick(KINDS), bytes: random.below(600), timer, resolve };
    });
  }

  stats() {
    return this.server.stats();
  }

  async rest() {}

  close() {
    return this.server.close();
  }

  #meet() {
    const fault = this.#fault;
    this.#fault = undefined;
    clearTimeout(fault?.timer);
    return fault;
  }

  async #fetch(url, init) {
    const fault = this.#meet();
    try {
      if (fault?.kind === "refused") throw failed("ECONNREFUSED");
      if (fault?.kind === "reset") return await this.#reset(url, init);
      const response = await this.#into(url, init);
      if (fault === undefined || response.body === null) return response;
      return new Response(cutAfter(response.body, fault.bytes), response);
    } finally {
      fault?.resolve();
    }
  }

  /** Rejects when its signal aborts, like a fetch, and the server sees the client leave. */
  #into(url, init) {
    const { signal } = init;
    return new Promise((resolve, reject) => {
      const giveUp = () => reject(signal.reason);
      signal?.addEventListener("abort", giveUp, { once: true });
      this.server
        .fetch(new Request(url, init))
        .then(resolve, reject)
        .finally(() => signal?.removeEventListener("abort", giveUp));
    });
  }

  /** Passes the request to the server, and no response to the client. */
  async #reset(url, init) {
    const wire = new AbortController();
    const answered = this.server.fetch(new Request(url, { ...init, signal: wire.signal }));
    await new Promise(setImmediate);
    wire.abort();
    answered.then(
      (response) => response.body?.cancel().catch(() => {}),
      () => {},
    );
    throw failed("ECONNRESET");
  }
}

export const RAW_HEADERS = { "content-type": "application/json", accept: "application/json, text/event-stream" };

function failed(code) {
  return new TypeError("fetch failed", {
    cause: Object.assign(new Error(`the connection failed (${code})`), { code }),
  });
}

/** Returns the body up to a byte, followed by an error. */
function cutAfter(body, bytes) {
  const reader = body.getReader();
  let left = bytes;
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await reader.read();
      if (done) return controller.close();
      if (value.length <= left) {
        left -= value.length;
        return controller.enqueue(value);
      }
      controller.enqueue(value.subarray(0, left));
      controller.error(failed("ECONNRESET"));
      await reader.cancel();
    },
    cancel: (reason) => reader.cancel(reason),
  });
}
