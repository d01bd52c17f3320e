import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import type { TestContext } from "node:test";
import type { Cluster, Logs, Records } from "bowline/cluster";
import { z } from "zod";
import { type Gate, gate } from "../../support/gate.js";
import { blocks, messages, settle, status, textOf, until } from "../../support/legacy-endpoint.js";
import { at, type Node, NodesWorld, replaceParts } from "../../support/nodes-world.js";
import { proves } from "../../support/verifies.js";

const wire = "legacy-http";
const UPDATED = "notifications/resources/updated";
const TOOLS = "notifications/tools/list_changed";
const methods = (exchange: Parameters<typeof messages>[0]) => messages(exchange).map(({ method }) => method);

/** Records whose reads of sessions wait for a gate, if there is one. The value is read before. */
function lateReads({ records }: Cluster, next: () => Gate | undefined): { readonly records: Records } {
  const get: Records["get"] = async (key) => {
    const stored = await records.get(key);
    if (key.startsWith("session:")) await next()?.opened;
    return stored;
  };
  return { records: replaceParts(records, { get }) };
}

proves("cluster:state:subscriptions", { wire }, "a change that is faster than its subscription is told", async (t) => {
  const world = new NodesWorld(t);
  let late: Gate | undefined;
  const define = ({ server }: Parameters<NonNullable<Parameters<NodesWorld["node"]>[0]>>[0]) =>
    server.resource("x:y", { name: "x" }, () => "x");
  const one = world.node(define);
  const other = world.node(define, ({ bus }) => ({
    bus: replaceParts(bus, {
      subscribe: (topic, listener) =>
        bus.subscribe(topic, async (text, from) => {
          if (text.includes('"watched"')) await late?.opened;
          listener(text, from);
        }),
    }),
  }));
  const client = await one.endpoint.open();
  const stream = at(other, client).get();
  await until(() => stream.status === 200, "the stream");
  late = gate();
  await status(client.request(1, "resources/subscribe", { uri: "x:y" }), 200);
  one.endpoint.server.changes.resourceUpdated("x:y");
  await settle();
  deepEqual(methods(stream), []);
  late.open();
  await until(() => methods(stream).length > 0, "the update");
  deepEqual(methods(stream), [UPDATED]);
});

proves("cluster:state:log-level", { wire }, "a record that was read before a change does not undo it", async (t) => {
  const world = new NodesWorld(t, {}, { capabilities: { logging: true } });
  let late: Gate | undefined;
  const one = world.node();
  const other = world.node(
    ({ server }) =>
      server.tool("tell", {}, (_args, ctx) => {
        ctx.log("info", "small");
        return "told";
      }),
    (cluster) =>
      lateReads(cluster, () => {
        const gate = late;
        late = undefined;
        return gate;
      }),
  );
  const client = await one.endpoint.open();
  await status(at(other, client).request(1, "ping"), 200);
  await settle();
  world.clock.advance(850);
  const held = gate();
  late = held;
  await status(at(other, client).request(2, "ping"), 200);
  world.clock.advance(50);
  await status(at(other, client).request(3, "logging/setLevel", { level: "error" }), 200);
  held.open();
  await settle();
  const call = at(other, client).call(4, "tell");
  await call.done;
  deepEqual(methods(call), [undefined], "the response alone");
});

proves("cluster:session:cache", { wire }, "after a gap, a session is read before it is served", async (t) => {
  const world = new NodesWorld(t);
  const [one, other] = [world.node(), world.node()];
  const client = await one.endpoint.open();
  await status(at(other, client).request(1, "ping"), 200);
  world.state.cut(other.cluster);
  await status(client.delete(), 200);
  world.state.mend(other.cluster);
  await status(at(other, client).request(2, "ping"), 404);
});

proves("cluster:session:end-everywhere", { wire }, "nothing of an ended session is kept", async (t) => {
  const world = new NodesWorld(t, { resumable: true });
  const [one, other] = [world.node(), world.node()];
  const client = await one.endpoint.open();
  await status(at(other, client).delete(), 200);
  await settle();
  const { records, logs } = one.cluster;
  equal(await records.count("sessions"), 0);
  equal(await records.count("ended sessions"), 0);
  await rejects(async () => logs.claim(`session:${client.id}`, "get"), { code: "cluster_dropped" });
});

proves("cluster:call:cancel-anywhere", { wire }, "a stream that is resumed elsewhere ends with its call", async (t) => {
  const world = new NodesWorld(t, { resumable: true });
  const started = gate();
  const one = world.node(({ server }) =>
    server.tool("wait", {}, async (_args, { signal }) => {
      started.open();
      await new Promise((resolve) => signal.addEventListener("abort", resolve));
      return "";
    }),
  );
  const other = world.node();
  const client = await one.endpoint.open();
  const call = client.call(1, "wait");
  await started.opened;
  const resumed = at(other, client).get(blocks(call)[0]?.id);
  await settle();
  await status(at(other, client).cancel(1), 202);
  await resumed.done;
  deepEqual(messages(resumed), []);
});

