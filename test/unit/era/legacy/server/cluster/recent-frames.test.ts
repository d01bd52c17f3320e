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
  deepEqual([frames.isNew("s", log(1)), frames.isNewPassedOn("s", log(1), "a")], [true, false]);
  deepEqual([frames.isNewPassedOn("s", log(2), "a"), frames.isNew("s", log(2))], [true, false]);
});

test("a message that two former writers pass on is new once, in any order, and equal messages are as many as one way brought", () => {
  const frames = takenOver();
  const news = (number: number, ...ways: string[]) =>
    ways.map((way) => (way === "" ? frames.isNew("s", log(number)) : frames.isNewPassedOn("s", log(number), way)));
  deepEqual(news(1, "", "a", "b"), [true, false, false]);
  deepEqual(news(2, "a", "b", ""), [true, false, false]);
  deepEqual(news(3, "a", "a", "b", "b", "", "", ""), [true, true, false, false, false, false, true]);
});

test("a message that waits here is known among the stored ones although it was passed on as well", () => {
  const frames = takenOver();
  frames.isNew("s", log(1));
  frames.isNewPassedOn("s", log(1), "a");
  deepEqual(frames.onStored("s", [log(1)]), [log(1)]);
});

test("a log message that is passed on after too many others is not repeated, and a change is told", () => {
  const frames = takenOver();
  for (let number = 0; number < 500; number++) frames.isNew("s", log(number));
  equal(frames.isNewPassedOn("s", log(0), "a"), false);
  equal(frames.isNewPassedOn("s", CHANGED, "a"), true);
});

test("a takeover counts anew", () => {
  const clock = new FakeClock();
  const frames = new RecentFrames(clock);
  frames.begin("s");
  for (let number = 0; number < 500; number++) frames.isNew("s", log(number));
  clock.advance(60_000);
  frames.begin("s");
  equal(frames.isNewPassedOn("s", log(501), "a"), true);
});

test("a message that waits here is known among those that the former writer has stored, however it came", () => {
  const frames = takenOver();
  frames.isNew("s", log(1));
  frames.isNewPassedOn("s", log(2), "a");
  frames.isNewPassedOn("s", CHANGED, "a");
  deepEqual(frames.onStored("s", [log(0), log(1), CHANGED, log(2)]), [log(1), log(2)]);
  equal(frames.isNew("s", log(0)), false);
});

test("a message that the former writer has stored is not new, directly and when it is passed on", () => {
  const frames = takenOver();
  frames.onStored("s", [log(1), log(2)]);
  deepEqual([frames.isNew("s", log(1)), frames.isNewPassedOn("s", log(1), "a")], [false, false]);
  deepEqual([frames.isNewPassedOn("s", log(2), "a"), frames.isNew("s", log(2))], [false, false]);
});
