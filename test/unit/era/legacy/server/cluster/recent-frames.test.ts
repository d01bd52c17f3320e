import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { RecentFrames } from "#src/era/legacy/server/cluster/recent-frames.js";
import { formatNotification } from "#src/protocol/jsonrpc/format.js";
import { FakeClock } from "../../../../../support/fake-clock.js";

const log = (number: number) => formatNotification("notifications/message", { level: "info", data: number });
const CHANGED = formatNotification("notifications/tools/list_changed", undefined);

function takenOver(): RecentFrames {
  const frames = new RecentFrames(new FakeClock());
  frames.begin("s");
  return frames;
}

test("a message that came directly and is passed on is new once, in any order", () => {
  const frames = takenOver();
  deepEqual([frames.isNew("s", log(1)), frames.isNewPassedOn("s", log(1))], [true, false]);
  deepEqual([frames.isNewPassedOn("s", log(2)), frames.isNew("s", log(2))], [true, false]);
});

test("a log message that is passed on after too many others is not repeated, and a change is told", () => {
  const frames = takenOver();
  for (let number = 0; number < 500; number++) frames.isNew("s", log(number));
  equal(frames.isNewPassedOn("s", log(0)), false);
  equal(frames.isNewPassedOn("s", CHANGED), true);
});

test("a takeover counts anew", () => {
  const clock = new FakeClock();
  const frames = new RecentFrames(clock);
  frames.begin("s");
  for (let number = 0; number < 500; number++) frames.isNew("s", log(number));
  clock.advance(60_000);
  frames.begin("s");
  equal(frames.isNewPassedOn("s", log(501)), true);
});

test("a message that waits here is known among those that the former writer has stored, however it came", () => {
  const frames = takenOver();
  frames.isNew("s", log(1));
  frames.isNewPassedOn("s", log(2));
  frames.isNewPassedOn("s", CHANGED);
  deepEqual(frames.onStored("s", [log(0), log(1), CHANGED, log(2)]), [log(1), log(2)]);
  equal(frames.isNew("s", log(0)), false);
});

test("a message that the former writer has stored is not new, directly and when it is passed on", () => {
  const frames = takenOver();
  frames.onStored("s", [log(1), log(2)]);
  deepEqual([frames.isNew("s", log(1)), frames.isNewPassedOn("s", log(1))], [false, false]);
  deepEqual([frames.isNewPassedOn("s", log(2)), frames.isNew("s", log(2))], [false, false]);
});
