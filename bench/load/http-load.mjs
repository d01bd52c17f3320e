import {
  assertProper,
  bodies,
  bodyOf,
  calls,
  headersOf,
  initialize,
  initialized,
  messagesIn,
} from "../workload/requests.mjs";
import { drive } from "./drive.mjs";
import { HttpConnection, headerOf, headOf } from "./http-connection.mjs";

/** Opens a session on a connection, or shakes hands without one if `wire.sessions` is false. Modern wires have none. */
export async function openSession(connection, wire, facts) {
  if (wire.modern) return undefined;
  const hello = initialize(facts.version);
  const { status, head, text } = await connection.request(
    "POST",
    headersOf(wire, hello, facts),
    bodyOf(wire, hello, 1),
  );
  if (status !== 200) throw new Error(`initialize was answered by ${status} ${text}`);
  const session = headerOf(head, "mcp-session-id");
  if (wire.sessions === false && session !== undefined) throw new Error("initialize opened a session, for none");
  if (wire.sessions !== false && session === undefined) throw new Error("initialize opened no session");
  const headers = headersOf(wire, { method: "notifications/initialized" }, { ...facts, session });
  const reply = await connection.request("POST", headers, initialized);
  if (reply.status >= 300) throw new Error(`initialized was answered by ${reply.status} ${reply.text}`);
  return session;
}

const json = "application/json";
const events = "text/event-stream";

/** A legacy wire has one form of response. On a modern wire the server chooses, and notifications need events. */
function remarkOn(name, wire, type) {
  if (wire.modern)
    return name !== "progress" && type.startsWith(events) ? `${name} is answered with events` : undefined;
  const wanted = wire.json ? json : events;
  if (!type.startsWith(wanted)) throw new Error(`${name} was answered with ${type}, for ${wanted}`);
}

/** Servers close connections that are idle for some seconds. Those unused for longer than this are opened again. */
const MOST_IDLE_MS = 2000;

/** Load on an HTTP server: keep-alive connections, each in its own session if the wire has sessions. */
export class HttpLoad {
  #lines = [];
  #usedAt = performance.now();

  constructor(port, wire, facts) {
    this.port = port;
    this.wire = wire;
    this.facts = facts;
  }

  /** Returns the first connection and its session. */
  async first() {
    await this.#grow(1);
    return this.#lines[0];
  }

  /** Fails if a response is wrong or not in the form of the wire. Returns a remark on it, if there is one. */
  async check(name) {
    const { connection, session } = await this.first();
    const headers = headersOf(this.wire, calls[name], { ...this.facts, session });
    const { status, head, text } = await connection.request("POST", headers, bodies(this.wire, calls[name])().text);
    if (status !== 200) throw new Error(`${name} was answered by ${status} ${text.slice(0, 300)}`);
    assertProper(name, messagesIn(text));
    return remarkOn(name, this.wire, headerOf(head, "content-type") ?? "no type");
  }

  async run(name, options) {
    await this.#grow(options.concurrency);
    const senders = this.#lines.map((line) => this.#sender(line, calls[name]));
    const statuses = new Map();
    const result = await drive(options, async (index) => {
      const { status } = await senders[index]();
      if (status !== 200) statuses.set(status, (statuses.get(status) ?? 0) + 1);
    });
    this.#usedAt = performance.now();
    for (const [status, count] of statuses)
      throw new Error(`${name}: ${count} of ${result.calls} answers were ${status}`);
    return result;
  }

  close() {
    for (const { connection } of this.#lines) connection.close();
  }

  #sender({ connection, session }, call) {
    const make = bodies(this.wire, call);
    const headers = headersOf(this.wire, call, { ...this.facts, session });
    const head = headOf(this.port, "POST", headers, Buffer.byteLength(make().text));
    return async () => {
      if (connection.dead) await connection.open();
      try {
        return await connection.send(head + make().text);
      } catch (error) {
        // The server closed the connection, which was idle before, while the request was under way.
        if (!connection.unanswered) throw error;
        await connection.open();
        return connection.send(head + make().text);
      }
    };
  }

  /** Opens missing connections, and opens those again that the server has closed or is about to close. */
  async #grow(count) {
    const isStale = performance.now() - this.#usedAt > MOST_IDLE_MS;
    const renew = async ({ connection }) => {
      if (isStale) connection.close();
      if (isStale || connection.dead) await connection.open();
    };
    await Promise.all(this.#lines.map(renew));
    this.#usedAt = performance.now();
    while (this.#lines.length < count) {
      const missing = Math.min(64, count - this.#lines.length);
      this.#lines.push(...(await Promise.all(Array.from({ length: missing }, () => this.#line()))));
    }
  }

  async #line() {
    const connection = await new HttpConnection(this.port).open();
    return { connection, session: await openSession(connection, this.wire, this.facts) };
  }
}
