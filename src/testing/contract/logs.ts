import type { Cluster, Writer } from "../../cluster/cluster.js";
import { deepEqual, equal, match, notEqual } from "./assert.js";
import { type Case, collect, failsWith, failureOf, LIFE_MS, PAST_LIFE_MS, until, wait } from "./world.js";

export const LOG = { keepMs: 100 * LIFE_MS, maxEntries: 1_000, maxBytes: 1_000_000 };

/** Appends texts one after the other. Returns their ids. */
export async function write(writer: Writer, texts: readonly string[], from = 0): Promise<string[]> {
  const ids: string[] = [];
  for (const [at, text] of texts.entries()) ids.push(await writer.append(from + at, text));
  return ids;
}

export async function dataOf(node: Cluster, log: string, stream: string, id?: string) {
  return (await node.logs.readAfter(log, stream, id))?.map(({ data }) => data);
}

export async function openOf(node: Cluster, of: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { log, stream } of node.logs.openOf(of)) found.push(`${log}/${stream}`);
  return found.sort();
}

/** Appends until an append fails. Returns the number of entries and the failure. */
async function appendUntilRefused(writer: Writer) {
  for (let count = 0; count < 900; count++) {
    const failure = await failureOf(() => writer.append(count, String(count)));
    if (failure !== undefined) return { count, failure };
    await wait(1);
  }
  return { count: 900, failure: undefined };
}

export function logsContract(add: Case): void {
  reading(add);
  claims(add);
  ends(add);
}

function reading(add: Case): void {
  add("entries of one node are read on another, in order", async ({ node }) => {
    const [a, b] = [await node(), await node()];
    await a.logs.create("l", LOG);
    const ids = await write(await a.logs.claim("l", "s"), ["1", "", "ü\n3 🙂"]);
    const entries = (await b.logs.readAfter("l", "s")) ?? [];
    deepEqual(
      entries.map(({ id, data, last }) => ({ id, data, last })),
      ["1", "", "ü\n3 🙂"].map((data, at) => ({ id: ids[at], data, last: false })),
    );
    equal(new Set(ids).size, 3);
    for (const id of ids) match(id, /^[A-Za-z0-9.-]+$/);
  });

  add("readAfter returns the entries after an entry of the stream", async ({ node }) => {
    const [a, b] = [await node(), await node()];
    await a.logs.create("l", LOG);
    const [one, two] = [await a.logs.claim("l", "one"), await b.logs.claim("l", "two")];
    const [first = "", , third = ""] = await write(one, ["a", "b", "c"]);
    const [other = ""] = await write(two, ["x", "y"]);
    deepEqual(await dataOf(b, "l", "one", first), ["b", "c"]);
    deepEqual(await dataOf(b, "l", "one", third), []);
    deepEqual(await dataOf(b, "l", "two"), ["x", "y"]);
    equal(await dataOf(b, "l", "one", other), undefined);
    equal(await dataOf(b, "l", "one", "unknown"), undefined);
    equal(await dataOf(b, "none", "one", first), undefined);
    deepEqual(await dataOf(b, "l", "never written"), []);
    deepEqual(await dataOf(b, "none", "one"), []);
  });

  add("an id with another claim, number or log is unknown", async ({ node }) => {
    const [a, b] = [await node(), await node()];
    await a.logs.create("l", LOG);
    await a.logs.create("m", LOG);
    const [id = "", next = ""] = await write(await a.logs.claim("l", "s"), ["1", "2"]);
    const [foreign = ""] = await write(await a.logs.claim("m", "s"), ["x"]);
    const [later = ""] = await write(await b.logs.claim("l", "s"), ["3"]);
    const claimOf = (one: string) => one.slice(one.lastIndexOf("-"));
    equal(claimOf(id), claimOf(next));
    notEqual(claimOf(id), claimOf(later));
    const swapped = id.replace(claimOf(id), claimOf(later));
    for (const unknown of [foreign, swapped, id.replace(/-\d+-/, "-9-"), `${id}0`, ""]) {
      equal(await b.logs.find("l", unknown), undefined, unknown);
      equal(await dataOf(b, "l", "s", unknown), undefined, unknown);
    }
    deepEqual(await dataOf(b, "l", "s", id), ["2", "3"]);
  });

  add("a writer knows the entries that it has appended", async ({ node }) => {
    const [a, b] = [await node(), await node()];
    await a.logs.create("l", LOG);
    const former = await a.logs.claim("l", "s");
    const [own = ""] = await write(former, ["1"]);
    const later = await b.logs.claim("l", "s");
    const [theirs = ""] = await write(later, ["1"]);
    deepEqual(
      [own, theirs, "unknown"].map((id) => former.wrote(id)),
      [true, false, false],
    );
    deepEqual(
      [own, theirs].map((id) => later.wrote(id)),
      [false, true],
    );
  });

  add("find returns the stream of an entry", async ({ node }) => {
    const [a, b] = [await node(), await node()];
    await a.logs.create("l", LOG);
    await a.logs.create("m", LOG);
    const [id = ""] = await write(await a.logs.claim("l", "s: 1"), ["1"]);
    equal(await b.logs.find("l", id), "s: 1");
    equal(await b.logs.find("l", `${id}0`), undefined);
    equal(await b.logs.find("l", "unknown"), undefined);
    equal(await b.logs.find("m", id), undefined);
    equal(await b.logs.find("none", id), undefined);
  });

  add("create leaves a log that exists", async ({ node }) => {
    const [a, b] = [await node(), await node()];
    await a.logs.create("l", LOG);
    const writer = await a.logs.claim("l", "s");
    await write(writer, ["1"]);
    await b.logs.create("l", { ...LOG, maxEntries: 1 });
    await write(writer, ["2"], 1);
    deepEqual(await dataOf(b, "l", "s"), ["1", "2"]);
  });
}

