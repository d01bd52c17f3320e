import type { Cluster } from "../../cluster/cluster.js";
import { ClusterError } from "../../cluster/error.js";
import { deepEqual, equal, match, ok } from "./assert.js";
import { dataOf, LOG, openOf, write } from "./logs.js";
import { type Case, collect, failsWith, LIFE_MS, PAST_LIFE_MS } from "./world.js";

export function logLimitsContract(add: Case): void {
  limits(add);
  streams(add);
}

function limits(add: Case): void {
  add("a log keeps its newest maxEntries, over all streams", async ({ node }) => {
    const [a, b] = [await node(), await node()];
    await a.logs.create("l", { ...LOG, maxEntries: 3 });
    const [one, two] = [await a.logs.claim("l", "one"), await a.logs.claim("l", "two")];
    const [lost = "", kept = ""] = await write(one, ["1", "2"]);
    await write(two, ["x", "y"]);
    deepEqual([await dataOf(b, "l", "one"), await dataOf(b, "l", "two")], [["2"], ["x", "y"]]);
    equal(await dataOf(b, "l", "one", lost), undefined);
    equal(await b.logs.find("l", lost), undefined);
    deepEqual(await dataOf(b, "l", "one", kept), []);
    await write(two, ["z"], 2);
    equal(await dataOf(b, "l", "one", kept), undefined);
    deepEqual(await dataOf(b, "l", "two"), ["x", "y", "z"]);
  });

  add("a log keeps its newest maxBytes, and always its newest entry", async ({ node }) => {
    const a = await node();
    await a.logs.create("l", { ...LOG, maxBytes: 11_000 });
    const writer = await a.logs.claim("l", "s");
    const texts = ["1", "2", "3"].map((text) => text.repeat(4_000));
    const ids = await write(writer, texts);
    deepEqual(await dataOf(a, "l", "s"), texts.slice(1));
    equal(await a.logs.find("l", ids[0] ?? ""), undefined);
    await write(writer, ["4".repeat(30_000)], 3);
    deepEqual(await dataOf(a, "l", "s"), ["4".repeat(30_000)]);
    await write(writer, ["5"], 4);
    deepEqual(await dataOf(a, "l", "s"), ["5"]);
  });

  add("an entry is gone keepMs after it was appended", async ({ node, elapse }) => {
    const [a, b] = [await node(), await node()];
    await a.logs.create("l", { ...LOG, keepMs: LIFE_MS });
    const writer = await a.logs.claim("l", "s");
    const [id = ""] = await write(writer, ["1"]);
    equal(await b.logs.find("l", id), "s");
    await elapse(PAST_LIFE_MS);
    equal(await b.logs.find("l", id), undefined);
    equal(await dataOf(b, "l", "s", id), undefined);
    deepEqual(await dataOf(b, "l", "s"), []);
    await write(writer, ["2"], 1);
    deepEqual(await dataOf(b, "l", "s"), ["2"]);
    deepEqual(await openOf(b, a.node), ["l/s"]);
  });
}

function streams(add: Case): void {
  /** Claims a stream that must be refused. */
  const refuses = async ({ logs }: Cluster, stream: string) => {
    const claim = async () => logs.claim("l", stream);
    const error = await claim().then(
      () => undefined,
      (error: unknown) => error,
    );
    ok(error instanceof ClusterError);
    equal(error.failure, "refused");
    match(error.message, /maximum of 2 streams.*maxStreams/);
  };

  add("a log has at most maxStreams streams", async ({ node }) => {
    const [a, b] = [await node(), await node()];
    await a.logs.create("l", { ...LOG, maxEntries: 2, maxStreams: 2 });
    const [one, two] = [await a.logs.claim("l", "one"), await b.logs.claim("l", "two")];
    await refuses(b, "three");
    await write(one, ["1"]);
    const again = await b.logs.claim("l", "one");
    await again.append(0, "bye", { last: true });
    await refuses(a, "three");
    await write(two, ["x", "y"]);
    const three = await a.logs.claim("l", "three");
    await refuses(b, "four");
    await write(three, ["3"]);
    deepEqual([await dataOf(b, "l", "two"), await dataOf(b, "l", "three")], [["y"], ["3"]]);
    deepEqual([await openOf(a, a.node), await openOf(a, b.node)], [["l/three"], ["l/two"]]);
    await failsWith(["missed", "fenced"], () => again.append(0, "bye", { last: true }));
  });

  add("a stream that has ended does not count after keepMs", async ({ node, elapse }) => {
    const a = await node();
    await a.logs.create("l", { ...LOG, keepMs: LIFE_MS, maxStreams: 2 });
    await (await a.logs.claim("l", "ended")).append(0, "bye", { last: true });
    const open = await a.logs.claim("l", "open");
    await write(open, ["1"]);
    await refuses(a, "third");
    await elapse(PAST_LIFE_MS);
    await a.logs.claim("l", "third");
    await refuses(a, "fourth");
    await write(open, ["2"], 1);
  });

  add("streams that are followed and not claimed do not count", async ({ node }) => {
    const [a, b] = [await node(), await node()];
    await a.logs.create("l", { ...LOG, maxStreams: 2 });
    const stop = new AbortController();
    const all = ["1", "2", "3"].map((stream) => collect(b.logs.follow("l", stream, undefined, stop.signal)));
    for (const stream of ["1", "2"]) await write(await a.logs.claim("l", stream), ["x"]);
    await Promise.all(all.slice(0, 2).map((followed) => followed.reaches(1)));
    await refuses(a, "3");
    stop.abort();
    await Promise.all(all.map(({ end }) => end));
  });

  add("a follower that did not get the end of a stream before its eviction fails", async ({ node }) => {
    const [a, b] = [await node(), await node()];
    await a.logs.create("l", { ...LOG, maxEntries: 2 });
    const [writer, other] = [await a.logs.claim("l", "s"), await a.logs.claim("l", "other")];
    await write(writer, ["1"]);
    const seen: string[] = [];
    const late = AbortSignal.timeout(20_000);
    const follow = async () => {
      for await (const { data } of b.logs.follow("l", "s", undefined, late)) {
        seen.push(data);
        await writer.append(1, "bye", { last: true });
        await write(other, ["x", "y", "z"]);
      }
    };
    await failsWith("missed", follow);
    deepEqual(seen, ["1"]);
  });
}