proves("cluster:node:death", { wire }, "the questions of a dead process are deleted", async (t) => {
  const world = new NodesWorld(t);
  const one = world.node(({ server }) =>
    server.tool("ask", {}, async (_args, ctx) => {
      await ctx.elicit("Name?", z.object({ name: z.string() }));
      return "";
    }),
  );
  const other = world.node();
  const client = await one.endpoint.open("2025-11-25", { elicitation: {} });
  await status(at(other, client).request(1, "ping"), 200);
  const call = client.call(2, "ask");
  await until(() => messages(call).length === 1, "the question");
  const index = `questions of ${one.cluster.node}`;
  equal(await other.cluster.records.count(index), 1);
  for (let second = 0; second < 30; second++) {
    if (second === 12) world.state.cut(one.cluster);
    world.clock.advance(1_000);
    await settle();
  }
  equal(await other.cluster.records.count(index), 0);
});

proves("cluster:node:patience", { wire }, "a process that is connected again later is not declared dead", async (t) => {
  const world = new NodesWorld(t, { resumable: true });
  const done = gate();
  const one = world.node(({ server }) =>
    server.tool("wait", {}, async () => {
      await done.opened;
      return "done";
    }),
  );
  const other = world.node();
  const client = await one.endpoint.open();
  await status(at(other, client).request(1, "ping"), 200);
  const call = client.call(2, "wait");
  const pass = async (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      world.clock.advance(1_000);
      await settle();
    }
  };
  await pass(15);
  for (const { cluster } of [one, other]) world.state.cut(cluster);
  await pass(60);
  world.state.mend(other.cluster);
  await pass(5);
  world.state.mend(one.cluster);
  await pass(30);
  done.open();
  await call.done;
  equal(textOf(messages(call)[0]), "done");
});

proves(
  "cluster:standalone:newest",
  { wire },
  "of two GETs at the same time the newer one gets the messages",
  async (t) => {
    const world = new NodesWorld(t, { resumable: true });
    let late: Gate | undefined;
    const lateClaims = ({ logs }: Cluster): { readonly logs: Logs } => {
      const claim: Logs["claim"] = async (log, stream) => {
        await late?.opened;
        return logs.claim(log, stream);
      };
      return { logs: replaceParts(logs, { claim }) };
    };
    const define = ({ server }: Parameters<NonNullable<Parameters<NodesWorld["node"]>[0]>>[0]) =>
      server.tool("a", {}, () => "a");
    const one = world.node(define, lateClaims);
    const other = world.node(define);
    const client = await one.endpoint.open();
    late = gate();
    const older = client.get();
    await settle();
    const newer = at(other, client).get();
    await until(() => blocks(newer).length > 0, "the newer stream");
    late.open();
    await status(older, 409);
    one.endpoint.server.tool("b", {}, () => "b");
    await until(() => methods(newer).includes(TOOLS), "the change");
    await settle();
    deepEqual(methods(newer), [TOOLS]);
  },
);

proves("cluster:standalone:once", { wire }, "a message that its former writer cannot store is passed on", async (t) => {
  const world = new NodesWorld(t, { resumable: true });
  const one = world.node(({ server }) => server.tool("a", {}, () => "a"));
  const deaf = ({ bus }: Cluster): Partial<Cluster> => {
    const publish: Cluster["bus"]["publish"] = async (topic, text) => {
      if (!text.includes('"listening"')) await bus.publish(topic, text);
    };
    return { bus: replaceParts(bus, { publish }), connectChanges: (local) => local };
  };
  const other = world.node(({ server }) => server.tool("a", {}, () => "a"), deaf);
  const client = await one.endpoint.open();
  const stream = at(other, client).get();
  await until(() => blocks(stream).length > 0, "the stream");
  one.endpoint.server.tool("b", {}, () => "b");
  await until(() => methods(stream).length > 0, "the change");
  deepEqual(methods(stream), [TOOLS]);
});

