import { deepEqual, equal } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import type { Database } from "#src/sqlite/database.js";
import { FileServer } from "#src/sqlite/file-server.js";
import type { Outcome, Reply } from "#src/sqlite/messages.js";
import type { OperationName, Operations } from "#src/sqlite/operations.js";
import { SqliteWorld } from "../../support/engines/sqlite-world.js";
import { FakeClock } from "../../support/fake-clock.js";

const { DatabaseSync } = (await import("node:sqlite" as string)) as { DatabaseSync: new (path: string) => Database };

const HOUR_MS = 3_600_000;

/** Machine whose time of day can be set. */
class Machine extends FakeClock {
  stepMs = 0;

  override timeOfDay(): number {
    return super.timeOfDay() + this.stepMs;
  }
}

/** Processes of a machine that have a file open. */
function worldOf(t: TestContext) {
  const { path } = new SqliteWorld(t);
  const machine = new Machine();
  return { machine, open: () => processOf(t, path, machine) };
}

function processOf(t: TestContext, path: string, clock: Machine) {
  const replies: Reply[] = [];
  const server = new FileServer({
    path,
    prefix: "",
    synchronous: "normal",
    timeoutMs: 1_000,
    pollMs: 5,
    clock,
    open: () => new DatabaseSync(path),
    isSame: () => true,
    journalBytes: () => 0,
    post: (reply) => replies.push(reply),
    end: () => {},
  });
  let isOpen = true;
  const close = () => {
    if (isOpen) server.handle({ kind: "close" });
    isOpen = false;
  };
  t.after(close);
  const outcomes = (...calls: readonly [OperationName, readonly unknown[]][]): readonly Outcome[] => {
    server.handle({ kind: "run", calls });
    const reply = replies.pop();
    return reply?.kind === "ran" ? reply.outcomes : [];
  };
  const run = <N extends OperationName>(name: N, ...args: Parameters<Operations[N]>): ReturnType<Operations[N]> => {
    const [outcome] = outcomes([name, args]);
    if (outcome === undefined || !("value" in outcome)) throw new Error(JSON.stringify(outcome));
    return outcome.value as ReturnType<Operations[N]>;
  };
  return { run, outcomes, close };
}

for (const step of [HOUR_MS, -HOUR_MS])
  test(`a time of day that is set by ${step} ms changes no life, in any process`, (t) => {
    const { machine, open } = worldOf(t);
    const [a, b] = [open(), open()];
    equal(a.run("acquire", "l", "a", 10_000, ""), true);
    equal(b.run("acquire", "l", "b", 10_000, ""), false);
    a.run("put", "k", "v", undefined, 10_000, []);
    machine.stepMs = step;
    equal(b.run("get", "k")?.value, "v");
    equal(b.run("acquire", "l", "b", 10_000, ""), false);
    machine.advance(9_000);
    equal(a.run("renew", "l", "a", 10_000), true);
    equal(open().run("acquire", "l", "c", 10_000, ""), false);
    machine.advance(10_001);
    equal(b.run("get", "k"), undefined);
    equal(b.run("acquire", "l", "b", 10_000, ""), true);
    equal(a.run("renew", "l", "a", 10_000), false);
  });

test("a job is due when its delay has passed, whatever the time of day is", (t) => {
  const { machine, open } = worldOf(t);
  const [a, b] = [open(), open()];
  a.run("addJob", "now", "", 0);
  a.run("addJob", "later", "", 5_000);
  machine.stepMs = -HOUR_MS;
  deepEqual(
    [b.run("takeJobs", "b", 1_000, 8)].flat().map((row) => Object(row).id),
    ["now"],
  );
  machine.stepMs = HOUR_MS;
  machine.advance(999);
  equal(a.run("takeJobs", "a", 1_000, 8), 1);
  machine.advance(4_001);
  deepEqual(
    [a.run("takeJobs", "a", 1_000, 8)].flat().map((row) => Object(row).id),
    ["now", "later"],
  );
});

test("a step is found again after the transaction that found it has failed", (t) => {
  const { machine, open } = worldOf(t);
  const [a, b] = [open(), open()];
  a.run("acquire", "l", "a", 10_000, "");
  b.run("probe");
  machine.stepMs = HOUR_MS;
  const [failed] = b.outcomes(["acquire", ["l", Symbol.iterator, 1, ""]]);
  equal(failed !== undefined && "failure" in failed, true);
  equal(b.run("acquire", "l", "b", 10_000, ""), false);
});

test("the time does not go back if the clock is set while no process has the file open", (t) => {
  const { machine, open } = worldOf(t);
  const a = open();
  a.run("sweep", 0);
  a.run("addJob", "j", "", 0);
  a.close();
  machine.stepMs = -HOUR_MS;
  deepEqual(
    [open().run("takeJobs", "b", 1_000, 8)].flat().map((row) => Object(row).id),
    ["j"],
  );
});
