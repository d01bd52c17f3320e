import { setTimeout as sleep } from "node:timers/promises";

const VERSION = "2025-11-25";
/** Pause before a request is sent again. */
const RETRY_MS = 200;
/** Number of attempts to resume the stream of a request, and pause between them. Another process notices a death after a lease. */
const RESUMES = 20;
const RESUME_MS = 250;
/** Time after which a request counts as hanging. Steps end far earlier. */
const TIMEOUT_MS = 30_000;
const NOT_FOUND = 404;

/**
 * Client of 2025-11-25 that starts tasks and waits for the result of each in a request `tasks/result`, whose process may be
 * killed meanwhile. It is written by hand, so that it shows what the processes say. `waits` gets each task, with all that
 * was said about its result.
 */
export class Waiter {
  #world;
  #name;
  #session;
  #ids = 0;

  /** `world` has the nodes, the list `waits`, the list `ends` of ended sessions, and a function that gives out `number`s. */
  constructor(world, name) {
    this.#world = world;
    this.#name = name;
  }

  /** Ends when the load is over and its last task has a result. */
  async run(isOver) {
    while (!isOver()) {
      try {
        await this.#one();
      } catch {
        await sleep(RETRY_MS);
      }
    }
    await this.#close();
  }

  async #one() {
    this.#session ??= await this.#open();
    const { waits, random, uncertain } = this.#world;
    const args = {
      number: this.#world.number(),
      steps: 2 + random.below(3),
      stepMs: 300 + random.below(600),
      asks: false,
    };
    const started = await this.#request("tools/call", { name: "restartable", arguments: args, task: {} });
    const id = started.result?.task?.taskId;
    if (id === undefined) {
      uncertain.push({ number: args.number, problem: started.how });
      if (started.status === NOT_FOUND) this.#session = undefined;
      return sleep(RETRY_MS);
    }
    const wait = { number: args.number, steps: args.steps, id, attempts: [], text: undefined };
    waits.push(wait);
    for (const latest = Date.now() + TIMEOUT_MS; wait.text === undefined && Date.now() < latest; ) {
      const { result, ...attempt } = await this.#request("tasks/result", { taskId: id });
      wait.attempts.push(attempt);
      if (result !== undefined) wait.text = result.content[0].text;
      else await sleep(RETRY_MS);
    }
  }

  async #open() {
    const clientInfo = { name: this.#name, version: "1" };
    const { session } = await this.#request("initialize", { protocolVersion: VERSION, capabilities: {}, clientInfo });
    if (session === null || session === undefined) throw new Error("no session was opened");
    this.#session = session;
    const body = JSON.stringify({ jsonrpc: "2.0", method: "notifications/initialized" });
    const response = await this.#fetch(this.#slot(), { method: "POST", body });
    await response.body?.cancel();
    return session;
  }

  async #close() {
    const session = this.#session;
    if (session === undefined) return;
    try {
      const { status } = await this.#fetch(this.#slot(), { method: "DELETE" });
      this.#world.ends.push({ session, status, at: Date.now() });
    } catch {
      // The session ends when it is idle.
    }
  }

  /**
   * Sends a request to a random process, and resumes its stream on others if the connection is lost. Returns the result, or
   * how it ended: `error` with the code or the status, `refused` by a port where no process listens, `broken`, or `hangs`.
   */
  async #request(method, params) {
    const id = ++this.#ids;
    const slot = this.#slot();
    const seen = { node: this.#world.nodes.nameOf(slot), at: Date.now(), isResumed: false };
    const body = JSON.stringify({ jsonrpc: "2.0", id, method, params });
    const position = { last: undefined };
    let outcome = await this.#read(slot, { method: "POST", body }, id, position);
    for (let tries = 0; outcome.how === "broken" && position.last !== undefined && tries < RESUMES; tries++) {
      await sleep(RESUME_MS);
      seen.isResumed = true;
      outcome = await this.#read(this.#slot(), { method: "GET" }, id, position);
    }
    return { ...seen, ...outcome, until: Date.now() };
  }

  async #read(slot, init, id, position) {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    try {
      const headers = position.last === undefined ? {} : { "last-event-id": position.last };
      const response = await this.#fetch(slot, { ...init, headers, signal });
      const session = response.headers.get("mcp-session-id");
      if (!response.ok) {
        await response.body?.cancel();
        return { how: "error", status: response.status };
      }
      for await (const message of messagesOf(response, position)) {
        if (message.id !== id) continue;
        if (message.error === undefined) return { how: "result", result: message.result, session };
        return { how: "error", code: message.error.code, message: message.error.message };
      }
      return { how: "broken" };
    } catch (error) {
      if (error.cause?.code === "ECONNREFUSED") return { how: position.last === undefined ? "refused" : "broken" };
      return { how: signal.aborted ? "hangs" : "broken" };
    }
  }

  #fetch(slot, { headers, ...init }) {
    const own = {
      authorization: this.#name,
      accept: "application/json, text/event-stream",
      ...(init.body !== undefined && { "content-type": "application/json" }),
      ...(this.#session !== undefined && { "mcp-session-id": this.#session, "mcp-protocol-version": VERSION }),
    };
    const url = `http://127.0.0.1:${this.#world.nodes.ports[slot]}/mcp`;
    return fetch(url, { ...init, headers: { ...own, ...headers } });
  }

  #slot() {
    return this.#world.random.below(this.#world.nodes.ports.length);
  }
}

/** Yields the messages of a response, and notes the id of the last event. */
async function* messagesOf(response, position) {
  if (!response.headers.get("content-type")?.startsWith("text/event-stream")) {
    yield await response.json();
    return;
  }
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of response.body) {
    const events = (text + decoder.decode(chunk, { stream: true })).split(/\r?\n\r?\n/);
    text = events.pop();
    for (const event of events) {
      const [, id] = /^id: ?(.*)$/m.exec(event) ?? [];
      position.last = id ?? position.last;
      const [, data = ""] = /^data: ?(.*)$/m.exec(event) ?? [];
      if (data !== "") yield JSON.parse(data);
    }
  }
}