proves(
  "cluster:standalone:once",
  { wire },
  "a log message that is published late is not repeated to a client that has moved",
  async (t) => {
    const world = new NodesWorld(t, {}, { capabilities: { logging: true } });
    const held: (() => void)[] = [];
    const one = world.node(
      () => {},
      ({ bus }) => ({
        bus: replaceParts(bus, {
          publish: async (topic, text) => {
            if (text.includes('"log"')) await new Promise<void>((resolve) => held.push(resolve));
            return bus.publish(topic, text);
          },
        }),
      }),
    );
    const other = world.node();
    const client = await one.endpoint.open();
    const bystander = await other.endpoint.open();
    const first = client.get();
    const elsewhere = bystander.get();
    await until(() => first.status === 200 && elsewhere.status === 200, "the streams");
    await settle();
    one.endpoint.server.log("info", "late");
    await until(() => messages(first).length === 1, "the message");
    const second = at(other, client).get();
    await until(() => second.status === 200, "the second stream");
    await settle();
    for (const publish of held) publish();
    await until(() => messages(elsewhere).length === 1, "the message in the other process");
    await settle();
    deepEqual(messages(second), []);
  },
);

/** Two nodes that serve sessions, the second of which gets log messages when the test lets it. */
async function slowToHear(t: TestContext, resumable: boolean) {
  const world = new NodesWorld(t, { resumable }, { capabilities: { logging: true } });
  const held: (() => void)[] = [];
  const one = world.node();
  const other = world.node(undefined, ({ bus }) => ({
    bus: replaceParts(bus, {
      subscribe: (topic, listener) =>
        bus.subscribe(topic, (text, from) => {
          if (text.includes('"log"')) held.push(() => listener(text, from));
          else listener(text, from);
        }),
    }),
  }));
  const hear = () => {
    for (const listen of held.splice(0)) listen();
  };
  for (const { endpoint } of [one, other]) await endpoint.open();
  return { world, one, other, hear };
}

/** A client that reads its standalone stream at a node, and a third node, which sends messages to all clients. */
async function listenAt(world: NodesWorld, { endpoint }: Node) {
  const third = world.node();
  await third.endpoint.open();
  const client = await endpoint.open();
  const first = client.get();
  await until(() => first.status === 200, "the first stream");
  await settle();
  return { third, client, first };
}

/** Id of the last event of a stream. */
const lastId = (exchange: Parameters<typeof blocks>[0]) => blocks(exchange).findLast(({ id }) => id !== undefined)?.id;

const data = (exchange: Parameters<typeof messages>[0]) =>
  messages(exchange).flatMap(({ params }) => params?.data ?? []);

for (const resumable of [false, true]) {
  const name = resumable ? "with an event log" : "without an event log";
  proves(
    "cluster:standalone:broadcasts",
    { wire },
    `a message to all clients that a third process sent is written once, although the new writer hears of it later (${name})`,
    async (t) => {
      const { world, one, other, hear } = await slowToHear(t, resumable);
      const { third, client, first } = await listenAt(world, one);
      third.endpoint.server.log("info", "equal");
      third.endpoint.server.log("info", "equal");
      await until(() => messages(first).length === 2, "the messages");
      const last = lastId(first);
      const second = at(other, client).get(resumable ? last : undefined);
      await first.done;
      await until(() => second.status === 200, "the second stream");
      await settle();
      hear();
      third.endpoint.server.log("info", "next");
      await settle();
      hear();
      await until(() => data(second).includes("next"), "the next message");
      await settle();
      deepEqual([data(first), data(second)], [["equal", "equal"], ["next"]]);
    },
  );

  proves(
    "cluster:standalone:broadcasts",
    { wire },
    `a message to all clients is written by the new writer if only it has heard of it (${name})`,
    async (t) => {
      const { world, one, other, hear } = await slowToHear(t, resumable);
      const { third, client, first } = await listenAt(world, other);
      third.endpoint.server.log("info", "before");
      await settle();
      hear();
      await until(() => data(first).length === 1, "the message before");
      third.endpoint.server.log("info", "late");
      await settle();
      const last = lastId(first);
      const second = at(one, client).get(resumable ? last : undefined);
      await first.done;
      await until(() => data(second).length > 0, "the message");
      hear();
      await settle();
      deepEqual([data(first), data(second)], [["before"], ["late"]]);
    },
  );
}

proves(
  "cluster:standalone:broadcasts",
  { wire },
  "a message to all clients that a process which shuts down has not heard of is written by the next writer",
  async (t) => {
    const { world, one, other, hear } = await slowToHear(t, true);
    const { third, client, first } = await listenAt(world, other);
    third.endpoint.server.log("info", "before");
    await settle();
    hear();
    await until(() => data(first).length === 1, "the message before");
    third.endpoint.server.log("info", "late");
    await settle();
    await other.endpoint.server.drain(0);
    await first.done;
    const last = lastId(first);
    const second = at(one, client).get(last);
    await until(() => second.status === 200, "the second stream");
    third.endpoint.server.log("info", "next");
    await until(() => data(second).includes("next"), "the next message");
    deepEqual([data(first), data(second)], [["before"], ["late", "next"]]);
  },
);

