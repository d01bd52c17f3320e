import { deepEqual, equal } from "node:assert/strict";
import type { TestContext } from "node:test";
import { ClusterError } from "bowline/cluster";
import { blocks, messages, settle, status, until } from "../../support/legacy-endpoint.js";
import { at, type Node, NodesWorld, replaceParts } from "../../support/nodes-world.js";
import { proves } from "../../support/verifies.js";

const wire = "legacy-http";

function watched(t: TestContext, resumable: boolean): [NodesWorld, Node, Node] {
  const world = new NodesWorld(t, { resumable });
  const define = ({ endpoint }: Node) =>
    endpoint.server.tool("a", {}, () => "a").resource("x:y", { name: "x" }, () => "x");
  const nodes = [world.node(), world.node()] as const;
  for (const node of nodes) define(node);
  return [world, ...nodes];
}

const methods = (exchange: Parameters<typeof messages>[0]) => messages(exchange).map(({ method }) => method);
const texts = (exchange: Parameters<typeof messages>[0]) =>
  messages(exchange).flatMap(({ method, params }) => (method === "notifications/message" ? [params?.data] : []));
const TOOLS = "notifications/tools/list_changed";
const UPDATED = "notifications/resources/updated";

for (const resumable of [false, true]) {
  const name = resumable ? "with an event log" : "without an event log";

  proves(
    "cluster:state:subscriptions",
    { wire },
    `a subscription made in one process reaches a client that listens in another (${name})`,
    async (t) => {
      const [, one, other] = watched(t, resumable);
      const client = await one.endpoint.open();
      const stream = at(other, client).get();
      await settle();
      await status(client.request(1, "resources/subscribe", { uri: "x:y" }), 200);
      one.endpoint.server.changes.resourceUpdated("x:y");
      await until(() => methods(stream).includes(UPDATED), "the update");
      await settle();
      deepEqual(methods(stream), [UPDATED]);
      await status(client.request(2, "resources/unsubscribe", { uri: "x:y" }), 200);
      await settle();
      one.endpoint.server.changes.resourceUpdated("x:y");
      await settle();
      deepEqual(methods(stream), [UPDATED]);
    },
  );

  proves("cluster:standalone:newest", { wire }, `the newest GET takes the stream over (${name})`, async (t) => {
    const [, one, other] = watched(t, resumable);
    const client = await one.endpoint.open();
    const first = client.get();
    await settle();
    const second = at(other, client).get();
    await first.done;
    one.endpoint.server.tool("b", {}, () => "b");
    await until(() => methods(second).includes(TOOLS), "the change");
    await settle();
    deepEqual([methods(first), methods(second)], [[], [TOOLS]]);
    const third = client.get();
    await second.done;
    other.endpoint.server.tool("c", {}, () => "c");
    await until(() => methods(third).length > 0, "the next change");
    equal(methods(third).at(-1), TOOLS);
  });

  proves(
    ["cluster:state:log-level", "cluster:standalone:log-messages"],
    { wire },
    `a log level set in one process counts in all, and messages outside calls reach all clients (${name})`,
    async (t) => {
      const world = new NodesWorld(t, { resumable }, { capabilities: { logging: true } });
      const [one, other] = [world.node(), world.node()];
      const client = await one.endpoint.open();
      const stream = at(other, client).get();
      await settle();
      await status(client.request(1, "logging/setLevel", { level: "error" }), 200);
      await settle();
      one.endpoint.server.log("info", "small");
      one.endpoint.server.log("error", "large");
      await until(() => messages(stream).length > 0, "the message");
      await settle();
      deepEqual(
        messages(stream).map(({ params }) => params?.data),
        ["large"],
      );
    },
  );
}

proves(
  "cluster:standalone:kept",
  { wire },
  "messages that were written before the first GET are replayed by another process",
  async (t) => {
    const [, one, other] = watched(t, true);
    const client = await one.endpoint.open();
    one.endpoint.server.tool("b", {}, () => "b");
    await settle();
    const stream = at(other, client).get();
    await until(() => methods(stream).includes(TOOLS), "the change");
  },
);

proves(
  "cluster:standalone:once",
  { wire },
  "a GET without a position elsewhere repeats no message, and tells that everything may have changed",
  async (t) => {
    const [, one, other] = watched(t, true);
    const client = await one.endpoint.open();
    const first = client.get();
    await settle();
    one.endpoint.server.log("info", "one");
    await until(() => messages(first).length === 1, "the message");
    first.disconnect();
    await settle();
    one.endpoint.server.tool("b", {}, () => "b");
    await settle();
    const second = at(other, client).get();
    await until(() => methods(second).includes(TOOLS), "the change that may have been missed");
    one.endpoint.server.log("info", "two");
    await until(() => texts(second).length > 0, "the next message");
    second.disconnect();
    await settle();
    // A client that leaves before its GET is answered has received nothing.
    client.get().disconnect();
    await settle();
    const third = client.get();
    await until(() => methods(third).includes(TOOLS), "the change after the next takeover");
    one.endpoint.server.log("info", "three");
    await until(() => texts(third).length > 0, "the last message");
    await settle();
    deepEqual([texts(first), texts(second), texts(third)], [["one"], ["two"], ["three"]]);
  },
);

