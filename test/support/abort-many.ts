import { deepEqual, equal, ok } from "node:assert/strict";
import type { Client } from "bowline/client";
import { McpServer, type ServerOptions } from "bowline/server";
import { type Census, takeCensus, until } from "./census.js";
import { aborted } from "./gate.js";

/** How many calls of `wait` there were. */
export interface WaitCounts {
  readonly started: number;
  readonly ended: number;
}

/** A server whose `wait` lasts until it is cancelled. */
export function createWaiting(options: ServerOptions = {}) {
  let started = 0;
  let ended = 0;
  const server = new McpServer({ name: "waiting", version: "1.0.0" }, options)
    .tool("wait", {}, async (_, ctx) => {
      started++;
      try {
        throw await aborted(ctx.signal);
      } finally {
        ended++;
      }
    })
    .tool("echo", {}, () => "here");
  return { server, counts: (): WaitCounts => ({ started, ended }) };
}

/** What can be seen of the server, in this process or in another. */
export interface ServerView {
  counts(): WaitCounts | Promise<WaitCounts>;
  stats(): Readonly<Record<string, number>> | Promise<Readonly<Record<string, number>>>;
  /** Closes connections that are kept for later calls. */
  rest?(): void;
}

const BATCH = 50;
const REASON = "enough";

/**
 * Makes calls in batches and aborts each batch at once: one in five when its handlers run, one in five a turn of the event
 * loop after the calls were made, when they are somewhere on their way, the others right after they were made.
 */
export async function abortMany(client: Client, server: ServerView, total: number): Promise<void> {
  for (let made = 0, batch = 0; made < total; made += BATCH, batch++) {
    const abort = new AbortController();
    const { started } = await server.counts();
    const calls = Array.from({ length: BATCH }, () => client.callTool("wait", {}, { signal: abort.signal }));
    const settled = Promise.allSettled(calls);
    if (batch % 5 === 0) {
      await until("all handlers run", async () => (await server.counts()).started >= started + BATCH);
    } else if (batch % 5 === 1) {
      await new Promise(setImmediate);
    }
    abort.abort(REASON);
    const outcomes = await settled;
    ok(outcomes.every((outcome) => outcome.status === "rejected" && outcome.reason === REASON));
    equal(client.pending, 0);
    await until("all handlers ended", async () => isIdle(await server.counts()));
  }
}

const FIRST = 2000;
const TOTAL = 10_000;
/** Under two hundred bytes for each call: what one forgotten call costs is several times that. */
const HEAP_BOUND = 1_500_000;
/** A pool keeps as many connections as were in use at once: one for a call and one for its cancellation, with two ends. */
const SOCKET_BOUND = 4 * BATCH + 10;
/** Connections that stay: that of the server's own messages and, for a moment, one or two others. */
const RESTING_SOCKETS = 6;

/** Aborts ten thousand calls and compares what is held then with what was held after the first two thousand, when the engine has warmed up. */
export async function assertNoGrowth(
  client: Client,
  server: ServerView,
  remote?: () => Promise<Census>,
): Promise<void> {
  equal((await client.callTool("echo")).text, "here");
  await abortMany(client, server, FIRST);
  const first = await settle(server);
  const firstRemote = await remote?.();
  await abortMany(client, server, TOTAL - FIRST);
  const last = await settle(server);
  deepEqual(last.stats, first.stats);
  assertSame(last.census, first.census);
  if (firstRemote !== undefined) assertSame((await remote?.()) as Census, firstRemote);
  equal((await client.callTool("echo")).text, "here");
}

/** What is held once nothing goes on any more: no call, and no timer of one that has been given up. */
async function settle(server: ServerView) {
  await until("nothing runs", async () => {
    const { running, openRequests = 0 } = await server.stats();
    return running === 0 && openRequests === 0 && active("Timeout") === 0 && isIdle(await server.counts());
  });
  await until(`at most ${SOCKET_BOUND} ends of connections are open`, () => active("TCPSocketWrap") <= SOCKET_BOUND);
  await until("connections rest", () => {
    server.rest?.();
    return active("TCPSocketWrap") + active("ConnectWrap") <= RESTING_SOCKETS;
  });
  return { census: await takeCensus(), stats: { ...(await server.stats()) } };
}

function assertSame(last: Census, first: Census): void {
  const { TCPSocketWrap: _, ...others } = last.resources;
  const { TCPSocketWrap: __, ...othersBefore } = first.resources;
  deepEqual(others, othersBefore);
  const growth = last.heap - first.heap;
  ok(growth < HEAP_BOUND, `the heap grew by ${growth} bytes in ${TOTAL - FIRST} calls`);
}

function active(kind: string): number {
  return process.getActiveResourcesInfo().filter((each) => each === kind).length;
}

function isIdle({ started, ended }: WaitCounts): boolean {
  return started === ended;
}
