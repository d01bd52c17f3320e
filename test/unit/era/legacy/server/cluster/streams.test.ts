import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { type Cluster, ClusterError, type Logs, type Records, type Writer } from "bowline/cluster";
import { MemoryEventLog } from "#src/store/event-log.js";
import { type Gate, gate } from "../../../../../support/gate.js";
import {
  blocks,
  type LegacyEndpoint,
  messages,
  settle,
  status,
  until,
} from "../../../../../support/legacy-endpoint.js";
import { at, NodesWorld, replaceParts } from "../../../../../support/nodes-world.js";

const TOOLS = "notifications/tools/list_changed";
const methods = (exchange: Parameters<typeof messages>[0]) => messages(exchange).map(({ method }) => method);
const ids = (exchange: Parameters<typeof messages>[0]) => messages(exchange).flatMap(({ id }) => id ?? []);

const withTool = ({ server }: LegacyEndpoint) => server.tool("a", {}, () => "a");

/** Waits for the end of a response, and fails if it does not come. */
async function ended(exchange: Parameters<typeof messages>[0]): Promise<void> {
  let isOver = false;
  exchange.done.then(() => {
    isOver = true;
  });
  await until(() => isOver, "the end of the response");
}

async function pass(world: NodesWorld, ms: number, step = 500): Promise<void> {
  for (let passed = 0; passed < ms; passed += step) {
    world.clock.advance(step);
    await settle();
  }
}

/** Calls a function before each append of a node. */
function beforeAppend(work: (data: string) => void | Promise<void>) {
  return ({ logs }: Cluster): Partial<Cluster> => {
    const claim = async (log: string, stream: string): Promise<Writer> => {
      const writer = await logs.claim(log, stream);
      const append: Writer["append"] = async (seq, data, options) => {
        await work(data);
        return writer.append(seq, data, options);
      };
      return { append, wrote: (id) => writer.wrote(id) };
    };
    return { logs: replaceParts<Logs>(logs, { claim }) };
  };
}

test("no change is missed between the shutdown of the process that writes the stream and its takeover", async (t) => {
  const world = new NodesWorld(t, { resumable: true });
  const done = gate();
  const one = world.node(({ server }) =>
    server.tool("wait", {}, async () => {
      await done.opened;
      return "";
    }),
  );
  const other = world.node(withTool);
  const client = await one.endpoint.open();
  const first = client.get();
  await until(() => blocks(first).length > 0, "the stream");
  const call = client.call(1, "wait");
  await settle();
  const drained = one.endpoint.server.drain(10_000);
  await ended(first);
  const last = blocks(first)[0]?.id;
  await status(client.get(last), 503);
  other.endpoint.server.tool("b", {}, () => "b");
  await settle();
  const second = at(other, client).get(last);
  await until(() => methods(second).includes(TOOLS), "the change");
  done.open();
  await Promise.all([drained, call.done]);
});

test("a process that leaves a session it writes for makes the next one tell that all may have changed", async (t) => {
  const world = new NodesWorld(t, { resumable: true }, { limits: { sessionIdleMs: 40_000 } });
  const [one, other] = [world.node(withTool), world.node(withTool)];
  const client = await one.endpoint.open();
  const first = client.get();
  await until(() => blocks(first).length > 0, "the stream");
  first.disconnect();
  for (let second = 0; second < 60; second += 5) {
    await pass(world, 5_000, 1_000);
    await status(at(other, client).request(second, "ping"), 200);
  }
  equal(one.endpoint.stats.sessions, 0);
  other.endpoint.server.tool("b", {}, () => "b");
  await settle();
  const second = at(other, client).get();
  await until(() => methods(second).includes(TOOLS), "the change");
});

test("the newest GET takes over from a stream that was open for days", async (t) => {
  const world = new NodesWorld(t);
  const [one, other] = [world.node(withTool), world.node(withTool)];
  const client = await one.endpoint.open();
  for (const node of [other, one]) {
    const stream = at(node, client).get();
    await until(() => stream.status === 200, "the stream");
    if (node === one) {
      await pass(world, 90_000_000, 60_000);
      at(other, client).get();
      await ended(stream);
    }
  }
});

for (const resumable of [false, true]) {
  const name = resumable ? "with an event log" : "without an event log";
  test(`the completion of a URL elicitation reaches a client that listens in another process (${name})`, async (t) => {
    const world = new NodesWorld(t, { resumable });
    const one = world.node(({ server }) =>
      server.tool("page", {}, async (_args, ctx) => {
        await ctx.elicitUrl("Look", "https://x.test/", { elicitationId: "page" });
        return "";
      }),
    );
    const other = world.node();
    const client = await one.endpoint.open("2025-11-25", { elicitation: { url: {} } });
    const stream = at(other, client).get();
    await until(() => stream.status === 200, "the stream");
    const call = client.call(1, "page");
    await until(() => messages(call).length === 1, "the question");
    const result = { action: "accept" };
    await status(client.post({ jsonrpc: "2.0", id: messages(call)[0]?.id, result }), 202);
    await ended(call);
    for (let minute = 0; minute < 3; minute++) {
      await pass(world, 60_000, 10_000);
      await status(at(other, client).request(minute, "ping"), 200);
    }
    one.endpoint.server.elicitationCompleted("page");
    await until(() => methods(stream).length > 0, "the notification");
    deepEqual(methods(stream), ["notifications/elicitation/complete"]);
  });
}