function claims(add: Case): void {
  add("a claim refuses the earlier writers of its stream only", async ({ node }) => {
    const [a, b] = [await node(), await node()];
    await a.logs.create("l", LOG);
    const [first, other] = [await a.logs.claim("l", "s"), await a.logs.claim("l", "other")];
    await write(first, ["1"]);
    const second = await b.logs.claim("l", "s");
    await failsWith("fenced", () => first.append(1, "late"));
    await write(second, ["2"]);
    await failsWith("fenced", () => first.append(1, "late"));
    const third = await b.logs.claim("l", "s");
    await failsWith("fenced", () => second.append(1, "late"));
    await write(third, ["3"]);
    await write(other, ["x"]);
    deepEqual(await dataOf(a, "l", "s"), ["1", "2", "3"]);
    deepEqual(await dataOf(a, "l", "other"), ["x"]);
  });

  add("a claim refuses an earlier writer that has written nothing", async ({ node }) => {
    const [a, b] = [await node(), await node()];
    await a.logs.create("l", LOG);
    const first = await a.logs.claim("l", "s");
    const second = await b.logs.claim("l", "s");
    await failsWith("fenced", () => first.append(0, "late"));
    await write(second, ["1"]);
    deepEqual(await dataOf(a, "l", "s"), ["1"]);
  });

  add("no append of an earlier writer lands after a claim", async ({ node }) => {
    const [a, b] = [await node(), await node()];
    await a.logs.create("l", LOG);
    for (let round = 0; round < 5; round++) {
      const stream = `s${round}`;
      const first = await a.logs.claim("l", stream);
      const appends = appendUntilRefused(first);
      await until(async () => ((await dataOf(b, "l", stream))?.length ?? 0) >= 3, "the first writer writes");
      await b.logs.claim("l", stream);
      const kept = await dataOf(b, "l", stream);
      deepEqual(await appends, { count: kept?.length, failure: "fenced" });
      deepEqual(await dataOf(b, "l", stream), kept);
    }
  });

  add("a repeated seq appends nothing and returns the id of the first attempt", async ({ node }) => {
    const a = await node();
    await a.logs.create("l", LOG);
    const writer = await a.logs.claim("l", "s");
    const first = await writer.append(0, "1");
    equal(await writer.append(0, "1"), first);
    const second = await writer.append(1, "2");
    notEqual(second, first);
    equal(await writer.append(1, "2"), second);
    const last = await writer.append(2, "3", { last: true });
    equal(await writer.append(2, "3", { last: true }), last);
    deepEqual(await dataOf(a, "l", "s"), ["1", "2", "3"]);
  });

  add("a seq that is repeated with other data or another end mark is refused", async ({ node }) => {
    const a = await node();
    await a.logs.create("l", LOG);
    const writer = await a.logs.claim("l", "s");
    const [first] = await write(writer, ["1", "2"]);
    await failsWith("refused", () => writer.append(0, "other"));
    await failsWith("refused", () => writer.append(0, "1", { last: true }));
    await failsWith("refused", () => writer.append(1, ""));
    equal(await writer.append(0, "1"), first);
    await writer.append(2, "end", { last: true });
    await failsWith("refused", () => writer.append(2, "end"));
    await failsWith("refused", () => writer.append(2, "other", { last: true }));
    const entries = (await a.logs.readAfter("l", "s")) ?? [];
    deepEqual(
      entries.map(({ data, last }) => [data, last]),
      [
        ["1", false],
        ["2", false],
        ["end", true],
      ],
    );
  });

  add("a repeated seq whose entry is not kept any more fails", async ({ node, elapse }) => {
    const a = await node();
    await a.logs.create("l", { ...LOG, maxEntries: 2, keepMs: LIFE_MS });
    const writer = await a.logs.claim("l", "s");
    await write(writer, ["1", "2", "3"]);
    await failsWith("missed", () => writer.append(0, "1"));
    await elapse(PAST_LIFE_MS);
    await failsWith("missed", () => writer.append(2, "3"));
    await write(writer, ["4"], 3);
    deepEqual(await dataOf(a, "l", "s"), ["4"]);
  });

  add("a seq that is skipped is refused", async ({ node }) => {
    const a = await node();
    await a.logs.create("l", LOG);
    const writer = await a.logs.claim("l", "s");
    await failsWith("refused", () => writer.append(1, "early"));
    await write(writer, ["1"]);
    await failsWith("refused", () => writer.append(2, "early"));
    deepEqual(await dataOf(a, "l", "s"), ["1"]);
  });

  add("a claim in a log that does not exist fails", async ({ node }) => {
    const a = await node();
    await failsWith("dropped", () => a.logs.claim("none", "s"));
  });

  add("openOf yields the streams that a node claimed last and that have no end", async ({ node }) => {
    const [a, b] = [await node(), await node()];
    await a.logs.create("l", LOG);
    await a.logs.create("m", LOG);
    const [ended] = [
      await a.logs.claim("l", "ended"),
      await a.logs.claim("l", "open"),
      await a.logs.claim("m", "open"),
    ];
    await a.logs.claim("l", "taken");
    await b.logs.claim("l", "taken");
    await ended.append(0, "bye", { last: true });
    deepEqual(await openOf(b, a.node), ["l/open", "m/open"]);
    deepEqual(await openOf(a, b.node), ["l/taken"]);
    deepEqual(await openOf(a, "unknown"), []);
    await b.logs.drop("m");
    deepEqual(await openOf(b, a.node), ["l/open"]);
  });
}

