import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { ClusterError, type LogEntry, type Writer } from "bowline/cluster";
import { Retries } from "#src/era/legacy/server/cluster/retries.js";
import { StreamAppends } from "#src/era/legacy/server/cluster/stream-appends.js";
import { FakeClock } from "../../../../../support/fake-clock.js";
import { settle, until } from "../../../../../support/legacy-endpoint.js";

/** Log in memory whose writer fails as a test says. */
function writing(fail: (data: string, entries: LogEntry[]) => void, wrote: Writer["wrote"] = () => false) {
  const entries: LogEntry[] = [];
  const seqs: number[] = [];
  const append: Writer["append"] = async (seq, data, { last = false } = {}) => {
    await settle();
    seqs.push(seq);
    fail(data, entries);
    const known = entries[seq];
    if (known !== undefined && known.data === data) return known.id;
    if (seq !== entries.length) throw new ClusterError("refused", `order: ${entries.length}`);
    entries.push({ id: `e${seq}`, data, last });
    return `e${seq}`;
  };
  return { entries, seqs, writer: { append, wrote } satisfies Writer };
}

test("an entry that is refused leaves its number to the next one", async () => {
  const { entries, writer } = writing((data) => {
    if (data === "b") throw new ClusterError("refused", "too long");
  });
  const appends = new StreamAppends({ retries: new Retries(new FakeClock()), writer });
  const results = await Promise.allSettled(["a", "b", "c"].map((data) => appends.append(data)));
  deepEqual(
    results.map(({ status }) => status),
    ["fulfilled", "rejected", "fulfilled"],
  );
  deepEqual(
    entries.map(({ data }) => data),
    ["a", "c"],
  );
});

test("entries whose outcome is unknown are repeated with their numbers", async () => {
  const clock = new FakeClock();
  let failures = 1;
  const { entries, seqs, writer } = writing((data, stored) => {
    if (data !== "b" || failures-- <= 0) return;
    stored.push({ id: "e1", data, last: false });
    throw new ClusterError("unknown_outcome", "no reply");
  });
  const appends = new StreamAppends({ retries: new Retries(clock), writer });
  const appended = Promise.all(["a", "b", "c"].map((data) => appends.append(data)));
  await until(() => seqs.length === 3, "the first attempt");
  await settle();
  clock.advance(100);
  deepEqual(await appended, ["e0", "e1", "e2"]);
  deepEqual(
    entries.map(({ data }) => data),
    ["a", "b", "c"],
  );
});

test("entries of a stream that has another writer fail", async () => {
  const fenced = () => {
    throw new ClusterError("fenced", "there is a newer writer");
  };
  const other = new StreamAppends({ retries: new Retries(new FakeClock()), writer: writing(fenced).writer });
  for (const result of ["a", "b"].map((data) => other.append(data))) await rejects(result, /newer writer/);
});

test("entries whose outcome is unknown are looked for by their writer when the stream is claimed again", async () => {
  const clock = new FakeClock();
  let attempts = 0;
  const fail = () => {
    throw new ClusterError(attempts++ < 2 ? "unknown_outcome" : "fenced", "no reply");
  };
  const former = writing(fail, (id) => id.startsWith("own"));
  const again = writing(() => {});
  const entry = (id: string) => ({ id, data: "equal", last: false });
  const turns = {
    reclaim: async () => again.writer,
    readAfter: async () => [entry("theirs"), entry("own1")],
  };
  const own = new StreamAppends({ retries: new Retries(clock), writer: former.writer, turns });
  const appended = Promise.all(["equal", "equal"].map((data) => own.append(data)));
  await until(() => attempts === 2, "the first attempt");
  await settle();
  clock.advance(100);
  deepEqual(await appended, ["own1", "e0"]);
  equal(again.entries.length, 1);
});
