import { equal, match, notEqual, rejects } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { connect } from "bowline/client";
import { ClientTasks, tasksClient } from "bowline/tasks/client";
import { WorkersProgram } from "../../../support/workers-program.js";

const limit = { timeout: 240_000 };

/** Starts two workers, and a client whose requests go to the workers in turn. */
async function start(t: TestContext) {
  const program = await WorkersProgram.start(t, { serve: { workers: 2, lameDuckMs: 100 } });
  const url = `http://127.0.0.1:${await program.port()}/mcp`;
  const fetch: typeof globalThis.fetch = (input, init) =>
    globalThis.fetch(input, {
      ...init,
      headers: { ...Object.fromEntries(new Headers(init?.headers)), connection: "close" },
    });
  const client = await connect(url, {
    extensions: [tasksClient({ pollIntervalMs: 50, minPollIntervalMs: 50, notifications: false })],
    fetch,
  });
  t.after(() => client.close());
  return { program, tasksClient: new ClientTasks(client) };
}

/** Ends the worker that runs the task. */
async function killRunner(program: WorkersProgram): Promise<string> {
  const [, pid = ""] = (await program.lines.until(/^labour /)).split(" ");
  process.kill(Number(pid), "SIGKILL");
  return pid;
}

test("each worker answers for a task", limit, async (t) => {
  const { tasksClient } = await start(t);
  const { id = "", result } = await tasksClient.startTool("labour", { ms: 500 });
  for (let turn = 0; turn < 4; turn++) equal((await tasksClient.task(id)).id, id);
  match((await result).text, /^begun by \d+$/);
});

test("a restartable task goes on when its worker is killed", limit, async (t) => {
  const { program, tasksClient } = await start(t);
  const { result } = await tasksClient.startTool("labour", {});
  const killed = await killRunner(program);
  equal((await result).text, `begun by ${killed}`);
  const runners = await program.lines.count(2, "labour ");
  notEqual(runners[0], runners[1]);
});

test("another task fails with worker_lost when its worker is killed", limit, async (t) => {
  const { program, tasksClient } = await start(t);
  const { result } = await tasksClient.startTool("labour-once", {});
  await killRunner(program);
  await rejects(result, { rpcCode: -32603, data: { code: "worker_lost" } });
});

test("a restart waits for a task that cannot go on elsewhere", limit, async (t) => {
  const { program, tasksClient } = await start(t);
  const { result } = await tasksClient.startTool("labour-once", { ms: 2_000 });
  await program.lines.until(/^labour /);
  equal(await program.command("restart"), "restart true");
  match((await result).text, /^begun by \d+$/);
});
