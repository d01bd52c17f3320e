import { deepEqual, equal, match, ok, rejects, throws } from "node:assert/strict";
import { test } from "node:test";
import { connect, RpcError } from "bowline/client";
import { memoryCluster } from "bowline/cluster";
import { type ExtensionServer, McpServer, ServerExtension } from "bowline/server";
import { createChannelPair } from "bowline/testing";
import * as z from "zod";
import { gate } from "../../support/gate.js";
import { enveloped } from "../../support/raw-client.js";

const me = { name: "harbour", version: "2" };
const ID = "com.example/jobs";
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const declared = { [CAPABILITIES]: { extensions: { [ID]: {} } } };

type Heard = { readonly [key: string]: unknown };

/** A client that writes frames by hand, and what it has heard so far. */
async function byHand(server: McpServer) {
  const [near, far] = createChannelPair();
  const heard: Heard[] = [];
  const watchers: (() => void)[] = [];
  const connection = await server.accept(far);
  await near.open({
    onFrame: (frame) => {
      heard.push(JSON.parse(frame));
      for (const watcher of watchers) watcher();
    },
    onProblem: () => {},
    onClose: () => {},
  });
  const until = (fits: () => boolean) =>
    new Promise<void>((resolve) => {
      const look = () => fits() && resolve();
      watchers.push(look);
      look();
    });
  return {
    connection,
    heard,
    until,
    send: (message: object) => near.send(JSON.stringify({ jsonrpc: "2.0", ...message })),
  };
}

test("a topic is served after the acknowledgment and until the subscription ends", async (t) => {
  const stopped = gate();
  const extension = new ServerExtension({ id: ID }).topic("jobs", (wanted) => ({
    honoured: (wanted as string[]).filter((id) => id !== "unknown"),
    start(send) {
      void send("notifications/com.example/job", { id: "a" });
      return stopped.open;
    },
  }));
  const server = new McpServer(me).extend(extension);
  t.after(() => server.close());
  const { heard, until, send } = await byHand(server);
  send(enveloped(1, "subscriptions/listen", { notifications: { jobs: ["a", "unknown"] } }, declared));
  await until(() => heard.length === 2);
  deepEqual(
    heard.map(({ method }) => method),
    ["notifications/subscriptions/acknowledged", "notifications/com.example/job"],
  );
  const [acknowledged, job] = heard.map(({ params }) => params as Heard);
  deepEqual(acknowledged?.notifications, { jobs: ["a"] });
  deepEqual(job?._meta, { "io.modelcontextprotocol/subscriptionId": 1 });
  send({ method: "notifications/cancelled", params: { requestId: 1 } });
  await stopped.opened;
});

test("a topic of an extension that is the server's alone is served to clients that declare nothing", async (t) => {
  const stopped = gate();
  const topic = () => ({ honoured: true, start: () => stopped.open });
  const server = new McpServer(me).extend(new ServerExtension({ id: ID, serverOnly: true }).topic("jobs", topic));
  t.after(() => server.close());
  const { heard, until, send } = await byHand(server);
  send(enveloped(1, "subscriptions/listen", { notifications: { jobs: true } }));
  await until(() => heard.length === 1);
  equal(heard[0]?.method, "notifications/subscriptions/acknowledged");
  deepEqual((heard[0]?.params as Heard | undefined)?.notifications, { jobs: true });
  send({ method: "notifications/cancelled", params: { requestId: 1 } });
  await stopped.opened;
});

test("an extension that is the server's alone has no types of results, which clients must know", () => {
  throws(
    () => new ServerExtension({ id: ID, serverOnly: true, results: { job: "tools/call" } }),
    /^DefinitionError: extension com\.example\/jobs: serverOnly and results cannot be combined, because/,
  );
});

/** How many turns of the queue of microtasks a call of a tool takes. */
async function turnsOf(extension?: ServerExtension): Promise<number> {
  const server = new McpServer(me).tool("t", {}, () => "done");
  if (extension !== undefined) server.extend(extension);
  const { heard, send } = await byHand(server);
  send(enveloped(1, "tools/call", { name: "t", arguments: {} }));
  let turns = 0;
  for (; turns < 100 && heard.length === 0; turns++) await Promise.resolve();
  await server.close();
  return turns;
}