test("the calls of a dead process end, although the first attempt to end them fails", async (t) => {
  const world = new NodesWorld(t, { resumable: true });
  const started = gate();
  const one = world.node(({ server }) =>
    server.tool("wait", {}, async () => {
      started.open();
      await new Promise(() => {});
      return "";
    }),
  );
  let failures = 3;
  const fail = beforeAppend((data) => {
    if (data.includes("died") && failures-- > 0) throw new ClusterError("unavailable", "The engine is away");
  });
  const other = world.node(undefined, fail);
  const client = await one.endpoint.open();
  const call = client.call(7, "wait");
  await started.opened;
  const resumed = at(other, client).get(blocks(call)[0]?.id);
  await settle();
  world.state.cut(one.cluster);
  await pass(world, 60_000);
  await ended(resumed);
  match(messages(resumed)[0]?.error?.message ?? "", /has died/);
});

test("a response that is ready while the engine is away is stored when it is back", async (t) => {
  const world = new NodesWorld(t, { resumable: true });
  const [started, done] = [gate(), gate()];
  const one = world.node(({ server }) =>
    server.tool("wait", {}, async () => {
      started.open();
      await done.opened;
      return "done";
    }),
  );
  const other = world.node();
  const client = await one.endpoint.open();
  const call = client.call(7, "wait");
  await started.opened;
  await until(() => blocks(call).length === 1, "the first event");
  call.disconnect();
  world.state.cut(one.cluster);
  done.open();
  await pass(world, 8_000);
  world.state.mend(one.cluster);
  await pass(world, 2_000);
  const resumed = at(other, client).get(blocks(call)[0]?.id);
  await until(() => ids(resumed).length > 0, "the response");
  await ended(resumed);
  deepEqual(ids(resumed), [7]);
});

test("a response in a batch is sent although the last request of the batch is cancelled", async (t) => {
  const world = new NodesWorld(t, { resumable: true });
  const [stored, started] = [gate(), gate()];
  const slow = beforeAppend((data) => (data.includes("notifications/progress") ? stored.opened : undefined));
  const one = world.node(({ server }) => {
    server.tool("work", {}, async (_args, ctx) => {
      void ctx.progress(1);
      return "done";
    });
    server.tool("wait", {}, async () => {
      started.open();
      await new Promise(() => {});
      return "";
    });
  }, slow);
  const client = await one.endpoint.open("2025-03-26");
  const request = (id: number, name: string) => ({
    jsonrpc: "2.0",
    id,
    method: "tools/call",
    params: { name, _meta: { progressToken: id } },
  });
  const batch = client.post([request(1, "work"), request(2, "wait")]);
  await started.opened;
  await settle();
  await status(client.cancel(2), 202);
  stored.open();
  await ended(batch);
  deepEqual(ids(batch), [1]);
});

test("each request of a batch ends with an error when its process shuts down", async (t) => {
  const world = new NodesWorld(t, { resumable: true });
  let running = 0;
  const one = world.node(({ server }) =>
    server.tool("wait", {}, async (_args, ctx) => {
      if (running === 0) await ctx.progress(1);
      running++;
      await new Promise(() => {});
      return "";
    }),
  );
  const other = world.node();
  const client = await one.endpoint.open("2025-03-26");
  const params = { name: "wait", _meta: { progressToken: 1 } };
  const batch = client.post([1, 2, 3].map((id) => ({ jsonrpc: "2.0", id, method: "tools/call", params })));
  await until(() => running === 3 && messages(batch).length > 0, "the calls");
  const last = blocks(batch).findLast(({ id }) => id !== undefined)?.id;
  const resumed = at(other, client).get(last);
  await settle();
  await one.endpoint.server.close();
  await ended(resumed);
  deepEqual(ids(resumed).sort(), [1, 2, 3]);
});

test("a response that waits for the log when its process shuts down is stored", async (t) => {
  const world = new NodesWorld(t, { resumable: true });
  const [stored, answered] = [gate(), gate()];
  const slow = beforeAppend((data) => (data.includes("notifications/progress") ? stored.opened : undefined));
  const one = world.node(
    ({ server }) =>
      server.tool("work", {}, async (_args, ctx) => {
        void ctx.progress(1);
        answered.open();
        return "done";
      }),
    slow,
  );
  const other = world.node();
  const client = await one.endpoint.open();
  const call = client.call(5, "work");
  await answered.opened;
  await until(() => blocks(call).length === 1, "the first event");
  const resumed = at(other, client).get(blocks(call)[0]?.id);
  await settle();
  const closed = one.endpoint.server.close();
  await settle();
  stored.open();
  await closed;
  await until(() => ids(resumed).length > 0, "the response");
  await ended(resumed);
  deepEqual(ids(resumed), [5]);
});

