import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { type EventLog, type LoggedEvent, MemoryEventLog } from "#src/store/event-log.js";
import { gate } from "../support/gate.js";
import { blocks, LegacyEndpoint, messages, textOf, until } from "../support/legacy-endpoint.js";

type Failure = "before the write" | "in the middle" | "after the write";

/** A log elsewhere whose connection breaks: before it has an event, while it takes it, or before it says so. */
class BreakingLog implements EventLog {
  readonly inner = new MemoryEventLog();
  failing: Failure | undefined;
  /** Resolves the write that hangs in the middle. */
  readonly broken = gate();

  append(sessionId: string, streamId: string, data: string): string | Promise<string> {
    if (this.failing === "before the write") throw new Error("log is down");
    return this.#append(sessionId, streamId, data);
  }

  async #append(sessionId: string, streamId: string, data: string): Promise<string> {
    const { failing } = this;
    if (failing === "in the middle") {
      await this.broken.opened;
      throw new Error("log is down");
    }
    const id = this.inner.append(sessionId, streamId, data);
    await setImmediate();
    if (failing === "after the write") throw new Error("log is down");
    return id;
  }

  find(sessionId: string, eventId: string): string | undefined {
    return this.inner.find(sessionId, eventId);
  }

  readAfter(sessionId: string, streamId: string, eventId: string | undefined): readonly LoggedEvent[] | undefined {
    return this.inner.readAfter(sessionId, streamId, eventId);
  }

  drop(sessionId: string): void {
    this.inner.drop(sessionId);
  }
}

/** A call of a tool that reports each number it is fed, and ends when it is told so. */
async function start() {
  const log = new BreakingLog();
  const endpoint = new LegacyEndpoint({ resumable: log });
  const over = gate();
  let report: ((value: number) => void | Promise<void>) | undefined;
  endpoint.server
    .tool("fed", {}, async (_, ctx) => {
      report = (value) => ctx.progress(value);
      await over.opened;
      return "end";
    })
    .tool("quick", {}, () => "done");
  const client = await endpoint.open();
  const call = client.call(1, "fed");
  await until(() => report !== undefined && blocks(call).length === 1);
  return { log, endpoint, client, call, over, feed: async (value: number) => await report?.(value) };
}

type Exchange = Parameters<typeof messages>[0];
const progressOf = (exchange: Exchange) =>
  messages(exchange).flatMap(({ params }) => (params?.progress === undefined ? [] : [params.progress]));
const lastId = (exchange: Exchange) => blocks(exchange).findLast(({ id }) => id !== undefined)?.id;

for (const failing of ["before the write", "after the write"] as const) {
  test(`an event log that fails ${failing} costs no message of a client that is there`, async () => {
    const { log, endpoint, call, over, feed } = await start();
    await feed(1);
    log.failing = failing;
    await feed(2);
    log.failing = undefined;
    await feed(3);
    over.open();
    await call.done;
    deepEqual(progressOf(call), [1, 2, 3]);
    equal(textOf(messages(call).at(-1)), "end");
    const ids = blocks(call).map(({ id }) => id !== undefined);
    deepEqual(ids, [true, true, false, true, true], "an event that may not be in the log has no id to resume from");
    deepEqual(
      endpoint.reports.map(({ error }) => String(error)),
      ["Error: log is down"],
    );
  });

  test(`an event log that fails ${failing} of one event keeps the others for a client that comes back`, async () => {
    const { log, client, call, over, feed } = await start();
    await feed(1);
    log.failing = failing;
    await feed(2);
    log.failing = undefined;
    call.disconnect();
    await feed(3);
    const resumed = client.get(lastId(call));
    await until(() => progressOf(resumed).includes(3));
    over.open();
    await resumed.done;
    // The client has 2 already. Where the log took it in spite of the failure, it comes once more: never is one lost.
    deepEqual(progressOf(resumed), failing === "after the write" ? [2, 3] : [3]);
    equal(textOf(messages(resumed).at(-1)), "end");
  });
}

test("an event log that hangs in the middle of a write holds back later messages, in order, and no other call", async () => {
  const { log, endpoint, client, call, over, feed } = await start();
  log.failing = "in the middle";
  const first = feed(1);
  await setImmediate();
  log.failing = undefined;
  const second = feed(2);
  const other = client.call(2, "quick");
  await other.done;
  equal(textOf(messages(other).at(-1)), "done");
  deepEqual(progressOf(call), []);
  log.broken.open();
  await Promise.all([first, second]);
  deepEqual(progressOf(call), [1, 2]);
  over.open();
  await call.done;
  equal(textOf(messages(call).at(-1)), "end");
  equal(endpoint.reports.length, 1);
});

test("an answer that the event log did not take while the client was away leaves no stream open", async () => {
  const { log, endpoint, client, call, over, feed } = await start();
  await feed(1);
  call.disconnect();
  log.failing = "before the write";
  over.open();
  await until(() => endpoint.reports.length === 1 && endpoint.stats.running === 0);
  log.failing = undefined;
  const resumed = client.get(lastId(call));
  await resumed.done;
  deepEqual(messages(resumed), []);
  const next = client.call(3, "quick");
  await next.done;
  equal(textOf(messages(next).at(-1)), "done");
});