test("an extension that is the server's alone and has methods only costs other calls nothing", async () => {
  const methods = (serverOnly: boolean) =>
    new ServerExtension({ id: ID, serverOnly }).method("com.example/get", {}, () => ({}));
  const plain = await turnsOf();
  equal(await turnsOf(methods(true)), plain);
  ok((await turnsOf(methods(false))) > plain);
});

test("topics that throw leave no subscription behind", async (t) => {
  const stopped: string[] = [];
  const topic = (name: string, fails: string) => () => ({
    honoured: true,
    start() {
      if (fails === "start") throw new Error(`${name} cannot start`);
      return () => {
        stopped.push(name);
        if (fails === "stop") throw new Error(`${name} cannot stop`);
      };
    },
  });
  const extension = new ServerExtension({ id: ID })
    .topic("first", topic("first", "stop"))
    .topic("second", topic("second", "start"))
    .topic("third", topic("third", "never"));
  const reports: string[] = [];
  const server = new McpServer(me, { onError: (error) => void reports.push((error as Error).message) });
  server.extend(extension);
  t.after(() => server.close());
  const { heard, until, send } = await byHand(server);
  send(enveloped(1, "subscriptions/listen", { notifications: { second: 1, third: 1 } }, declared));
  await until(() => heard.some(({ error }) => error !== undefined));
  equal(server.stats().subscriptions, 0);
  send(enveloped(2, "subscriptions/listen", { notifications: { first: 1, third: 1 } }, declared));
  await until(() => heard.filter(({ method }) => method !== undefined).length === 2);
  equal(server.stats().subscriptions, 1);
  send({ method: "notifications/cancelled", params: { requestId: 2 } });
  while (server.stats().subscriptions !== 0) await new Promise(setImmediate);
  deepEqual(stopped, ["first", "third"]);
  deepEqual(reports, ["second cannot start", "first cannot stop"]);
});

test("a subscription that is called off before it begins is not counted", async (t) => {
  const [held, go] = [gate(), gate()];
  const server = new McpServer(me, {
    interceptors: [
      async (call, next) => {
        held.open();
        await go.opened;
        return next(call);
      },
    ],
  });
  t.after(() => server.close());
  const { connection, send } = await byHand(server);
  send(enveloped(1, "subscriptions/listen", { notifications: {} }));
  await held.opened;
  send({ method: "notifications/cancelled", params: { requestId: 1 } });
  await new Promise(setImmediate);
  go.open();
  while (connection.running !== 0) await new Promise(setImmediate);
  equal(server.stats().subscriptions, 0);
});

test("a topic is refused to a client that did not declare the extension", async (t) => {
  const server = new McpServer(me).extend(new ServerExtension({ id: ID }).topic("jobs", () => undefined));
  t.after(() => server.close());
  const { heard, until, send } = await byHand(server);
  send(enveloped(1, "subscriptions/listen", { notifications: { jobs: [] } }));
  await until(() => heard.length === 1);
  deepEqual(
    heard.map(({ error }) => (error as Heard).code),
    [-32021],
  );
});

test("a call continues after its answer, without messages to the client", async (t) => {
  const [answered, asked] = [gate(), gate()];
  const work: Promise<unknown>[] = [];
  const extension = new ServerExtension({ id: ID, results: { job: "tools/call" } }).use(async (call, next) => {
    if (call.method !== "tools/call") return next(call);
    const job = next(call);
    job.catch(() => {});
    work.push(job);
    return { resultType: "job", id: "j1" };
  });
  const server = new McpServer(me)
    .tool("greet", {}, async () => {
      await answered.opened;
      return "hello";
    })
    .tool("asks", {}, async (_, ctx) => {
      await asked.opened;
      ctx.progress(1);
      await ctx.elicit("Who?", z.object({ name: z.string() }));
    })
    .extend(extension);
  t.after(() => server.close());
  const client = await connect(server, {
    era: "modern",
    extensions: [
      {
        id: ID,
        results: { job: { method: "tools/call", resolve: ({ id }) => ({ content: [], structuredContent: id }) } },
      },
    ],
  });
  t.after(() => client.close());
  equal((await client.callTool("greet")).structured, "j1");
  answered.open();
  deepEqual(((await work[0]) as Heard).content, [{ type: "text", text: "hello" }]);
  equal((await client.callTool("asks")).structured, "j1");
  asked.open();
  deepEqual(((await work[1]) as Heard & { isError?: boolean }).isError, true);
});

