import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import { FakeClock } from "bowline/testing";
import { RetryWaits } from "#src/call/backoff.js";
import { type ListListeners, refreshLists } from "#src/client/subscriptions/list-refresh.js";
import type { Listening } from "#src/client/subscriptions/resilient.js";
import type { WatchEvents } from "#src/era/client-era.js";
import { RpcError } from "#src/protocol/errors.js";
import { METHOD_NOT_FOUND } from "#src/protocol/jsonrpc/errors.js";

/** Lists that are read when the test says so. */
async function listening(listeners: ListListeners) {
  const clock = new FakeClock();
  const problems: string[] = [];
  const reads: { readonly kind: string; answer: (items: readonly unknown[]) => void }[] = [];
  const missed: unknown[] = [];
  const opened: WatchEvents[] = [];
  const refusal: { error?: Error } = {};
  const listen = async (_: unknown, events: WatchEvents) => {
    if (refusal.error !== undefined) throw refusal.error;
    opened.push(events);
    return { honoured: { toolsListChanged: true }, close() {} };
  };
  const listChanged = { listChanged: true };
  await refreshLists(listeners, {
    clock,
    waits: new RetryWaits(),
    listening: new Set<Listening>(),
    capabilities: { tools: listChanged, prompts: listChanged },
    read: (kind) => new Promise((answer) => reads.push({ kind, answer })),
    begin: listen,
    listen,
    missed: (changes) => void missed.push(...changes),
    onProblem: (problem) => void problems.push(problem.message),
  });
  return { clock, reads, problems, missed, opened, refusal };
}

const settled = () => new Promise(setImmediate);

test("changes within the time given, and while the list is read, count as one; no list is told after a newer one", async () => {
  const told: unknown[] = [];
  const { clock, reads, opened } = await listening({
    tools: { debounceMs: 100, onChange: ({ items }) => void told.push(items) },
  });
  const [events] = opened;
  events?.onChange({ kind: "tools" });
  clock.advance(60);
  events?.onChange({ kind: "tools" });
  equal(reads.length, 0);
  clock.advance(40);
  equal(reads.length, 1);
  for (let n = 0; n < 5; n++) events?.onChange({ kind: "tools" });
  clock.advance(1000);
  equal(reads.length, 1);
  reads[0]?.answer(["old"]);
  await settled();
  clock.advance(100);
  equal(reads.length, 2);
  reads[1]?.answer(["new"]);
  await settled();
  deepEqual(told, [["old"], ["new"]]);
  equal(clock.pending, 0);
});

test("after a loss it listens again and reads what may have changed, however often, until there is nothing to listen to", async () => {
  const told: unknown[] = [];
  const { clock, reads, opened, missed, problems, refusal } = await listening({
    tools: { onChange: ({ items }) => void told.push(items) },
    prompts: { onChange: () => void told.push("prompts") },
  });
  opened[0]?.onEnd("lost", new Error("cut"));
  clock.advance(250);
  await settled();
  equal(opened.length, 2);
  deepEqual(missed, [{ kind: "tools" }]);
  clock.advance(0);
  reads[0]?.answer(["a"]);
  await settled();
  deepEqual(told, [["a"]]);
  for (let lost = 1; lost < 30; lost++) {
    opened[lost]?.onEnd("lost", new Error("cut again"));
    clock.advance(30_000);
    await settled();
    equal(opened.length, lost + 2);
  }
  deepEqual(problems, []);
  refusal.error = new RpcError(METHOD_NOT_FOUND, "no such method");
  opened[30]?.onEnd("lost", new Error("replaced"));
  clock.advance(30_000);
  await settled();
  match(problems.at(-1) ?? "", /subscription to list changes was lost/);
  clock.advance(600_000);
  await settled();
  equal(opened.length, 31);
});

test("a server that ends the subscription in good order, as when it is replaced, is listened to again", async () => {
  const { clock, opened, missed } = await listening({ tools: { onChange: () => {} } });
  opened[0]?.onEnd("graceful", undefined);
  clock.advance(250);
  await settled();
  equal(opened.length, 2);
  deepEqual(missed, [{ kind: "tools" }]);
});
