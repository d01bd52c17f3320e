import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { askPort, openSession } from "../../support/plain-http.js";
import { callOf, openStream, WorkersProgram } from "../../support/workers-program.js";

const limit = { timeout: 240_000 };

/**
 * Opens four connections while one of two workers is stopped, and kills that worker when all others have been served.
 * Returns which responses were complete.
 */
async function killStopped(program: WorkersProgram, served: number): Promise<readonly boolean[]> {
  const port = await program.port();
  const headers = await openSession((request) => askPort(port, request));
  const [first = 0] = await program.workers(2);
  process.kill(first, "SIGSTOP");
  const settled: boolean[] = [];
  const ends = Array.from({ length: 4 }, () => openStream(port, callOf(headers, "pid")).ended);
  await new Promise<void>((resolve) => {
    for (const end of ends) void end.then((isComplete) => settled.push(isComplete) === served && resolve());
  });
  process.kill(first, "SIGKILL");
  await Promise.all(ends);
  return settled;
}

const serve = { workers: 2, lameDuckMs: 300 };

test("a connection that a killed worker has not taken is closed, by the messages of node:cluster", limit, async (t) => {
  deepEqual(await killStopped(await WorkersProgram.start(t, { serve }), 3), [true, true, true, false]);
});

test("without these messages workers accept connections themselves, and none is lost", limit, async (t) => {
  deepEqual(await killStopped(await WorkersProgram.start(t, { serve, hidden: true }), 4), [true, true, true, true]);
});