proves(
  "cluster:standalone:once",
  { wire },
  "a client that resumes its stream elsewhere gets each event once and in order",
  async (t) => {
    const [, one, other] = watched(t, true);
    const client = await one.endpoint.open();
    await status(client.request(1, "resources/subscribe", { uri: "x:y" }), 200);
    const first = client.get();
    await settle();
    one.endpoint.server.changes.resourceUpdated("x:y");
    await until(() => methods(first).length === 1, "the first update");
    const last = blocks(first).at(-1)?.id;
    first.disconnect();
    await settle();
    other.endpoint.server.tool("b", {}, () => "b");
    await settle();
    const second = at(other, client).get(last);
    await until(() => methods(second).length === 1, "the change that was missed");
    one.endpoint.server.changes.resourceUpdated("x:y");
    await until(() => methods(second).length === 2, "the second update");
    deepEqual(methods(second), [TOOLS, UPDATED]);
    equal(new Set(blocks(second).flatMap(({ id }) => id ?? [])).size, blocks(second).filter(({ id }) => id).length);
  },
);

proves(
  "cluster:standalone:resync",
  { wire },
  "a process that writes the stream after a dead one tells that everything may have changed",
  async (t) => {
    const [world, one, other] = watched(t, true);
    const client = await one.endpoint.open();
    await status(client.request(1, "resources/subscribe", { uri: "x:y" }), 200);
    const first = client.get();
    await until(() => blocks(first).length > 0, "the first stream");
    world.state.cut(one.cluster);
    const second = at(other, client).get();
    await until(() => blocks(second).length > 0, "the second stream");
    deepEqual(methods(second), [], "the former process may still live");
    for (let second = 0; second < 30; second++) {
      world.clock.advance(1_000);
      await settle();
    }
    deepEqual(methods(second).sort(), [UPDATED, TOOLS, "notifications/resources/list_changed"].sort());
  },
);

proves(
  "cluster:standalone:resync",
  { wire },
  "everything may have changed, although the stream moved on before the death was noticed",
  async (t) => {
    const [world, one, other] = watched(t, true);
    const third = world.node(({ server }) => server.tool("a", {}, () => "a").resource("x:y", { name: "x" }, () => "x"));
    const client = await one.endpoint.open();
    await status(client.request(1, "resources/subscribe", { uri: "x:y" }), 200);
    const first = client.get();
    await until(() => blocks(first).length > 0, "the first stream");
    const last = blocks(first).at(-1)?.id;
    world.state.cut(one.cluster);
    const second = at(other, client).get(last);
    await until(() => second.status === 200, "the second stream");
    await settle();
    second.disconnect();
    await settle();
    const moved = at(third, client).get(last);
    await until(() => moved.status === 200, "the third stream");
    for (let second = 0; second < 30; second++) {
      world.clock.advance(1_000);
      await settle();
    }
    deepEqual(methods(moved).sort(), [UPDATED, TOOLS, "notifications/resources/list_changed"].sort());
  },
);

const EVERYTHING = [UPDATED, TOOLS, "notifications/resources/list_changed"].sort();

/** A client whose stream `one` has lost to `other`, which lost the engine before it had taken the stream over. */
async function lostStream(t: TestContext) {
  const world = new NodesWorld(t, { resumable: true });
  const define = ({ server }: Node["endpoint"]) =>
    server.tool("a", {}, () => "a").resource("x:y", { name: "x" }, () => "x");
  const one = world.node(define);
  const other = world.node(define, ({ logs }) => ({
    logs: replaceParts(logs, {
      claim: async (log, stream) => {
        await logs.claim(log, stream);
        world.state.cut(other.cluster);
        throw new ClusterError("unknown_outcome", "no reply");
      },
    }),
  }));
  const client = await one.endpoint.open();
  await status(client.request(1, "resources/subscribe", { uri: "x:y" }), 200);
  const first = client.get();
  await until(() => blocks(first).length > 0, "the first stream");
  const last = blocks(first).at(-1)?.id;
  first.disconnect();
  await status(at(other, client).get(last), 503);
  one.endpoint.server.changes.resourceUpdated("x:y");
  await settle();
  return { world, other, client, last };
}

proves(
  "cluster:standalone:resync",
  { wire },
  "everything may have changed after a process could not take the stream over",
  async (t) => {
    const { world, other, client, last } = await lostStream(t);
    world.state.mend(other.cluster);
    world.clock.advance(1_000);
    await settle();
    const second = client.get(last);
    await until(() => methods(second).length === 3, "all changes");
    deepEqual(methods(second).sort(), EVERYTHING);
  },
);

proves(
  "cluster:standalone:resync",
  { wire },
  "everything may have changed, although the stream moved on before that process had the engine again",
  async (t) => {
    const { world, other, client, last } = await lostStream(t);
    const second = client.get(last);
    await until(() => second.status === 200, "the second stream");
    await settle();
    deepEqual(methods(second), []);
    world.state.mend(other.cluster);
    world.clock.advance(1_000);
    await until(() => methods(second).length === 3, "all changes");
    deepEqual(methods(second).sort(), EVERYTHING);
  },
);
