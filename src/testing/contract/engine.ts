import type { Cluster } from "../../cluster/cluster.js";
import { deepEqual, equal, notEqual, ok } from "./assert.js";
import { arrival, listen } from "./bus.js";
import { dataOf, LOG, write } from "./logs.js";
import { worker } from "./queue.js";
import { type Case, collect, failureOf, LIFE_MS, PAST_LIFE_MS, until } from "./world.js";

/** Maximum time in which an operation fails while the engine is away. */
const FAST_MS = 10_000;

/** Repeats an operation that may be repeated until it succeeds. */
async function insist<T>(run: () => T | Promise<T>, what: string): Promise<T> {
  let result: { readonly value: T } | undefined;
  await until(async () => {
    const failure = await failureOf(async () => {
      result = { value: await run() };
    });
    ok(failure === undefined || failure === "unavailable" || failure === "unknown_outcome", `${what}: ${failure}`);
    return failure === undefined;
  }, what);
  return (result as { readonly value: T }).value;
}

/** Resolves once a node knows that its engine is away. */
async function notices(node: Cluster): Promise<void> {
  await until(async () => (await failureOf(() => node.records.get("any"))) === "unavailable", "the loss is noticed");
  equal(node.available, false);
}

const returns = (node: Cluster) => insist(() => node.records.get("any"), "the engine is back");

/** Registers the tests of a cluster whose engine ends and starts again. */
export function engineCases(add: Case): void {
  away(add);
  streams(add);
  messages(add);
  rights(add);
}

function away(add: Case): void {
  add("operations fail fast while the engine is away, and work when it is back", async ({ node, engine }) => {
    const a = await node();
    await a.records.put("kept", "1");
    await a.logs.create("l", LOG);
    const writer = await a.logs.claim("l", "s");
    await engine.kill();
    await notices(a);
    const operations = {
      get: () => a.records.get("kept"),
      put: () => a.records.put("kept", "2"),
      append: () => writer.append(0, "1"),
      claim: () => a.logs.claim("l", "s"),
      publish: () => a.bus.publish("t", ""),
      subscribe: () => a.bus.subscribe("t", () => undefined),
      acquire: () => a.leases.acquire("l", LIFE_MS),
      add: () => a.queue.add("j", ""),
    };
    for (const [title, run] of Object.entries(operations)) {
      const start = performance.now();
      equal(await failureOf(run), "unavailable", title);
      ok(performance.now() - start < FAST_MS, `${title} took ${performance.now() - start} ms`);
    }
    await engine.start();
    equal((await insist(() => a.records.get("kept"), "the engine is back"))?.value, "1");
    await until(() => a.available, "the node is available");
    notEqual(await a.records.put("kept", "2"), undefined);
  });

  add("a node closes while the engine is away", async ({ node, close, engine }) => {
    const a = await node();
    const lease = await a.leases.acquire("l", LIFE_MS);
    await engine.kill();
    const start = performance.now();
    await close(a);
    ok(performance.now() - start < FAST_MS);
    equal(lease?.lost.aborted, true);
  });
}

function streams(add: Case): void {
  add("a writer goes on after the engine was away, without loss and repetition", async ({ node, engine }) => {
    const [a, b] = [await node(), await node()];
    await a.logs.create("l", LOG);
    const writer = await a.logs.claim("l", "s");
    const followed = collect(b.logs.follow("l", "s", undefined, new AbortController().signal));
    await write(writer, ["0", "1"]);
    await followed.reaches(2);
    const death = (async () => {
      await engine.kill();
      await engine.start();
    })();
    for (let seq = 2; seq < 40; seq++) await insist(() => writer.append(seq, String(seq)), `append ${seq}`);
    await death;
    await insist(() => writer.append(40, "bye", { last: true }), "the end mark");
    await followed.end;
    const wanted = [...Array.from({ length: 40 }, (_, at) => String(at)), "bye"];
    deepEqual(
      followed.items.map(({ data }) => data),
      wanted,
    );
    deepEqual(await dataOf(a, "l", "s"), wanted);
  });

  add("a writer is fenced by a claim before the engine was away", async ({ node, engine }) => {
    const [a, b] = [await node(), await node()];
    await a.logs.create("l", LOG);
    const [old, next] = [await a.logs.claim("l", "s"), await b.logs.claim("l", "s")];
    await engine.kill();
    await engine.start();
    await insist(() => next.append(0, "1"), "the new writer goes on");
    await returns(a);
    equal(await failureOf(() => old.append(0, "late")), "fenced");
    deepEqual(await dataOf(b, "l", "s"), ["1"]);
  });
}

function messages(add: Case): void {
  add("a gap is told when the engine was away, and messages arrive again", async ({ node, engine }) => {
    const [a, b] = [await node(), await node()];
    let gaps = 0;
    const left: number[] = [];
    b.bus.onGap(() => gaps++);
    b.bus.onGap(() => left.push(1))();
    const inbox = await listen(b, "t");
    await a.bus.publish("t", "before");
    await arrival(inbox, "before");
    equal(gaps, 0);
    await engine.kill();
    await notices(b);
    await engine.start();
    await until(() => gaps > 0, "the gap is told");
    let sent = 0;
    await until(async () => {
      await failureOf(() => a.bus.publish("t", `after ${++sent}`));
      return inbox.texts.length > 1;
    }, "messages arrive again");
    equal(new Set(inbox.texts).size, inbox.texts.length);
    deepEqual(left, []);
  });
}

function rights(add: Case): void {
  add("a lease outlives a short absence of the engine", async ({ node, engine, elapse }) => {
    const [a, b] = [await node(), await node()];
    const lease = await a.leases.acquire("l", 8 * LIFE_MS);
    await engine.kill();
    await notices(a);
    await engine.start();
    await Promise.all([returns(a), returns(b)]);
    await elapse(9 * LIFE_MS);
    equal(lease?.lost.aborted, false);
    equal(await b.leases.acquire("l", LIFE_MS), undefined);
  });

  add("a lease is lost when the engine is away for longer than its life", async ({ node, engine, elapse }) => {
    const [a, b] = [await node(), await node()];
    const lease = await a.leases.acquire("l", LIFE_MS);
    await engine.kill();
    await elapse(PAST_LIFE_MS);
    equal(lease?.lost.aborted, true);
    await engine.start();
    await until(async () => {
      let next: unknown;
      await failureOf(async () => {
        next = await b.leases.acquire("l", LIFE_MS);
      });
      if (next === undefined) await elapse(LIFE_MS / 10);
      return next !== undefined;
    }, "another node acquires the lease");
  });

  add("workers go on after the engine was away, and no job is lost", async (stage) => {
    const [a, b] = [await stage.node(), await stage.node()];
    await a.queue.add("before", "");
    const { engine } = stage;
    await engine.kill();
    const working = worker(stage, b);
    await engine.start();
    await insist(async () => a.queue.add("after", ""), "a job is added");
    await working.reaches(2);
    deepEqual(working.jobs.map(({ id }) => id).sort(), ["after", "before"]);
    for (const job of working.jobs) await insist(() => job.done(), "a job is done");
  });
}
