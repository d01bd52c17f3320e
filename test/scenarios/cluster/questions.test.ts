import { deepEqual, equal, match, ok } from "node:assert/strict";
import type { TestContext } from "node:test";
import { type Cluster, ClusterError } from "bowline/cluster";
import { z } from "zod";
import { gate } from "../../support/gate.js";
import { blocks, messages, settle, status, textOf, until } from "../../support/legacy-endpoint.js";
import { at, type Node, NodesWorld } from "../../support/nodes-world.js";
import { proves } from "../../support/verifies.js";

const wire = "legacy-http";
const declared = { elicitation: {} };

/** Two nodes, and a call in the first that waits for the answer to its question. `wrap` changes the cluster of the second. */
async function asking(t: TestContext, wrap?: (cluster: Cluster) => Partial<Cluster>) {
  const world = new NodesWorld(t);
  const heard: unknown[] = [];
  const define = ({ server }: Node["endpoint"]) =>
    server.tool("ask", {}, async (_args, ctx) => {
      const onProgress = (progress: unknown) => heard.push(progress);
      return JSON.stringify(await ctx.elicit("Name?", z.object({ name: z.string() }), { onProgress }));
    });
  const [one, other] = [world.node(define), world.node(define, wrap)];
  const client = await one.endpoint.open("2025-11-25", declared);
  const call = client.call(1, "ask");
  await until(() => messages(call).length === 1, "the question");
  return { world, one, other, client, call, heard, question: messages(call)[0] };
}

const accepted = (name: string) => ({ action: "accept", content: { name } });

proves("cluster:question:answer-anywhere", { wire }, "an answer reaches the process that asked", async (t) => {
  const { other, client, call, question } = await asking(t);
  await status(at(other, client).post({ jsonrpc: "2.0", id: question?.id, result: accepted("Ada") }), 202);
  await call.done;
  match(String(textOf(messages(call)[1])), /Ada/);
});

proves("cluster:question:answer-once", { wire }, "only the first answer counts", async (t) => {
  const { other, client, call, question } = await asking(t);
  const answers = ["Ada", "Eve"].map((name) =>
    at(other, client).post({ jsonrpc: "2.0", id: question?.id, result: accepted(name) }),
  );
  for (const answer of answers) await status(answer, 202);
  await call.done;
  match(String(textOf(messages(call)[1])), /Ada/);
  await status(at(other, client).post({ jsonrpc: "2.0", id: question?.id, result: accepted("Eve") }), 202);
});

proves("cluster:question:own-session", { wire }, "an answer of another session is dropped", async (t) => {
  const { other, client, call, question } = await asking(t);
  const strange = await other.endpoint.open("2025-11-25", declared);
  await status(strange.post({ jsonrpc: "2.0", id: question?.id, result: accepted("Eve") }), 202);
  await settle();
  equal(messages(call).length, 1, "the call still waits");
  await status(at(other, client).post({ jsonrpc: "2.0", id: question?.id, result: accepted("Ada") }), 202);
  await call.done;
  match(String(textOf(messages(call)[1])), /Ada/);
});

proves(
  "cluster:question:gap",
  { wire },
  "an answer that was stored while its process was cut off is found",
  async (t) => {
    const { world, one, other, client, call, question } = await asking(t);
    world.state.cut(one.cluster);
    await status(at(other, client).post({ jsonrpc: "2.0", id: question?.id, result: accepted("Ada") }), 202);
    await settle();
    equal(messages(call).length, 1, "the announcement is lost");
    world.state.mend(one.cluster);
    await call.done;
    match(String(textOf(messages(call)[1])), /Ada/);
  },
);

/** A cluster whose bus passes the announcements of answers to `announce`. */
const announcing =
  (announce: (send: () => unknown) => unknown) =>
  ({ bus }: Cluster): Partial<Cluster> => ({
    bus: {
      publish: async (topic, text) => {
        const send = async () => bus.publish(topic, text);
        await (text.includes('"answered"') ? announce(send) : send());
      },
      subscribe: (topic, listener) => bus.subscribe(topic, listener),
      onGap: (listener) => bus.onGap(listener),
    },
  });

proves("cluster:question:gap", { wire }, "a process that shuts down announces an answer first", async (t) => {
  const failed = gate();
  let attempts = 0;
  const { world, other, client, call, question } = await asking(
    t,
    announcing(async (send) => {
      if (++attempts > 1) return send();
      await failed.opened;
      throw new ClusterError("unavailable", "away");
    }),
  );
  await status(at(other, client).post({ jsonrpc: "2.0", id: question?.id, result: accepted("Ada") }), 202);
  const closing = other.endpoint.server.close();
  await settle();
  failed.open();
  await settle();
  world.clock.advance(50);
  await closing;
  await call.done;
  match(String(textOf(messages(call)[1])), /Ada/);
});

