import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { AbortSwitch } from "#src/call/abort-switch.js";
import { type Journal, NO_JOURNAL } from "#src/journal/journal.js";
import { type JournalHost, JournalRun, memoryJournal } from "#src/journal/run.js";

test("a recorded failure is the outcome for all who ask for the step at once", async () => {
  let ran = 0;
  const dial = () => {
    ran++;
    throw new Error("busy");
  };
  const host = memoryJournal(new AbortSwitch());
  const both = (run: JournalRun) => Promise.allSettled([run.step("dial", dial), run.step("dial", dial)]);
  const messages = (outcomes: readonly PromiseSettledResult<unknown>[]) =>
    outcomes.map((outcome) => outcome.status === "rejected" && (outcome.reason as Error).message);
  const first = messages(await both(new JournalRun(host)));
  deepEqual([first, ran], [["busy", "busy"], 1]);
  const second = messages(await both(new JournalRun(host)));
  deepEqual([second, ran], [["busy", "busy"], 1]);
});

test("a step whose value cannot be kept has not failed", async () => {
  let journal: Journal = NO_JOURNAL;
  const broken: Error[] = [];
  const host: JournalHost = {
    end: new AbortSwitch(),
    get journal() {
      return journal;
    },
    keep(change) {
      const changed = change(journal);
      if (Object.hasOwn(changed.steps, "print")) throw new Error("too large");
      journal = changed;
    },
    onBroken: (error) => void broken.push(error),
  };
  await rejects(
    new JournalRun(host).step("print", () => "x"),
    /too large/,
  );
  deepEqual([journal.failed, journal.begun], [undefined, ["print"]]);
  equal(broken.length, 1);
});
