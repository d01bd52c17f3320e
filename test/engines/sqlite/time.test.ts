import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import type { Database } from "#src/sqlite/session.js";
import type { Scope } from "#src/testing/contract/world.js";
import { FileProcess } from "../../support/engines/file-process.js";
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

/** Process of a machine, with the operations of a lease and of jobs. */
class Node extends FileProcess {
  acquire = (version: string) => this.run("put", "lease", "", { version, ifVersion: null, ttlMs: 10_000 });
  renew = (version: string) => this.run("touch", "lease", 10_000, version);
  add = (job: string, inMs: number) => this.run("put", job, "", { version: job, index: [{ index: "jobs", inMs }] });

  /** Takes jobs. Returns their names, or the time until there is one. */
  take(token: string) {
    const taken = this.run("takeDue", "jobs", { most: 8, leaseMs: 1_000, token });
    return typeof taken === "object" ? taken.map(({ key }) => key) : taken;
  }
}

/** Processes of a machine that have a file open. */
function worldOf(t: Scope) {
  const { path } = new SqliteWorld(t);
  const machine = new Machine();
  return { machine, open: () => new Node(t, path, () => new DatabaseSync(path), machine) };
}

for (const step of [HOUR_MS, -HOUR_MS])
  test(`a time of day that is set by ${step} ms changes no life, in any process`, (t) => {
    const { machine, open } = worldOf(t);
    const [a, b] = [open(), open()];
    equal(a.acquire("a"), true);
    equal(b.acquire("b"), false);
    a.run("put", "k", "v", { version: "1", ttlMs: 10_000 });
    machine.stepMs = step;
    equal(b.run("get", "k")?.value, "v");
    equal(b.acquire("b"), false);
    machine.advance(9_000);
    equal(a.renew("a"), true);
    equal(open().acquire("c"), false);
    machine.advance(10_001);
    equal(b.run("get", "k"), undefined);
    equal(b.acquire("b"), true);
    equal(a.renew("a"), false);
  });

test("a job is due when its delay has passed, whatever the time of day is", (t) => {
  const { machine, open } = worldOf(t);
  const [a, b] = [open(), open()];
  a.add("now", 0);
  a.add("later", 5_000);
  machine.stepMs = -HOUR_MS;
  deepEqual(b.take("b"), ["now"]);
  machine.stepMs = HOUR_MS;
  machine.advance(999);
  equal(a.take("a"), 1);
  machine.advance(4_001);
  deepEqual(a.take("a"), ["now", "later"]);
});

test("a step is found again after the transaction that found it has failed", (t) => {
  const { machine, open } = worldOf(t);
  const [a, b] = [open(), open()];
  a.acquire("a");
  b.acquire("b");
  machine.stepMs = HOUR_MS;
  const [failed] = b.outcomes(["put", ["k", Symbol.iterator, { version: "1" }]]);
  equal(failed !== undefined && "failure" in failed, true);
  equal(b.acquire("b"), false);
});

test("the time does not go back if the clock is set while no process has the file open", (t) => {
  const { machine, open } = worldOf(t);
  const a = open();
  a.run("sweep", 0);
  a.add("j", 0);
  a.close();
  machine.stepMs = -HOUR_MS;
  deepEqual(open().take("b"), ["j"]);
});
