import assert from "node:assert/strict";
import { test } from "node:test";
import { type EventLog, MemoryEventLog } from "#src/store/event-log.js";
import type { ArrayExchange } from "#src/testing/array-exchange.js";
import { gate } from "../../../../support/gate.js";
import {
  blocks,
  LegacyEndpoint,
  messages,
  settle,
  status,
  textOf,
  until,
} from "../../../../support/legacy-endpoint.js";
import { modernRequest } from "../../../../support/modern-request.js";

const never = new Promise<never>(() => {});

/** A log of which some operations get stuck, once they are told to. */
function stuckLog(...operations: (keyof EventLog)[]) {
  const log = new MemoryEventLog();
  const state = { stuck: false, asked: gate() };
  const through =
    (operation: keyof EventLog) =>
    (...args: never[]): unknown => {
      if (!state.stuck || !operations.includes(operation))
        return (log[operation] as (...a: never[]) => unknown)(...args);
      state.asked.open();
      return never;
    };
  const events = Object.fromEntries(
    (["append", "find", "readAfter", "drop"] as const).map((operation) => [operation, through(operation)]),
  ) as unknown as EventLog;
  return { events, state };
}

const reported = (endpoint: LegacyEndpoint, text: RegExp) =>
  endpoint.reports.some(({ error }) => text.test((error as Error).message));

test("a gate that never decides holds no exchange beyond the end of the server", async () => {
  const endpoint = new LegacyEndpoint({ gate: () => never });
  const { body, headers } = modernRequest("tools/list");
  const exchange = endpoint.send("POST", body, { headers });
  await settle();
  assert.equal(exchange.answered, false);
  await endpoint.server.close();
  await status(exchange, 503);
  assert.ok(reported(endpoint, /refused with 503/));
});

test("a gate that decides after the server has ended is not heard", async () => {
  const decided = gate();
  const endpoint = new LegacyEndpoint({ gate: () => decided.opened.then(() => ({})) });
  const { body, headers } = modernRequest("tools/list");
  const exchange = endpoint.send("POST", body, { headers });
  await endpoint.server.close();
  await status(exchange, 503);
  const before = endpoint.reports.length;
  decided.open();
  await settle();
  assert.equal(endpoint.reports.length, before);
});

test("a session that is never let open holds no exchange beyond the end of the server", async () => {
  const endpoint = new LegacyEndpoint({ sessions: { onOpen: () => never } });
  const exchange = endpoint.initialize();
  await settle();
  await endpoint.server.close();
  await status(exchange, 503);
});

test("a log that never takes the beginning of a stream holds no call beyond the end of its session", async () => {
  const { events, state } = stuckLog("append");
  const endpoint = new LegacyEndpoint({ resumable: events });
  endpoint.server.tool("t", {}, () => "");
  const client = await endpoint.open();
  state.stuck = true;
  const call = client.call(1, "t");
  await state.asked.opened;
  await status(client.delete(), 200);
  await status(call, 404);
  assert.deepEqual(
    messages(call).map(({ id, error }) => [id, error?.message]),
    [[1, "The session has ended"]],
  );
});

test("a call that is cancelled while the log does not take the beginning of its stream ends at once", async () => {
  const { events, state } = stuckLog("append");
  const endpoint = new LegacyEndpoint({ resumable: events });
  endpoint.server.tool("t", {}, () => "");
  const client = await endpoint.open();
  state.stuck = true;
  const call = client.call(1, "t");
  await state.asked.opened;
  await status(client.cancel(1), 202);
  await status(call, 204);
  await endpoint.server.close();
});

test("a log that never takes an answer holds it no longer than its session lasts, and that is reported", async () => {
  const { events, state } = stuckLog("append");
  const endpoint = new LegacyEndpoint({ resumable: events });
  const done = gate();
  endpoint.server.tool("t", {}, () => done.opened.then(() => "late"));
  const client = await endpoint.open();
  const call = client.call(1, "t");
  await until(() => blocks(call).length > 0);
  state.stuck = true;
  done.open();
  await state.asked.opened;
  await settle();
  assert.equal(endpoint.stats.running, 0);
  await endpoint.server.drain(0);
  await call.done;
  assert.equal(textOf(messages(call).at(-1)), "late");
  assert.ok(reported(endpoint, /event log/));
  assert.equal(endpoint.stats.streams, 0);
});

const opening: [string, keyof EventLog, (last: string) => string | undefined][] = [
  ["what a stream has missed", "readAfter", () => undefined],
  ["what comes after an event", "readAfter", (last) => last],
  ["which stream an event belongs to", "find", (last) => last],
];
for (const [what, operation, place] of opening) {
  test(`a log that never says ${what} holds no exchange beyond the end of the server`, async () => {
    const { events, state } = stuckLog(operation);
    const endpoint = new LegacyEndpoint({ resumable: events });
    const client = await endpoint.open();
    const first: ArrayExchange = client.get();
    await until(() => blocks(first).some(({ id }) => id !== undefined));
    const last = blocks(first).find(({ id }) => id !== undefined)?.id ?? "";
    first.disconnect();
    await settle();
    state.stuck = true;
    const again = client.get(place(last));
    await state.asked.opened;
    await endpoint.server.close();
    await status(again, 503);
  });
}
