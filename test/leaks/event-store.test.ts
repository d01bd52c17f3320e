import { deepEqual, equal, rejects } from "node:assert/strict";
import { TimeoutError } from "bowline/client";
import { FakeClock } from "bowline/testing";
import { MemoryEventLog } from "#src/store/event-log.js";
import { createWaiting } from "../support/abort-many.js";
import { legacyBareHttp } from "../support/bare-wire.js";
import { takeCensus, until } from "../support/census.js";
import { verifies } from "../support/verifies.js";

const CALLS = 50;

/** A log that knows which streams were written to, in order. */
class ObservedLog extends MemoryEventLog {
  readonly rows: string[] = [];

  override append(sessionId: string, streamId: string, data: string): string {
    this.rows.push(streamId);
    return super.append(sessionId, streamId, data);
  }
}

verifies("flow:cancel:event-store-no-leak", legacyBareHttp, async (world) => {
  const empty = await takeCensus();
  const clock = new FakeClock();
  const log = new ObservedLog();
  const { server, counts } = createWaiting({ http: { resumable: log } });
  const { client, close } = await world.connect(server, { clock });
  equal((await client.callTool("echo")).text, "here");
  await until("the client listens", () => server.stats().streams === 1);
  const before = { timers: clock.pending, rows: log.rows.length };

  for (let n = 0; n < 2 * CALLS; n++) {
    const abort = new AbortController();
    const limits = n < CALLS ? { signal: abort.signal } : { timeoutMs: 1000 };
    const call = client.callTool("wait", {}, limits);
    await until("the handler runs", () => counts().started === n + 1);
    if (n < CALLS) abort.abort("enough");
    else clock.advance(1000);
    await rejects(call, (error) => (n < CALLS ? error === "enough" : error instanceof TimeoutError));
    await until("the call has ended on the server", () => counts().ended === n + 1 && server.stats().running === 0);
  }

  // One row for each call: the event that lets a client come back. None was written when, or after, it was cancelled.
  const rows = log.rows.slice(before.rows);
  equal(rows.length, 2 * CALLS);
  equal(new Set(rows).size, 2 * CALLS);
  equal(client.pending, 0);
  await until("nothing is timed any more", () => clock.pending === before.timers);
  const { sessions, streams, ...others } = server.stats();
  deepEqual([sessions, streams, Object.values(others).every((count) => count === 0)], [1, 1, true]);
  await close();
  equal(log.size(), 0);
  await until("no handle is left", () => process.getActiveResourcesInfo().length <= total(empty.resources));
  deepEqual((await takeCensus()).resources, empty.resources);
});

function total(resources: Readonly<Record<string, number>>): number {
  return Object.values(resources).reduce((sum, count) => sum + count, 0);
}
