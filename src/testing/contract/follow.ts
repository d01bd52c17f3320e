import type { Cluster } from "../../cluster/cluster.js";
import { ClusterError } from "../../cluster/error.js";
import { deepEqual, equal } from "./assert.js";
import { LOG, write } from "./logs.js";
import { type Case, collect, failsWith, LIFE_MS, PAST_LIFE_MS } from "./world.js";

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, at) => String(from + at));

/** Follows a stream that does not exist yet, until its first entry has come. */
async function followFirst(writing: Cluster, reading: Cluster) {
  await writing.logs.create("l", LOG);
  const controller = new AbortController();
  const followed = collect(reading.logs.follow("l", "s", undefined, controller.signal));
  const writer = await writing.logs.claim("l", "s");
  await write(writer, ["1"]);
  await followed.reaches(1);
  return { writer, controller, followed };
}

export function followContract(add: Case): void {
  following(add);
  endings(add);
}

function following(add: Case): void {
  add("a follower gets each entry once and in order, across writers and nodes", async ({ node }) => {
    const [a, b, c] = [await node(), await node(), await node()];
    await a.logs.create("l", LOG);
    const controller = new AbortController();
    const first = await a.logs.claim("l", "s");
    const early = collect(b.logs.follow("l", "s", undefined, controller.signal));
    const ids = await write(first, numbers(0, 30));
    const late = collect(c.logs.follow("l", "s", ids[9], controller.signal));
    await write(first, numbers(30, 60), 30);
    const second = await c.logs.claim("l", "s");
    await write(second, numbers(60, 90));
    await second.append(30, "bye", { last: true });
    await Promise.all([early.end, late.end]);
    const wanted = [...numbers(0, 90), "bye"];
    const data = (entries: typeof early.items) => entries.map((entry) => entry.data);
    deepEqual(data(early.items), wanted);
    deepEqual(data(late.items), wanted.slice(10));
    equal(new Set(early.items.map(({ id }) => id)).size, 91);
    equal(early.items.at(-1)?.last, true);
  });

  add("a follower gets many entries that were there before it, while more come", async ({ node }) => {
    const [a, b] = [await node(), await node()];
    await a.logs.create("l", LOG);
    const writer = await a.logs.claim("l", "s");
    await write(writer, numbers(0, 400));
    const followed = collect(b.logs.follow("l", "s", undefined, new AbortController().signal));
    await write(writer, numbers(400, 500), 400);
    await writer.append(500, "bye", { last: true });
    await followed.end;
    deepEqual(
      followed.items.map(({ data }) => data),
      [...numbers(0, 500), "bye"],
    );
  });

  add("a follower of one stream gets no entry of another", async ({ node }) => {
    const [a, b] = [await node(), await node()];
    await a.logs.create("l", LOG);
    const controller = new AbortController();
    const followed = collect(b.logs.follow("l", "one", undefined, controller.signal));
    const [one, two] = [await a.logs.claim("l", "one"), await a.logs.claim("l", "two")];
    await write(two, ["x"]);
    await two.append(1, "end of two", { last: true });
    await write(one, ["1"]);
    await one.append(1, "end of one", { last: true });
    await followed.end;
    deepEqual(
      followed.items.map(({ data }) => data),
      ["1", "end of one"],
    );
  });

  add("followers of a stream on one node do not disturb each other", async ({ node }) => {
    const [a, b] = [await node(), await node()];
    await a.logs.create("l", LOG);
    const writer = await a.logs.claim("l", "s");
    const [stop, go] = [new AbortController(), new AbortController()];
    const gone = collect(b.logs.follow("l", "s", undefined, stop.signal));
    const stays = collect(b.logs.follow("l", "s", undefined, go.signal));
    await write(writer, ["1"]);
    await Promise.all([gone.reaches(1), stays.reaches(1)]);
    stop.abort();
    await gone.end;
    const next = collect(b.logs.follow("l", "s", gone.items[0]?.id, go.signal));
    await write(writer, ["2"], 1);
    await Promise.all([stays.reaches(2), next.reaches(1)]);
    await writer.append(2, "bye", { last: true });
    await Promise.all([stays.end, next.end]);
    const dataOf = (items: typeof gone.items) => items.map(({ data }) => data);
    deepEqual([dataOf(gone.items), dataOf(stays.items), dataOf(next.items)], [["1"], ["1", "2", "bye"], ["2", "bye"]]);
  });

  add("a follower may begin before the stream is claimed", async ({ node }) => {
    const { controller, followed } = await followFirst(await node(), await node());
    controller.abort();
    await followed.end;
    equal(followed.items[0]?.data, "1");
  });
}

function endings(add: Case): void {
  add("a follower ends when its signal fires", async ({ node }) => {
    const b = await node();
    const { writer, controller, followed } = await followFirst(await node(), b);
    controller.abort();
    await followed.end;
    await write(writer, ["2"], 1);
    equal(followed.items.length, 1);
    const none = collect(b.logs.follow("l", "s", undefined, AbortSignal.abort()));
    await none.end;
    equal(none.items.length, 0);
  });

  add("a follower ends when the log is dropped, and at once if it does not exist", async ({ node }) => {
    const [a, b] = [await node(), await node()];
    await a.logs.create("l", LOG);
    const { signal } = new AbortController();
    const followed = collect(b.logs.follow("l", "s", undefined, signal));
    await write(await a.logs.claim("l", "s"), ["1"]);
    await followed.reaches(1);
    await a.logs.drop("l");
    await followed.end;
    await collect(b.logs.follow("l", "s", undefined, signal)).end;
    await collect(b.logs.follow("none", "s", undefined, signal)).end;
  });

  add("a follower after the last entry ends at once", async ({ node }) => {
    const a = await node();
    await a.logs.create("l", LOG);
    const writer = await a.logs.claim("l", "s");
    const last = await writer.append(0, "bye", { last: true });
    const followed = collect(a.logs.follow("l", "s", last, new AbortController().signal));
    await followed.end;
    equal(followed.items.length, 0);
  });

  add("a follower after an entry that is not kept fails", async ({ node, elapse }) => {
    const [a, b] = [await node(), await node()];
    await a.logs.create("l", { ...LOG, keepMs: LIFE_MS });
    const { signal } = new AbortController();
    const writer = await a.logs.claim("l", "s");
    const [id = ""] = await write(writer, ["1"]);
    await failsWith("missed", () => collect(b.logs.follow("l", "s", "unknown", signal)).end);
    await elapse(PAST_LIFE_MS);
    await write(writer, ["2"], 1);
    await failsWith("missed", () => collect(b.logs.follow("l", "s", id, signal)).end);
  });

  add("a follower that is too slow for the log fails and repeats nothing", async ({ node }) => {
    const [a, b] = [await node(), await node()];
    await a.logs.create("l", { ...LOG, maxEntries: 5 });
    const writer = await a.logs.claim("l", "s");
    await write(writer, ["0"]);
    const seen: string[] = [];
    let failure: unknown;
    try {
      for await (const { data } of b.logs.follow("l", "s", undefined, new AbortController().signal)) {
        seen.push(data);
        if (seen.length === 1) await write(writer, numbers(1, 1_001), 1);
      }
    } catch (error) {
      failure = error;
    }
    equal(failure instanceof ClusterError && failure.failure, "missed");
    deepEqual(seen, numbers(0, seen.length));
  });
}
