// A server on several processes. Arguments: options as JSON: { "serve": options of serveHttp, "presence": a port to which
// each process connects while it lives, "own": true for a cluster of its own, "fail": the number of the first worker
// that cannot start, "hold": the number of the first worker that waits for SIGUSR2 before it serves, "upgraded": the
// number of the first worker of another release, "hidden": true for a node:cluster without the messages that the primary
// follows, "stopped": true for a listener on whose clock no time passes, "limits":
// limits of the server }. The primary takes commands from its
// standard input, a line each: a method of the running server, or
// `block <folder|user|files>`, after which no process can be started, and `unblock`.
import cluster from "node:cluster";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { memoryCluster } from "bowline/cluster";
import { serveHttp } from "bowline/node";
import { McpServer } from "bowline/server";
import { tasks } from "bowline/tasks/server";

const { serve, presence, own, fail, hold, upgraded, hidden, stopped, limits } = JSON.parse(process.argv[2] ?? "{}");
if (presence !== undefined) connect(presence, "127.0.0.1").unref();
if (cluster.worker?.id >= fail) throw new Error("the worker has no database");

if (hidden && cluster.isPrimary) {
  const name = ["internal", "Message"].join("");
  const { fork } = cluster;
  cluster.fork = (env) => {
    const worker = fork(env);
    const on = worker.process.on.bind(worker.process);
    worker.process.on = (event, listener) => on(event === name ? "absent" : event, listener);
    return worker;
  };
}
const tell = (text) => process.stdout.write(`${text}\n`);
const given = own ? { cluster: memoryCluster(), stateKeys: [{ id: "1", secret: new Uint8Array(32) }] } : {};
const server = new McpServer(
  { name: "workers", version: "1.0.0" },
  { ...given, http: { resumable: true }, limits: { nodeLeaseMs: 1_000, ...limits } },
);
const text = { type: "object", properties: { text: { type: "string" } } };
/** Tells of its begin, and ends when a later run begins in another process, or after `ms`. */
const labour = async ({ ms = 60_000 }, ctx) => {
  const first = await ctx.step("first", () => process.pid);
  tell(`labour ${process.pid}`);
  if (first === process.pid) await new Promise((resolve) => setTimeout(resolve, ms));
  return `begun by ${first}`;
};
server
  .extend(tasks())
  .tool("labour", { input: { type: "object" }, task: { support: "required", restartable: true } }, labour)
  .tool("labour-once", { input: { type: "object" }, task: "required" }, labour)
  .tool("echo", { input: text }, (args) => args.text)
  .tool("pid", {}, () => String(process.pid))
  .tool("own", {}, () => String(server.cluster === given.cluster))
  .tool("keys", {}, () => `${process.argv} ${JSON.stringify(process.env)} ${process.execArgv}`)
  .tool("change", {}, () => {
    server.changes.resourceUpdated("a:b");
    return "changed";
  })
  .tool("ask", {}, async (_, ctx) => {
    const answer = await ctx.elicit("Name?", { type: "object", properties: { name: { type: "string" } } });
    return `${answer.content?.name} ${process.pid}`;
  })
  .tool("work", {}, async (_, ctx) => {
    await ctx.progress(1);
    tell(`working ${process.pid}`);
    await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve, { once: true }));
    return "over";
  })
  .tool("rest", { input: { type: "object" } }, async ({ ms }) => {
    await new Promise((resolve) => setTimeout(resolve, ms));
    return "rested";
  })
  .resource("a:b", { name: "r" }, () => "r");

/** Files that are open so that no more can be. */
const opened = [];
const blocks = {
  folder: () => cluster.setupPrimary({ cwd: "/no/such/folder" }),
  user: () => cluster.setupPrimary({ uid: "no number" }),
  files: () => {
    try {
      for (;;) opened.push(openSync(process.argv[1]));
    } catch (error) {
      if (error.code !== "EMFILE") throw error;
    }
  },
};
const unblock = () => {
  cluster.setupPrimary({ cwd: undefined, uid: undefined });
  for (const file of opened.splice(0)) closeSync(file);
};

if (cluster.worker?.id >= hold) {
  const released = once(process, "SIGUSR2");
  tell(`held ${cluster.worker.id} ${process.pid}`);
  await released;
}
if (cluster.worker?.id >= upgraded) {
  process.send({ bowline: "hello", protocol: 0, needsState: true });
  await new Promise(() => process.on("message", () => tell("welcomed")));
}
try {
  const clock = stopped ? { now: () => 0, schedule: () => undefined, cancel: () => {} } : undefined;
  const running = await serveHttp(server, { ...serve, clock });
  for (const signal of ["SIGINT", "SIGTERM"])
    process.once(signal, async () => {
      if (running.worker === undefined) tell("draining");
      await running.drain(5_000);
      if (running.worker !== undefined) tell(`drained ${running.worker}`);
      process.stdin.destroy();
    });
  if (running.worker === undefined) {
    tell(`url ${running.url} ${running.ready}`);
    const input = createInterface({ input: process.stdin });
    input.on("line", async (line) => {
      const [command, how] = line.split(" ");
      if (command === "block" || command === "unblock") {
        (blocks[how] ?? unblock)();
        return tell(`${command}ed`);
      }
      const problem = await running[command](5_000).catch(({ message }) => message);
      tell(`${command} ${running.ready}${problem === undefined ? "" : ` ${JSON.stringify(problem)}`}`);
      if (command !== "restart") input.close();
    });
  } else tell(`worker ${running.worker} ${process.pid}`);
} catch (error) {
  tell(JSON.stringify({ primary: cluster.isPrimary, name: error.name, message: error.message, code: error.code }));
  process.exit(3);
}