test("a client that resumes a stream of another process again replaces its former connection", async (t) => {
  const world = new NodesWorld(t, { resumable: true });
  const started = gate();
  const one = world.node(({ server }) =>
    server.tool("wait", {}, async () => {
      started.open();
      await new Promise(() => {});
      return "";
    }),
  );
  const other = world.node();
  const client = await one.endpoint.open();
  const call = client.call(1, "wait");
  await started.opened;
  const first = at(other, client).get(blocks(call)[0]?.id);
  await until(() => first.status === 200, "the first connection");
  const second = at(other, client).get(blocks(call)[0]?.id);
  await ended(first);
  equal(second.status, 200);
});

test("the end of a session removes its events from a log of the author", async (t) => {
  const log = new MemoryEventLog({});
  const world = new NodesWorld(t, { resumable: log });
  const [one, other] = [world.node(withTool), world.node(withTool)];
  const client = await one.endpoint.open();
  const stream = client.get();
  await until(() => blocks(stream).length > 0, "the stream");
  await status(at(other, client).delete(), 200);
  await ended(stream);
  await settle();
  equal(await log.find(client.id, blocks(stream)[0]?.id ?? ""), undefined);
});

test("a GET that a newer one of another process overtakes ends (without an event log)", async (t) => {
  const world = new NodesWorld(t);
  const [stored, taken] = [gate(), gate()];
  const slow = ({ records }: Cluster): Partial<Cluster> => ({
    records: replaceParts<Records>(records, {
      put: async (key, value, options) => {
        const version = await records.put(key, value, options);
        if (value.includes('"listens":true')) {
          stored.open();
          await taken.opened;
        }
        return version;
      },
    }),
  });
  const [one, other] = [world.node(withTool, slow), world.node(withTool)];
  const client = await one.endpoint.open();
  await status(at(other, client).request(1, "ping"), 200);
  const first = client.get();
  await stored.opened;
  const second = at(other, client).get();
  await until(() => second.status === 200, "the second stream");
  taken.open();
  await ended(first);
  equal(second.status, 200);
});

test("a stream whose process shuts down while it opens has an end", async (t) => {
  const world = new NodesWorld(t, { resumable: true });
  const [claiming, claimed] = [gate(), gate()];
  let slow = false;
  const wrap = ({ logs }: Cluster): Partial<Cluster> => ({
    logs: replaceParts<Logs>(logs, {
      claim: async (log, stream) => {
        const writer = await logs.claim(log, stream);
        if (slow) {
          claiming.open();
          await claimed.opened;
        }
        return writer;
      },
    }),
  });
  const one = world.node(withTool, wrap);
  const client = await one.endpoint.open();
  slow = true;
  const call = client.call(1, "a");
  await claiming.opened;
  const closed = one.endpoint.server.close();
  await ended(call);
  claimed.open();
  await closed;
  const open: string[] = [];
  for await (const { stream } of one.cluster.logs.openOf(one.cluster.node)) open.push(stream);
  deepEqual(open, ["get"]);
});

test("a change that too slow a log loses makes the next GET tell that all may have changed", async (t) => {
  const world = new NodesWorld(t, { resumable: true }, { limits: { maxBehind: 100 }, capabilities: { logging: true } });
  const stored = gate();
  const slow = beforeAppend((data) => (data.includes("first") ? stored.opened : undefined));
  const [one, other] = [world.node(withTool, slow), world.node(withTool)];
  const client = await one.endpoint.open();
  const first = client.get();
  await until(() => blocks(first).length > 0, "the stream");
  for (const text of ["first", "x".repeat(100), "x".repeat(100)]) one.endpoint.server.log("error", text);
  await ended(first);
  stored.open();
  await settle();
  one.endpoint.server.tool("b", {}, () => "b");
  await settle();
  const second = at(other, client).get(blocks(first)[0]?.id);
  await until(() => methods(second).includes(TOOLS), "the change");
});

test("messages that wait for the log when another process takes the stream over are passed on", async (t) => {
  const world = new NodesWorld(t, { resumable: true }, { capabilities: { logging: true } });
  let slow: Gate | undefined;
  const one = world.node(
    withTool,
    beforeAppend(() => slow?.opened),
  );
  const other = world.node(withTool);
  const client = await one.endpoint.open();
  const first = client.get();
  await until(() => blocks(first).length > 0, "the first stream");
  await status(at(other, client).request(1, "tools/list", {}), 200);
  slow = gate();
  one.endpoint.server.log("info", "one");
  one.endpoint.server.log("info", "two");
  one.endpoint.server.tool("b", {}, () => "b");
  await settle();
  const second = at(other, client).get(blocks(first).at(-1)?.id);
  await ended(first);
  slow.open();
  await until(() => messages(second).length === 3, "the messages");
  await settle();
  const texts = messages(second).map(({ method, params }) => params?.data ?? method);
  deepEqual(texts.sort(), [TOOLS, "one", "two"]);
});
