import { fromPg, postgresCluster } from "bowline/postgres";
import { fromNodeRedis, redisCluster } from "bowline/redis";
import { McpServer } from "bowline/server";
import { sqliteCluster } from "bowline/sqlite";
import { tasks } from "bowline/tasks/server";
import pg from "pg";
import { createClient } from "redis";
import { z } from "zod";
import { info } from "../workload/app.mjs";

/** Opens a cluster that counts what it sends, by engine: `{ cluster, end }`. */
export const nodeClusters = {
  redis({ url, space: prefix, clock }, counter) {
    const client = fromNodeRedis(createClient({ url }));
    const open = async (events, signal) => {
      const connection = await client.open(events, signal);
      return { ...connection, ...countedParts(connection, ["command", "subscribe"], counter) };
    };
    return { cluster: redisCluster({ client: { open }, prefix, clock }), end: () => {} };
  },
  postgres({ url, space: schema, clock }, counter) {
    const pool = new pg.Pool({ connectionString: url, max: 4 });
    const client = fromPg(pool);
    const counted = { ...client, ...countedParts(client, ["query"], counter) };
    return { cluster: postgresCluster({ client: counted, schema, clock }), end: () => pool.end() };
  },
};

/** Opens a cluster on an engine. Operations of SQLite are not counted, since nothing is sent. */
export function openCluster(engine, options, counter) {
  if (engine === "sqlite")
    return {
      cluster: sqliteCluster({ path: options.url, prefix: options.space, clock: options.clock }),
      end: () => {},
    };
  return nodeClusters[engine](options, counter);
}

function countedParts(target, names, counter) {
  const count =
    (name) =>
    async (...args) => {
      counter.sent++;
      counter.waiting++;
      try {
        return await target[name](...args);
      } finally {
        counter.waiting--;
      }
    };
  return Object.fromEntries(names.map((name) => [name, count(name)]));
}

/** Server with a cluster that counts its commands. */
export class Node {
  #counter = { sent: 0, waiting: 0 };
  #shared;
  #released = Promise.withResolvers?.() ?? withResolvers();
  server;

  static async start(options) {
    const node = new Node();
    node.#shared = openCluster(options.engine, options, node.#counter);
    const { cluster } = node.#shared;
    await cluster.ready;
    const { clock, resumable, limits } = options;
    node.server = new McpServer(info, {
      cluster,
      clock,
      stateKeys: [{ id: "1", secret: new Uint8Array(32) }],
      http: { resumable },
      limits,
    });
    node.server
      .tool("echo", {}, () => "echo")
      .tool("report", {}, (_, ctx) => {
        ctx.progress(1);
        return "reported";
      })
      .tool("ask", {}, async (_, ctx) => {
        await ctx.elicit("sure?", z.object({ sure: z.boolean() }));
        return "asked";
      })
      .tool("hold", {}, async (_, ctx) => {
        ctx.progress(1);
        const aborted = new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
        await Promise.race([node.#released.promise, aborted]);
        return "released";
      })
      .resource("r://1", { name: "r" }, () => "text");
    if (options.tasks) node.#addTasks();
    return node;
  }

  /** Adds tools that run as tasks. */
  #addTasks() {
    const task = { restartable: true };
    this.server
      .tool("task", { task }, () => "done")
      .tool("step", { task }, async (_, ctx) => String(await ctx.step("one", () => 1)))
      .extend(tasks());
  }

  get cluster() {
    return this.#shared.cluster;
  }

  get sent() {
    return this.#counter.sent;
  }

  /** True while a command has no reply. */
  get isWaiting() {
    return this.#counter.waiting > 0;
  }

  /** Ends the calls of `hold`. */
  release() {
    this.#released.resolve();
  }

  async open() {
    return LegacySession.open(this);
  }

  async close() {
    this.release();
    await this.server.close();
    await this.#shared.cluster.close();
    await this.#shared.end();
  }
}

function withResolvers() {
  const parts = {};
  parts.promise = new Promise((resolve) => {
    parts.resolve = resolve;
  });
  return parts;
}

const address = "http://127.0.0.1/mcp";
const version = "2025-11-25";

/** Session of a client of 2025-11-25, each of whose requests goes to a node of choice. */
class LegacySession {
  #id;
  #requests = 0;

  static async open(node) {
    const session = new LegacySession();
    const clientInfo = { name: "bench", version: "1.0.0" };
    const params = { protocolVersion: version, capabilities: { elicitation: {} }, clientInfo };
    const response = await session.#post(node, { id: 0, method: "initialize", params });
    session.#id = response.headers.get("mcp-session-id");
    await new Events(response).rest();
    await session.#post(node, { method: "notifications/initialized" });
    return session;
  }

  async request(node, method, params) {
    const response = await this.#post(node, { id: ++this.#requests, method, params });
    await new Events(response).rest();
  }

  call(node, name) {
    return this.request(node, "tools/call", { name, arguments: {}, _meta: { progressToken: name } });
  }

  /** Calls a tool that asks a question at one node, and answers at another. */
  async ask(node, answering) {
    const params = { name: "ask", arguments: {} };
    const events = new Events(await this.#post(node, { id: ++this.#requests, method: "tools/call", params }));
    let question;
    while (question?.method !== "elicitation/create") question = (await events.next()).message;
    await this.#post(answering, { id: question.id, result: { action: "accept", content: { sure: true } } });
    await events.rest();
  }

  /** Begins a call that waits. Returns its events. */
  async hold(node) {
    const id = ++this.#requests;
    const params = { name: "hold", arguments: {}, _meta: { progressToken: id } };
    return Object.assign(new Events(await this.#post(node, { id, method: "tools/call", params })), { id });
  }

  cancel(node, requestId) {
    return this.#post(node, { method: "notifications/cancelled", params: { requestId } });
  }

  async listen(node) {
    return new Events(await this.#send(node, "GET"));
  }

  async resume(node, id) {
    return new Events(await this.#send(node, "GET", undefined, { "last-event-id": id }));
  }

  end(node) {
    return this.#send(node, "DELETE");
  }

  #post(node, message) {
    return this.#send(node, "POST", JSON.stringify({ jsonrpc: "2.0", ...message }));
  }

  async #send(node, method, body, further = {}) {
    const headers = {
      accept: "application/json, text/event-stream",
      "content-type": "application/json",
      ...(this.#id === undefined ? {} : { "mcp-session-id": this.#id, "mcp-protocol-version": version }),
      ...further,
    };
    const response = await node.server.fetch(new Request(address, { method, headers, body }));
    if (response.status >= 300) throw new Error(`${method} was answered by ${response.status}`);
    return response;
  }
}

/** Messages of a response, as they arrive. */
class Events {
  #reader;
  #text = "";

  constructor(response) {
    this.#reader = response.body?.pipeThrough(new TextDecoderStream()).getReader();
  }

  /** Returns the next event with an id or a message, or undefined at the end. */
  async next() {
    for (;;) {
      const end = this.#text.indexOf("\n\n");
      if (end >= 0) {
        const block = this.#text.slice(0, end);
        this.#text = this.#text.slice(end + 2);
        const id = /^id: ?(.*)$/m.exec(block)?.[1];
        const data = /^data: ?(\{.*)$/m.exec(block)?.[1];
        if (id === undefined && data === undefined) continue;
        return { id, message: data === undefined ? undefined : JSON.parse(data) };
      }
      const { value, done } = (await this.#reader?.read()) ?? { done: true };
      if (done) return undefined;
      this.#text += value;
    }
  }

  async rest() {
    while ((await this.next()) !== undefined);
  }

  cut() {
    void this.#reader.cancel();
  }
}
