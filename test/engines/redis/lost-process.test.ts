import { deepEqual, equal } from "node:assert/strict";
import { type ChildProcess, fork } from "node:child_process";
import { randomUUID } from "node:crypto";
import { once } from "node:events";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { connect } from "bowline/client";
import { ClientTasks, tasksClient } from "bowline/tasks/client";
import type { Scope } from "#src/testing/contract/world.js";
import { startRedis } from "../../support/engines/redis.js";
import type { Served } from "../../support/engines/task-node.js";
import { aborted, gate } from "../../support/gate.js";

const PROGRAM = fileURLToPath(new URL("../../support/engines/task-node.js", import.meta.url));

const server = await startRedis();
after(() => server.end());

/** Processes that share an engine, behind a function that sends each request to the first that is alive. */
async function start(t: Scope, count: number) {
  const prefix = `test-${randomUUID()}`;
  const nodes = await Promise.all(
    Array.from({ length: count }, async () => {
      const child: ChildProcess = fork(PROGRAM, [server.url, prefix]);
      t.after(() => child.kill("SIGKILL"));
      const [{ url }] = (await once(child, "message")) as [Served];
      return { child, url };
    }),
  );
  const methods: unknown[] = [];
  const fetch: typeof globalThis.fetch = (input, init) => {
    if (typeof init?.body === "string") methods.push(JSON.parse(init.body).method);
    return globalThis.fetch(new URL(new URL(String(input)).pathname, nodes[0]?.url), init);
  };
  const kill = async () => {
    const child = nodes.shift()?.child as ChildProcess;
    const ended = once(child, "exit");
    child.kill("SIGKILL");
    await ended;
  };
  return { url: nodes[0]?.url as string, fetch, kill, methods };
}

test("a process that is killed during tasks/result does not end the task, and its question comes again", {
  timeout: 240_000,
}, async (t) => {
  const { url, fetch, kill, methods } = await start(t, 2);
  const asked = gate();
  let questions = 0;
  let ends = 0;
  const client = await connect(url, {
    era: "legacy",
    fetch,
    extensions: [tasksClient({ pollIntervalMs: 100, minPollIntervalMs: 50 })],
    onElicit: async (_, { signal }) => {
      if (++questions > 1) return { action: "accept", content: { name: "Ada" } };
      asked.open();
      await aborted(signal);
      ends++;
      throw signal.reason;
    },
  });
  t.after(() => client.close());
  await client.tools().all();
  const task = await new ClientTasks(client).startTool("greet");
  await asked.opened;
  await kill();
  equal((await task.result).text, "hello Ada");
  deepEqual([questions, ends, task.status], [2, 1, "completed"]);
  equal(methods.filter((method) => method === "tasks/result").length, 2);
});