function ends(add: Case): void {
  add("an entry ends its stream for every writer", async ({ node }) => {
    const [a, b] = [await node(), await node()];
    await a.logs.create("l", LOG);
    const writer = await a.logs.claim("l", "s");
    await write(writer, ["1"]);
    await writer.append(1, "bye", { last: true });
    await failsWith("refused", () => writer.append(2, "late"));
    const entries = await b.logs.readAfter("l", "s");
    deepEqual(
      entries?.map(({ data, last }) => [data, last]),
      [
        ["1", false],
        ["bye", true],
      ],
    );
    const later = await b.logs.claim("l", "s");
    await failsWith("refused", () => later.append(0, "late"));
    deepEqual(await openOf(a, b.node), []);
    deepEqual(await dataOf(a, "l", "s"), ["1", "bye"]);
  });

  add("a dropped log is gone for its writers and readers", async ({ node }) => {
    const [a, b] = [await node(), await node()];
    await a.logs.create("l", LOG);
    const writer = await a.logs.claim("l", "s");
    const [id = ""] = await write(writer, ["1"]);
    await b.logs.drop("l");
    await failsWith("dropped", () => writer.append(1, "late"));
    await failsWith("dropped", () => a.logs.claim("l", "s"));
    deepEqual(await dataOf(a, "l", "s"), []);
    equal(await dataOf(a, "l", "s", id), undefined);
    equal(await a.logs.find("l", id), undefined);
    deepEqual(await openOf(b, a.node), []);
    await b.logs.drop("l");
    await b.logs.drop("never created");
  });

  add("a dropped log cannot be created again within its keepMs", async ({ node }) => {
    const [a, b] = [await node(), await node()];
    await a.logs.create("l", LOG);
    await b.logs.drop("l");
    await failsWith("dropped", () => a.logs.create("l", LOG));
    await b.logs.drop("l");
    await failsWith("dropped", () => a.logs.create("l", { ...LOG, keepMs: 1 }));
    await failsWith("dropped", () => a.logs.claim("l", "s"));
    await collect(a.logs.follow("l", "s", undefined, new AbortController().signal)).end;
    await b.logs.drop("never created");
    await a.logs.create("never created", LOG);
  });

  add("a create that comes with a drop does not bring the log back", async ({ node }) => {
    const [a, b, c] = [await node(), await node(), await node()];
    for (let round = 0; round < 10; round++) {
      const log = `l${round}`;
      await a.logs.create(log, LOG);
      const late = [a, c, a, c].map(async ({ logs }) => failureOf(() => logs.create(log, LOG)));
      const drop = async () => b.logs.drop(log);
      await Promise.all([...late, drop()]);
      await failsWith("dropped", () => c.logs.claim(log, "s"));
    }
  });

  add("nothing of a dropped log comes back when its name is used again", async ({ node, elapse }) => {
    const [a, b] = [await node(), await node()];
    await a.logs.create("l", { ...LOG, keepMs: LIFE_MS });
    const old = await a.logs.claim("l", "s");
    const [id = ""] = await write(old, ["old"]);
    await b.logs.drop("l");
    await failsWith("dropped", () => b.logs.create("l", LOG));
    await elapse(PAST_LIFE_MS);
    await b.logs.create("l", LOG);
    await b.logs.create("l", LOG);
    await failsWith(["dropped", "fenced"], () => old.append(1, "late"));
    const writer = await b.logs.claim("l", "s");
    await failsWith(["dropped", "fenced"], () => old.append(1, "late"));
    await write(writer, ["new"]);
    equal(await a.logs.find("l", id), undefined);
    equal(await dataOf(a, "l", "s", id), undefined);
    deepEqual(await dataOf(a, "l", "s"), ["new"]);
  });
}