test("a result of a type that is not the extension's is an error of the server", async (t) => {
  const reported: string[] = [];
  const extension = new ServerExtension({ id: ID, results: { job: "tools/call" } }).use(async (call, next) => {
    return call.method === "prompts/get" ? { resultType: "job" } : next(call);
  });
  const server = new McpServer(me, { onError: (error) => reported.push(String(error)) })
    .prompt("p", {}, () => "hi")
    .extend(extension);
  t.after(() => server.close());
  const client = await connect(server, { era: "modern", capabilities: { extensions: { [ID]: {} } }, cache: false });
  t.after(() => client.close());
  await rejects(client.getPrompt("p"), (error) => error instanceof RpcError && error.rpcCode === -32603);
  match(reported.join(), /com\.example\/jobs: prompts\/get returned the result type "job"; declare it in results/);
});

/** Returns what a listener of `onInstall` gets. */
function installed(server: McpServer): ExtensionServer {
  const given: ExtensionServer[] = [];
  server.extend(new ServerExtension({ id: ID }).onInstall((host) => given.push(host)));
  return given[0] as ExtensionServer;
}

test("an extension learns of the server it belongs to, and can reach nothing else of it", () => {
  const host = installed(new McpServer(me));
  deepEqual(host.info, me);
  deepEqual(Object.keys(host).sort(), ["changes", "clock", "info", "onClosing", "report", "warn"]);
  equal(Object.getPrototypeOf(host), Object.prototype);
  ok(Object.isFrozen(host));
});

test("an extension announces changes on the bus of the cluster that its server has joined since", async (t) => {
  const server = new McpServer(me);
  t.after(() => server.close());
  const host = installed(server);
  const before = host.changes;
  const cluster = memoryCluster();
  t.after(() => cluster.close());
  server.join(cluster, [{ id: "k", secret: new Uint8Array(32) }]);
  ok(host.changes !== before);
});

test("an extension reports, warns, and hears of the end of its server", async () => {
  const said: unknown[][] = [];
  const log = (level: string) => (message: string, fields?: object) => void said.push([level, message, fields]);
  const server = new McpServer(me, { logger: { warn: log("warn"), error: log("error") } });
  const host = installed(server);
  host.report(new Error("tide is late"), { where: "tides" }, "warn");
  host.warn("no tide tables", { port: "Leith" });
  const removed = host.onClosing(() => said.push(["removed"]));
  host.onClosing((isOver) => said.push(["closing", isOver]));
  removed();
  await server.close();
  deepEqual(said, [
    ["warn", "tide is late", { where: "tides" }],
    ["warn", "no tide tables", { port: "Leith" }],
    ["closing", true],
  ]);
});

test("an extension whose resource is already defined installs nothing", async (t) => {
  const extension = new ServerExtension({ id: "com.example/files", serverOnly: true })
    .method("files/count", {}, () => ({ count: 1 }))
    .resource("files://{name}", { name: "files" }, () => "x");
  const server = new McpServer({ name: "s", version: "1" }).resource("files://{name}", { name: "own" }, () => "own");
  t.after(() => server.close());
  throws(
    () => server.extend(extension),
    /resource files:\/\/\{name\} is claimed by com.example\/files and by the server/,
  );
  const client = await connect(server);
  t.after(() => client.close());
  await rejects(client.request("files/count"), { rpcCode: -32601 });
});