proves(
  "cluster:question:gap",
  { wire },
  "a process that alone cannot reach the engine for a while announces an answer later",
  async (t) => {
    let isAway = true;
    const { world, other, client, call, question } = await asking(
      t,
      announcing((send) => {
        if (isAway) throw new ClusterError("unavailable", "away");
        return send();
      }),
    );
    await status(at(other, client).post({ jsonrpc: "2.0", id: question?.id, result: accepted("Ada") }), 202);
    const pass = async (seconds: number) => {
      for (let second = 0; second < seconds; second++) {
        world.clock.advance(1_000);
        await settle();
      }
    };
    await pass(8);
    equal(messages(call).length, 1, "the announcement is not sent yet");
    isAway = false;
    await pass(4);
    equal(messages(call).length, 2);
    match(String(textOf(messages(call)[1])), /Ada/);
  },
);

proves(
  "cluster:question:gap",
  { wire },
  "an answer is found that a process did not announce before it died",
  async (t) => {
    const { world, other, client, call, question } = await asking(
      t,
      announcing(() => {}),
    );
    await status(at(other, client).post({ jsonrpc: "2.0", id: question?.id, result: accepted("Ada") }), 202);
    world.state.cut(other.cluster);
    for (let second = 0; second < 30; second++) {
      world.clock.advance(1_000);
      await settle();
    }
    match(String(textOf(messages(call)[1])), /Ada/);
  },
);

proves("cluster:question:gap", { wire }, "an answer that cannot be stored is refused", async (t) => {
  const { world, other, client, question } = await asking(t);
  await status(at(other, client).request(2, "ping"), 200);
  world.state.cut(other.cluster);
  const refused = await status(
    at(other, client).post({ jsonrpc: "2.0", id: question?.id, result: accepted("Ada") }),
    503,
  );
  equal(refused.headers["retry-after"], "1");
});

proves("cluster:question:progress", { wire }, "progress of an answer reaches the process that asked", async (t) => {
  const { other, client, heard, question } = await asking(t);
  const token = (question?.params?._meta as { progressToken?: unknown } | undefined)?.progressToken;
  ok(token !== undefined, "the question asks for progress");
  const progress = { progressToken: token, progress: 1 };
  await status(at(other, client).notify("notifications/progress", progress), 202);
  await until(() => heard.length > 0, "the progress");
  deepEqual(heard, [{ progress: 1 }]);
});

proves("cluster:question:malformed", { wire }, "a malformed answer ends the question", async (t) => {
  const { other, client, call, question } = await asking(t);
  const both = { jsonrpc: "2.0", id: question?.id, result: {}, error: { code: 1, message: "both" } };
  await status(at(other, client).post(both), 400);
  await call.done;
  equal(messages(call)[1]?.result?.isError, true);
});

proves("cluster:question:kept-for-its-call", { wire }, "a question is deleted with its call", async (t) => {
  const { one, client, call } = await asking(t);
  const index = `questions of ${one.cluster.node}`;
  equal(await one.cluster.records.count(index), 1);
  await status(client.cancel(1), 202);
  await call.done;
  await settle();
  equal(await one.cluster.records.count(index), 0);
});

proves(
  "cluster:node:death",
  { wire },
  "the questions of a process that dies are cancelled before its calls end with an error of its own code",
  async (t) => {
    const world = new NodesWorld(t, { resumable: true });
    const one = world.node(({ server }) => server.tool("ask", {}, (_args, ctx) => ctx.elicit("Name?", z.object({}))));
    const other = world.node();
    const client = await one.endpoint.open("2025-11-25", declared);
    const call = client.call(1, "ask");
    await until(() => messages(call).length === 1, "the question");
    const [question] = messages(call);
    world.state.cut(one.cluster);
    const resumed = at(other, client).get(blocks(call)[0]?.id);
    await until(() => {
      world.clock.advance(100);
      return messages(resumed).length === 3;
    }, "the end of the call");
    const [again, cancelled, failed] = messages(resumed);
    deepEqual([again, cancelled?.method, failed?.id], [question, "notifications/cancelled", 1]);
    equal(cancelled?.params?.requestId, question?.id);
    equal(failed?.error?.code, -32006);
  },
);
