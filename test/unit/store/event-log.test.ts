import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { MemoryEventLog } from "#src/store/event-log.js";

const texts = (log: MemoryEventLog, session: string, stream: string, after?: string) =>
  log.readAfter(session, stream, after)?.map(({ data }) => data);

test("a stream is read from its beginning, or after an event of its own", () => {
  const log = new MemoryEventLog();
  const [first] = ["a1", "a2"].map((data) => log.append("s", "a", data)) as [string, string];
  const other = log.append("s", "b", "b1");
  log.append("s", "a", "a3");
  log.append("t", "a", "of another session");
  match(first, /^a-0{10}$/);
  equal(other.length, first.length);
  deepEqual(texts(log, "s", "a"), ["a1", "a2", "a3"]);
  deepEqual(texts(log, "s", "a", first), ["a2", "a3"]);
  deepEqual(texts(log, "s", "b", other), []);
  equal(texts(log, "s", "a", other), undefined, "an event of another stream is no place in this one");
  equal(texts(log, "s", "a", "a-unknown"), undefined);
  deepEqual(texts(log, "none", "a"), []);
  equal(log.find("s", other), "b");
  equal(log.find("t", other), undefined);
  deepEqual([log.size("s"), log.size("t"), log.size("none"), log.size()], [4, 1, 0, 5]);
});

test("a session keeps as many events and characters as are allowed, the newest first", () => {
  const byCount = new MemoryEventLog({ maxLoggedEventsPerSession: 2 });
  for (const data of ["1", "2", "3"]) byCount.append("s", "a", data);
  deepEqual(texts(byCount, "s", "a"), ["2", "3"]);
  const bySize = new MemoryEventLog({ maxLoggedCharsPerSession: 4 });
  for (const data of ["11", "22"]) bySize.append("s", "a", data);
  deepEqual(texts(bySize, "s", "a"), ["11", "22"], "exactly as many are kept");
  bySize.append("s", "a", "3");
  deepEqual(texts(bySize, "s", "a"), ["22", "3"]);
  bySize.append("s", "a", "much too long");
  deepEqual(texts(bySize, "s", "a"), ["much too long"], "the newest stays, however long it is");
});

test("all sessions together keep as many characters as are allowed, and the longest unused loses first", () => {
  const log = new MemoryEventLog({ maxLoggedChars: 6 });
  for (const session of ["s", "t", "u"]) log.append(session, "a", "22");
  equal(log.size(), 3, "exactly as many are kept");
  log.append("s", "a", "3");
  deepEqual([log.size("s"), log.size("t"), log.size("u")], [2, 0, 1], "s was appended to last");
  log.append("u", "a", "333333");
  deepEqual([log.size("s"), log.size("u")], [0, 1]);
  deepEqual(texts(log, "u", "a"), ["333333"]);
});

test("no more is dropped than has to be", () => {
  const log = new MemoryEventLog({ maxLoggedChars: 6 });
  for (const session of ["s", "t", "u", "s"]) log.append(session, "a", "22");
  deepEqual([log.size("s"), log.size("t"), log.size("u")], [2, 0, 1]);
});

test("a session that is dropped leaves its room", () => {
  const log = new MemoryEventLog({ maxLoggedChars: 4 });
  log.append("s", "a", "1111");
  log.drop("s");
  log.drop("s");
  log.append("t", "a", "22");
  log.append("u", "a", "22");
  deepEqual([log.size("s"), log.size("t"), log.size("u")], [0, 1, 1]);
});
