/**
 * Server that a script controls. Rules give its responses: `{ on, reply }` with a method of JSON-RPC, or of HTTP for
 * requests without a message. A rule with `once` applies once. The first rule that matches applies.
 */
class ScriptedPeer {
  #rules;

  constructor(rules, journal) {
    this.#rules = [...rules];
    this.journal = journal;
  }

  replyTo(name) {
    const at = this.#rules.findIndex(({ on }) => on === name);
    if (at < 0) return undefined;
    return this.#rules[at].once ? this.#rules.splice(at, 1)[0].reply : this.#rules[at].reply;
  }
}

/** Members that the platform's `fetch` knows. Other members are passed between parts of a client. */
const INIT_MEMBERS = ["cache", "credentials", "duplex", "keepalive", "mode", "redirect", "referrer", "referrerPolicy"];

/** Fills the slots of a value: `{{id}}` and `{{token}}` stand for those of the request. */
function fill(value, request) {
  const text = typeof value === "string" ? value : JSON.stringify(value);
  const token = request?.params?._meta?.progressToken;
  return text
    .replaceAll('"{{id}}"', JSON.stringify(request?.id ?? null))
    .replaceAll('"{{token}}"', JSON.stringify(token ?? null));
}

function toMessage(reply, request) {
  if (reply.json !== undefined) return fill(reply.json, request);
  const { result, error } = reply;
  return fill({ jsonrpc: "2.0", id: "{{id}}", ...(error === undefined ? { result } : { error }) }, request);
}

/** Server on a channel. */
export class ChannelPeer extends ScriptedPeer {
  #channel;
  #last;

  constructor(rules, journal, [ours, theirs]) {
    super(rules, journal);
    this.#channel = ours;
    this.target = { channel: theirs };
    ours.open({
      onFrame: (text) => this.#take(text),
      onProblem: (problem) => journal.saw("problem", problem),
      onClose: () => journal.answer("client closes the channel"),
    });
  }

  get options() {
    return {};
  }

  /** Sends a message that is no response, or that responds to the latest request. */
  push({ frame }) {
    this.#send(fill(frame, this.#last));
  }

  cut() {
    void this.#channel.close();
  }

  #take(text) {
    this.journal.answer(text);
    const message = JSON.parse(text);
    if (message.id !== undefined && message.method !== undefined) this.#last = message;
    const reply = this.replyTo(message.method);
    if (reply === undefined || reply.hold) return;
    for (const frame of reply.frames ?? []) this.#send(fill(frame, message));
    if (reply.cut) this.cut();
    else if (reply.raw !== undefined) this.#send(reply.raw);
    else if (reply.frames === undefined) this.#send(toMessage(reply, message));
  }

  #send(text) {
    void Promise.resolve(this.#channel.send(text)).catch(() => {});
  }
}

/** Server behind `fetch`. */
export class HttpPeer extends ScriptedPeer {
  /** Open streams, in the order in which they were opened. */
  #streams = [];
  #last;

  constructor(rules, journal, url) {
    super(rules, journal);
    this.target = url;
  }

  get options() {
    return { fetch: (url, init) => this.#fetch(url, init) };
  }

  push({ stream = 0, event, text }) {
    this.#streams[stream]?.write(text ?? `data: ${fill(event, this.#last)}\n\n`);
  }

  end({ stream = 0 }) {
    this.#streams[stream]?.end();
  }

  cut({ stream = 0 } = {}) {
    this.#streams[stream]?.fail(new TypeError("terminated"));
  }

  async #fetch(url, init) {
    const { method = "GET", body, signal } = init;
    const extra = Object.fromEntries(INIT_MEMBERS.filter((key) => key in init).map((key) => [key, init[key]]));
    const headers = toPairs(init.headers);
    this.journal.answer({
      method,
      url: String(url),
      headers,
      body: body === undefined || body === null ? null : String(body),
      ...extra,
    });
    const message = typeof body === "string" ? JSON.parse(body) : undefined;
    if (message?.id !== undefined && message.method !== undefined) this.#last = message;
    const name = message === undefined ? method : message.method;
    const reply = this.replyTo(name) ?? defaultReply(method, message);
    if (signal?.aborted) throw signal.reason;
    if (reply.fails) throw new TypeError("fetch failed", { cause: new Error(reply.fails) });
    if (reply.hold) return this.#held(name, signal);
    return this.#respond(reply, message, name, signal);
  }

  #held(name, signal) {
    return new Promise((_resolve, reject) => {
      signal?.addEventListener("abort", () => {
        this.journal.answer(`client gives up ${name}`);
        reject(signal.reason);
      });
    });
  }

  #respond(reply, message, name, signal) {
    const { status = 200, headers = {} } = reply;
    if (reply.sse === undefined) {
      const isText = reply.text !== undefined || [202, 204, 304].includes(status);
      const body = isText ? (reply.text ?? null) : toMessage(reply, message);
      return new Response(body, {
        status,
        headers: isText ? headers : { "content-type": "application/json", ...headers },
      });
    }
    const stream = createStream((how) => this.journal.answer(`client ${how} the stream of ${name}`), signal);
    this.#streams.push(stream);
    for (const event of reply.sse)
      stream.write(typeof event === "string" ? fill(event, message) : `data: ${fill(event, message)}\n\n`);
    if (!reply.open) stream.end();
    return new Response(stream.body, { status, headers: { "content-type": "text/event-stream", ...headers } });
  }
}

function defaultReply(method, message) {
  if (method === "GET") return { status: 405, text: "" };
  if (method === "DELETE") return { status: 200, text: "" };
  return message?.id === undefined || message.method === undefined ? { status: 202 } : { hold: true };
}

function createStream(onEnd, signal) {
  const encoder = new TextEncoder();
  let controller;
  let open = true;
  const finish = (act) => {
    if (open) act();
    open = false;
  };
  const body = new ReadableStream({
    start: (given) => {
      controller = given;
    },
    cancel: () => finish(() => onEnd("cancels")),
  });
  signal?.addEventListener("abort", () =>
    finish(() => {
      onEnd("aborts");
      controller.error(signal.reason);
    }),
  );
  return {
    body,
    write: (text) => open && controller.enqueue(encoder.encode(text)),
    end: () => finish(() => controller.close()),
    fail: (error) => finish(() => controller.error(error)),
  };
}

function toPairs(headers) {
  if (headers === undefined) return [];
  return typeof headers[Symbol.iterator] === "function" ? [...headers] : Object.entries(headers);
}
