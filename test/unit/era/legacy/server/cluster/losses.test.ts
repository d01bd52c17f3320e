import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { ClusterError } from "bowline/cluster";
import { gate } from "../../../../../support/gate.js";
import { answer, blocks, messages, settle, status, until } from "../../../../../support/legacy-endpoint.js";
import { at, type Node, NodesWorld } from "../../../../../support/nodes-world.js";

const FORM = { type: "object", properties: { value: { type: "string" } }, required: ["value"] } as const;

async function recordOf({ cluster }: Node, id: string) {
  const stored = await cluster.records.get(`session:${id}`);
  return JSON.parse(stored?.value ?? "{}") as {
    readonly state: { readonly ready: boolean };
  };
}

test("a client repeats notifications/initialized that could not be stored", async (t) => {
  const world = new NodesWorld(t);
  const [one, other] = [world.node(), world.node()];
  const exchange = one.endpoint.initialize();
  await exchange.done;
  const session = exchange.headers["mcp-session-id"] ?? "";
  const send = () => one.endpoint.post({ jsonrpc: "2.0", method: "notifications/initialized" }, { session });
  world.state.cut(one.cluster);
  const refused = await status(send(), 503);
  equal(refused.headers["retry-after"], "1");
  world.state.mend(one.cluster);
  await settle();
  await status(send(), 202);
  equal((await recordOf(other, session)).state.ready, true);
});

test("a session whose log is gone has ended", async (t) => {
  const world = new NodesWorld(t, { resumable: true });
  const [one, other] = [world.node(({ server }) => server.tool("a", {}, () => "a")), world.node()];
  const client = await one.endpoint.open();
  await other.cluster.records.delete(`session:${client.id}`);
  await other.cluster.logs.drop(`session:${client.id}`);
  await status(client.call(1, "a"), 404);
});

test("a question that other processes have deleted fails", async (t) => {
  const world = new NodesWorld(t);
  const one = world.node(({ server }) =>
    server.tool("ask", {}, async (_args, ctx) => (await ctx.elicit("what?", FORM)).action),
  );
  const other = world.node();
  await other.endpoint.open();
  const client = await one.endpoint.open("2025-11-25", { elicitation: {} });
  const call = client.call(1, "ask");
  await until(() => messages(call).length > 0, "the question");
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 500) {
      world.clock.advance(500);
      await settle();
    }
  };
  world.state.cut(one.cluster);
  await pass(30_000);
  world.state.mend(one.cluster);
  await pass(5_000);
  await call.done;
  match(JSON.stringify(messages(call).at(-1)), /declared dead by the others/);
});

test("a subscription stays while another process changes the session", async (t) => {
  const world = new NodesWorld(t);
  const define = ({ server }: Node["endpoint"]) => {
    for (const uri of ["x:1", "x:2"]) server.resource(uri, { name: uri }, () => "");
  };
  const [one, other] = [world.node(define), world.node(define)];
  const client = await one.endpoint.open();
  const stream = client.get();
  await until(() => stream.status === 200, "the stream");
  const subscribe = (uri: string, id: number, node: Node) =>
    answer(at(node, client).request(id, "resources/subscribe", { uri }));
  const { records } = one.cluster;
  const put = records.put.bind(records);
  // The other process stores its change between the read and the write of this one.
  records.put = async (...args) => {
    records.put = put;
    await subscribe("x:2", 2, other);
    await settle();
    return put(...args);
  };
  await subscribe("x:1", 1, one);
  await settle();
  const stored = await one.cluster.records.list(`watched by ${client.id}`, { limit: 10 });
  deepEqual(stored.map(({ value }) => value).sort(), ["x:1", "x:2"]);
  for (const uri of ["x:1", "x:2"]) other.endpoint.server.changes.resourceUpdated(uri);
  const updated = () =>
    messages(stream)
      .filter(({ method }) => method === "notifications/resources/updated")
      .map(({ params }) => params?.uri);
  await until(() => updated().length === 2, "both updates");
  deepEqual(updated().sort(), ["x:1", "x:2"]);
});

test("a subscription that is stored without a reply goes with its session", async (t) => {
  const world = new NodesWorld(t);
  const define = ({ server }: Node["endpoint"]) => server.resource("x:1", { name: "x" }, () => "");
  const [one, other] = [world.node(define), world.node(define)];
  const client = await one.endpoint.open();
  const { records } = one.cluster;
  const put = records.put.bind(records);
  records.put = async (key, value, options) => {
    if (!key.startsWith("watch:")) return put(key, value, options);
    await at(other, client).delete().done;
    await put(key, value, options);
    throw new ClusterError("unknown_outcome", "no reply");
  };
  await client.request(1, "resources/subscribe", { uri: "x:1" }).done;
  for (let left = 1; left > 0; await settle()) left = await other.cluster.records.count(`watched by ${client.id}`);
});

test("a process that cannot end a stream when it shuts down leaves it to another one", async (t) => {
  const world = new NodesWorld(t, { resumable: true });
  const started = gate();
  const one = world.node(({ server }) =>
    server.tool("wait", {}, async () => {
      started.open();
      return new Promise<string>(() => {});
    }),
  );
  const other = world.node();
  await other.endpoint.open();
  const client = await one.endpoint.open();
  const { logs } = one.cluster;
  const claim = logs.claim.bind(logs);
  logs.claim = async (log, stream) => {
    const writer = await claim(log, stream);
    const append = writer.append.bind(writer);
    writer.append = (seq, data, options) => {
      if (options?.last === true) throw new ClusterError("unknown_outcome", "no reply");
      return append(seq, data, options);
    };
    return writer;
  };
  const call = client.call(7, "wait");
  await started.opened;
  const resumed = at(other, client).get(blocks(call)[0]?.id);
  await until(() => resumed.status === 200, "the resumption");
  await one.endpoint.server.close();
  for (let passed = 0; passed < 30_000; passed += 500) {
    world.clock.advance(500);
    await settle();
  }
  await resumed.done;
  match(messages(resumed).at(-1)?.error?.message ?? "", /has died/);
});

test("a process that has just started does not delay the end of the calls of a dead one", async (t) => {
  const world = new NodesWorld(t, { resumable: true });
  const never = gate();
  const wait = ({ server }: Node["endpoint"]) =>
    server.tool("wait", {}, async () => {
      await never.opened;
      return "";
    });
  const nodes = [world.node(wait), world.node(wait), world.node(wait)];
  t.after(() => never.open());
  // Each looks at those before it: the last one at the new one first, and that one at the dead one.
  const [dead, fresh, last] = nodes.sort((one, other) => (one.cluster.node < other.cluster.node ? -1 : 1));
  if (dead === undefined || fresh === undefined || last === undefined) throw new Error("three nodes are needed");
  const pass = async (ms: number) => {
    for (let passed = 0; passed < ms; passed += 500) {
      world.clock.advance(500);
      await settle();
    }
  };
  await last.endpoint.open();
  const client = await dead.endpoint.open();
  await pass(15_000);
  const call = client.call(1, "wait");
  await until(() => blocks(call).length > 0, "the stream of the call");
  world.state.cut(dead.cluster);
  call.disconnect();
  const resumed = at(last, client).get(blocks(call).at(-1)?.id);
  await pass(6_000);
  await fresh.endpoint.open();
  await pass(6_000);
  match(JSON.stringify(messages(resumed)), /has died/);
});
