import { deepEqual, equal, ok } from "node:assert/strict";
import type { Client } from "bowline/client";
import { McpServer, type ServerOptions } from "bowline/server";
import { type Census, takeCensus } from "./census.js";
import { aborted } from "./gate.js";

/** How many calls of `wait` there were. */
export interface WaitCounts {
  readonly started: number;
  readonly ended: number;
}

/** A server whose `wait` lasts until it is cancelled. */
export function createWaiting(options: ServerOptions = {}) {
  const counts = { started: 0, ended: 0 };
  const waiting: { readonly kind: keyof WaitCounts; readonly count: number; resolve(): void }[] = [];
  const note = (kind: keyof WaitCounts) => {
    counts[kind]++;
    for (const waiter of waiting.splice(0)) {
      if (counts[waiter.kind] >= waiter.count) waiter.resolve();
      else waiting.push(waiter);
    }
  };
  const server = new McpServer({ name: "waiting", version: "1.0.0" }, options)
    .tool("wait", {}, async (_, ctx) => {
      note("started");
      try {
        throw await aborted(ctx.signal);
      } finally {
        note("ended");
      }
    })
    .tool("echo", {}, () => "here");
  /** Resolves when so many handlers have started, or ended, in all. */
  const reached = (kind: keyof WaitCounts, count: number): Promise<void> =>
    counts[kind] >= count ? Promise.resolve() : new Promise((resolve) => void waiting.push({ kind, count, resolve }));
  return { server, counts: (): WaitCounts => ({ ...counts }), reached };
}

/** What can be seen of the server, in this process or in another. */
export interface ServerView {
  reached(kind: keyof WaitCounts, count: number): Promise<void>;
  stats(): Readonly<Record<string, number>> | Promise<Readonly<Record<string, number>>>;
  /** Closes connections that wait for later calls, and resolves when they, and those of calls that are over, are closed. */
  quiet?(): Promise<void>;
}

const AT_ONCE = 100;
const REASON = "enough";

/**
 * Makes calls, so many at once, and aborts them when the server runs all of them. Then every one has ended on both sides.
 * `before` is how many there were on this server before.
 */
export async function abortRunning(client: Client, server: ServerView, total: number, before = 0): Promise<void> {
  for (let made = before; made < before + total; made += AT_ONCE) {
    const abort = new AbortController();
    const calls = Array.from({ length: AT_ONCE }, () => client.callTool("wait", {}, { signal: abort.signal }));
    const settled = Promise.allSettled(calls);
    await server.reached("started", made + AT_ONCE);
    abort.abort(REASON);
    assertGivenUp(await settled);
    equal(client.pending, 0);
    await server.reached("ended", made + AT_ONCE);
  }
}

export function assertGivenUp(outcomes: readonly PromiseSettledResult<unknown>[], reason: unknown = REASON): void {
  ok(outcomes.every((outcome) => outcome.status === "rejected" && outcome.reason === reason));
}

/** Enough for the engine to have compiled what it will compile, and to have allocated what it keeps for that. */
const WARM_UP = 2000;
const TOTAL = 10_000;
/** A hundred and fifty bytes for each call. What one forgotten call costs is several times that. */
const HEAP_BOUND = 1_500_000;

/** Aborts ten thousand calls that run and compares what is held then with what was held before. */
export async function assertNoGrowth(
  client: Client,
  server: ServerView,
  remote?: () => Promise<Census>,
): Promise<void> {
  equal((await client.callTool("echo")).text, "here");
  await abortRunning(client, server, WARM_UP);
  const before = await holdings(server, remote);
  await abortRunning(client, server, TOTAL, WARM_UP);
  const after = await holdings(server, remote);
  deepEqual(after.stats, before.stats);
  equal(after.stats.running, 0);
  assertSame(after.census, before.census);
  if (before.remote !== undefined) assertSame(after.remote as Census, before.remote);
  equal((await client.callTool("echo")).text, "here");
}

async function holdings(server: ServerView, remote?: () => Promise<Census>) {
  await server.quiet?.();
  // A handler that has ended is off the books by the end of that turn.
  await new Promise(setImmediate);
  return { stats: { ...(await server.stats()) }, remote: await remote?.(), census: await takeCensus() };
}

function assertSame(after: Census, before: Census): void {
  deepEqual(after.resources, before.resources);
  const growth = after.heap - before.heap;
  ok(growth < HEAP_BOUND, `the heap grew by ${growth} bytes in ${TOTAL} calls`);
}
