import { memoryCluster } from "bowline/cluster";
import { McpServer } from "bowline/server";
import { tasks } from "bowline/tasks/server";
import { openCluster } from "../lib/nodes.mjs";
import { median } from "../lib/stats.mjs";
import { envelope, headersOf, messagesIn } from "../workload/requests.mjs";
import { answer } from "./answer.mjs";

/** Bowline's server with tasks, which calls itself: `node tasks.mjs <engine> [url]`, with the engine "memory" for none. */
const [, , engine, url] = process.argv;

const atOnce = 8;
/** Number of tasks that may be created before the earlier ones wait for their answers. */
const ahead = 64;
const most = 1_000_000;
const limits = {
  maxTasks: most,
  maxTasksPerPrincipal: most,
  maxKeptPerPrincipal: most,
  maxKeptAnonymous: most,
  maxRunningPerPrincipal: 64,
};
const capabilities = { elicitation: {}, extensions: { "io.modelcontextprotocol/tasks": {} } };
const meta = { ...envelope, "io.modelcontextprotocol/clientCapabilities": capabilities };

/** Timers of the server and its cluster. */
const timers = new Set();
const clock = {
  now: () => performance.now(),
  schedule(callback, ms) {
    const timer = setTimeout(
      () => {
        timers.delete(timer);
        callback();
      },
      Math.min(ms, 2 ** 31 - 1),
    );
    timers.add(timer);
    return timer;
  },
  cancel(timer) {
    timers.delete(timer);
    clearTimeout(timer);
  },
};

let server;
let work;
let ids = 0;
let made = 0;
let asked = 0;

async function start() {
  const shared = () => openCluster(engine, { url, space: "bench", clock }, { sent: 0, waiting: 0 }).cluster;
  const cluster = engine === "memory" ? memoryCluster({ clock }) : shared();
  await cluster.ready;
  work = tasks({ cluster, limits });
  server = new McpServer({ name: "bench", version: "1.0.0" }, { clock, limits: { anonymousShare: 1 } })
    .extend(work)
    .tool("plain", {}, () => "done")
    .tool("prompt", { task: { promoteAfterMs: 60_000 } }, () => "done")
    .tool("ask", { task: "required" }, async (_, ctx) => {
      asked++;
      await ctx.elicit("Go on?", { type: "object", properties: {} });
      return "done";
    });
}

async function call(name, resultType) {
  const wanted = { method: "tools/call", params: { name, arguments: {}, _meta: meta } };
  const body = JSON.stringify({ jsonrpc: "2.0", id: ++ids, ...wanted });
  const headers = headersOf({ modern: true }, wanted);
  const response = await server.fetch(new Request("http://127.0.0.1/mcp", { method: "POST", headers, body }));
  const { result, error } = messagesIn(await response.text()).at(-1);
  if (result?.resultType !== resultType) throw new Error(`${name} was answered by ${JSON.stringify(error ?? result)}`);
}

const turn = () => new Promise((resolve) => setTimeout(resolve, 2));

/** Makes calls of a tool, some at once. `isAhead` returns true while the server has enough to do. */
async function repeat(name, count, resultType, isAhead = () => false) {
  let left = count;
  const lane = async () => {
    while (left-- > 0) {
      while (isAhead()) await turn();
      await call(name, resultType);
      made++;
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
}

await answer(start, {
  /** Creates tasks that wait for an answer. Returns when all wait. */
  async wait(count) {
    made = asked;
    const end = asked + count;
    await repeat("ask", count, "task", () => made - asked > ahead);
    while (asked < end) await turn();
    await work.idle();
  },

  /** Returns the usual number of timers. The cluster has more of them for moments. */
  async timers() {
    await new Promise((resolve) => setTimeout(resolve, 1000));
    const sizes = [];
    for (const end = clock.now() + 1000; clock.now() < end; await turn()) sizes.push(timers.size);
    return median(sizes);
  },

  /** Returns the CPU time of a call of a tool that is answered at once, in microseconds. */
  async cpuUs(name, count) {
    const before = process.cpuUsage();
    await repeat(name, count, "complete");
    const { user, system } = process.cpuUsage(before);
    return (user + system) / count;
  },
});
