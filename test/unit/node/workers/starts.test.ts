import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { askPort, openSession } from "../../../support/plain-http.js";
import { callIn, WorkersProgram } from "../../../support/workers-program.js";

const TWO = { workers: 2, lameDuckMs: 100 };
const limit = { timeout: 240_000 };

/** Returns the process ids that serve, in order. */
async function serving(program: WorkersProgram, calls: number): Promise<number[]> {
  const port = await program.port();
  const headers = await openSession((request) => askPort(port, request));
  const pids = new Set<number>();
  for (let call = 0; call < calls; call++) pids.add(Number(await callIn(port, headers, "pid")));
  return [...pids].sort();
}

const refusals = {
  folder: /worker \d+ could not be started \(.*ENOENT/,
  user: /uid/,
  files: /worker \d+ could not be started \(.*EMFILE/,
};

for (const how of ["folder", "user", "files"] as const) {
  test(`a worker is started when a process can be, and the others serve on (${how})`, limit, async (t) => {
    const program = await WorkersProgram.start(t, { serve: TWO, files: 256 });
    await program.port();
    const [first, second] = [await program.worker(1), await program.worker(2)];
    await program.block(how);
    process.kill(first, "SIGKILL");
    await program.errors.until(refusals[how]);
    await program.unblock();
    const pids = await program.workers(3);
    deepEqual(await serving(program, 4), [second, pids[2]].sort());
    equal(await program.command("close"), "close false");
    equal(await program.ended, 0);
  });

  test(`a restart without a process rejects, and the workers serve on (${how})`, limit, async (t) => {
    const program = await WorkersProgram.start(t, { serve: TWO, files: 256 });
    await program.port();
    await program.block(how);
    match(await program.command("restart"), refusals[how]);
    await program.unblock();
    deepEqual(await serving(program, 4), (await program.workers(2)).sort());
  });
}

test("a worker that ends during a restart is replaced", limit, async (t) => {
  const program = await WorkersProgram.start(t, { serve: { ...TWO, workers: 3 }, hold: 4 });
  await program.port();
  const restarted = program.command("restart");
  const successor = await program.held(4);
  process.kill(await program.worker(3), "SIGKILL");
  const replacement = await program.held(5);
  successor();
  replacement();
  (await program.held(6))();
  match(await restarted, /^restart true$/);
  deepEqual(await serving(program, 9), (await Promise.all([4, 5, 6].map((id) => program.worker(id)))).sort());
  await program.presences.until(4);
});

test("the successor of a worker that ends during a restart takes its place", limit, async (t) => {
  const program = await WorkersProgram.start(t, { serve: TWO, hold: 3 });
  await program.port();
  const restarted = program.command("restart");
  const successor = await program.held(3);
  process.kill(await program.worker(1), "SIGKILL");
  await program.errors.until(/worker 1 was ended by SIGKILL/);
  successor();
  (await program.held(4))();
  match(await restarted, /^restart true$/);
  deepEqual(await serving(program, 6), (await Promise.all([3, 4].map((id) => program.worker(id)))).sort());
  await program.presences.until(3);
});

test("a worker that starts while a restart begins is replaced, too", limit, async (t) => {
  const program = await WorkersProgram.start(t, { serve: TWO, hold: 3 });
  await program.port();
  process.kill(await program.worker(1), "SIGKILL");
  const started = await program.held(3);
  const restarted = program.command("restart");
  const successor = await program.held(4);
  await program.presences.until(4);
  successor();
  await program.presences.until(3);
  started();
  (await program.held(5))();
  match(await restarted, /^restart true$/);
  deepEqual(await serving(program, 6), (await Promise.all([4, 5].map((id) => program.worker(id)))).sort());
  await program.presences.until(3);
});

for (const end of ["drain", "close"] as const)
  test(`a restart resolves when a ${end} ends its new worker`, limit, async (t) => {
    const program = await WorkersProgram.start(t, { serve: TWO, hold: 3 });
    await program.port();
    const restarted = program.command("restart");
    await program.held(3);
    equal(await program.command(end), `${end} false`);
    equal(await restarted, "restart false");
    equal(await program.ended, 0);
    await program.presences.gone();
  });

test("a restart rejects if the new workers send other messages, and the old ones serve on", limit, async (t) => {
  const program = await WorkersProgram.start(t, { serve: TWO, upgraded: 3 });
  await program.port();
  match(
    await program.command("restart"),
    /^restart true .*version 0 .*The package was upgraded: restart the primary, too"/,
  );
  deepEqual(await serving(program, 4), (await program.workers(2)).sort());
  equal(program.lines.all.includes("welcomed"), false);
});
