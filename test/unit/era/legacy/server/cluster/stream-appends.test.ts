import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { ClusterError, type LogEntry, type Writer } from "bowline/cluster";
import { StreamAppends } from "#src/era/legacy/server/cluster/stream-appends.js";
import { FakeClock } from "../../../../../support/fake-clock.js";
import { gate } from "../../../../../support/gate.js";
import { settle, until } from "../../../../../support/legacy-endpoint.js";

/** Log in memory whose writer fails as a test says. */
function writing(fail: (data: string, entries: LogEntry[]) => void) {
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
  return { entries, seqs, writer: { append } satisfies Writer };
}

test("an entry that is refused leaves its number to the next one", async () => {
  const { entries, writer } = writing((data) => {
    if (data === "b") throw new ClusterError("refused", "too long");
  });
  const appends = new StreamAppends({ clock: new FakeClock(), closing: new AbortController().signal, writer });
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
  const appends = new StreamAppends({ clock, closing: new AbortController().signal, writer });
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

test("entries of a stream that has another writer fail, those that it has stored as well are looked for", async () => {
  const closing = new AbortController().signal;
  const fenced = () => {
    throw new ClusterError("fenced", "there is a newer writer");
  };
  const other = new StreamAppends({ clock: new FakeClock(), closing, writer: writing(fenced).writer });
  for (const result of ["a", "b"].map((data) => other.append(data))) await rejects(result, /newer writer/);

  const log = '{"jsonrpc":"2.0","method":"notifications/message"}';
  const again = writing(() => {});
  const reclaimed = gate();
  const turns = {
    reclaim: async () => {
      reclaimed.open();
      return again.writer;
    },
    readAfter: async () => [{ id: "theirs", data: log, last: false }],
  };
  const own = new StreamAppends({ clock: new FakeClock(), closing, writer: writing(fenced).writer, turns });
  deepEqual(await Promise.all(["a", log, log].map((data) => own.append(data))), ["e0", "theirs", "e1"]);
  await reclaimed.opened;
  equal(again.entries.length, 2);
});