for (const resumable of [false, true]) {
  const name = resumable ? "with an event log" : "without an event log";
  proves(
    "cluster:standalone:broadcasts",
    { wire },
    `a message to all clients that a process has written before it shuts down is written once, although the next writer hears of it later (${name})`,
    async (t) => {
      const { world, one, other, hear } = await slowToHear(t, resumable);
      const { third, client, first } = await listenAt(world, one);
      third.endpoint.server.log("info", "before");
      await until(() => data(first).length === 1, "the message before");
      await one.endpoint.server.drain(0);
      await first.done;
      const last = lastId(first);
      const second = at(other, client).get(resumable ? last : undefined);
      await until(() => second.status === 200, "the second stream");
      third.endpoint.server.log("info", "next");
      await settle();
      hear();
      await until(() => data(second).includes("next"), "the next message");
      deepEqual([data(first), data(second)], [["before"], ["next"]]);
    },
  );
}

proves(
  "cluster:standalone:broadcasts",
  { wire },
  "a stream that moves twice gets a message to all clients from the last writer, which waits for what the first has written",
  async (t) => {
    const { world, one, other, hear } = await slowToHear(t, false);
    const [third, sender] = [world.node(), world.node()];
    await sender.endpoint.open();
    const client = await one.endpoint.open();
    const first = client.get();
    await until(() => first.status === 200, "the first stream");
    await settle();
    sender.endpoint.server.log("info", "one");
    await until(() => data(first).length === 1, "the message");
    const second = at(third, client).get();
    await first.done;
    const last = at(other, client).get();
    await second.done;
    await until(() => last.status === 200, "the last stream");
    await settle();
    hear();
    sender.endpoint.server.log("info", "two");
    await settle();
    hear();
    await until(() => data(last).length > 0, "the next message");
    await settle();
    deepEqual([data(first), data(second), data(last)], [["one"], [], ["two"]]);
  },
);

proves(
  "cluster:standalone:broadcasts",
  { wire },
  "a new writer does not wait for a process that is stopped",
  async (t) => {
    const world = new NodesWorld(t, {}, { capabilities: { logging: true } });
    const [one, other] = [world.node(), world.node()];
    const client = await one.endpoint.open();
    const first = client.get();
    await until(() => first.status === 200, "the first stream");
    await settle();
    world.state.cut(one.cluster);
    const second = at(other, client).get();
    await until(() => second.status === 200, "the second stream");
    other.endpoint.server.log("info", "soon");
    await settle();
    deepEqual(data(second), []);
    world.clock.advance(1_000);
    await until(() => data(second).length > 0, "the message");
    deepEqual(data(second), ["soon"]);
  },
);

proves("cluster:stream:stored-first", { wire }, "a call whose messages cannot be stored ends at a limit", async (t) => {
  const world = new NodesWorld(t, { resumable: true }, { limits: { maxBehind: 10_000 } });
  const [started, ended] = [gate(), gate()];
  let isFull = false;
  const one = world.node(({ server }) =>
    server.tool("work", {}, async (_args, ctx) => {
      started.open();
      ctx.signal.addEventListener("abort", () => ended.open());
      for (let count = 1; !isFull && count < 1_000; count++) {
        void ctx.progress(count, undefined, "x".repeat(100));
        await settle();
        isFull = ctx.signal.aborted;
      }
      return "";
    }),
  );
  const client = await one.endpoint.open();
  const call = client.call(1, "work");
  await started.opened;
  world.state.cut(one.cluster);
  await ended.opened;
  await call.done;
  ok(one.endpoint.reports.some(({ error }) => /limits\.maxBehind/.test(String(error))));
});

proves("cluster:standalone:newest", { wire }, "a late message about an older GET changes nothing", async (t) => {
  const world = new NodesWorld(t);
  const late = gate();
  const define = ({ server }: Parameters<NonNullable<Parameters<NodesWorld["node"]>[0]>>[0]) =>
    server.tool("a", {}, () => "a");
  const one = world.node(define, ({ bus }) => {
    const publish: Cluster["bus"]["publish"] = async (topic, text) => {
      if (text.includes('"listening"')) await late.opened;
      return bus.publish(topic, text);
    };
    return { bus: replaceParts(bus, { publish }) };
  });
  const other = world.node(define);
  const client = await one.endpoint.open();
  const older = client.get();
  await until(() => older.status === 200, "the older stream");
  const newer = at(other, client).get();
  await older.done;
  late.open();
  await settle();
  one.endpoint.server.tool("b", {}, () => "b");
  await until(() => methods(newer).includes(TOOLS), "the change");
});
