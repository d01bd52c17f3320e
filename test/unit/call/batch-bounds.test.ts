import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { createChannelPair } from "bowline/testing";
import { AbortSwitch } from "#src/call/abort-switch.js";
import { ServedCalls } from "#src/call/served-calls.js";
import { SmallMap } from "#src/protocol/jsonrpc/small-map.js";
import { cpuTime } from "../../support/cpu-time.js";
import { LegacyEndpoint, messages, settle, status, until } from "../../support/legacy-endpoint.js";

const VERSION = "2025-03-26";

const pings = (count: number) =>
  Array.from({ length: count }, (_, id) => ({ jsonrpc: "2.0", id, method: "ping" }) as const);

function createCounting(limits: object = {}) {
  const endpoint = new LegacyEndpoint({}, { limits });
  let ran = 0;
  endpoint.server.use((call, next) => {
    if (call.method === "ping") ran++;
    return next(call);
  });
  return { endpoint, ran: () => ran };
}

test("a batch is served up to the limit, and refused above it before anything of it runs", async () => {
  const { endpoint, ran } = createCounting();
  const client = await endpoint.open(VERSION);
  const served = await status(client.post(pings(64)), 200);
  equal(messages(served).length, 64);
  equal(ran(), 64);
  for (const count of [65, 640]) {
    const refused = await status(client.post(pings(count)), 400);
    equal(messages(refused)[0]?.error?.code, -32600);
    match(
      messages(refused)[0]?.error?.message ?? "",
      new RegExp(`has ${count} messages, at most 64 .*limits\\.maxBatchItems`),
    );
  }
  await status(
    client.post(pings(65).map(({ method }) => ({ jsonrpc: "2.0", method: `notifications/${method}` }))),
    400,
  );
  equal(ran(), 64);
  equal(endpoint.stats.running, 0);
});

test("a long batch whose limit is lifted takes time in proportion to its length", async () => {
  const none = Number.POSITIVE_INFINITY;
  const { endpoint, ran } = createCounting({ maxBatchItems: none, maxCalls: none, maxCallsPerSession: none });
  const client = await endpoint.open(VERSION);
  const tookMs = cpuTime();
  const served = await status(client.post(pings(20_000)), 200);
  equal(messages(served).length, 20_000);
  equal(ran(), 20_000);
  ok(tookMs() < 5_000, "a look at all before each would take longer");
});

test("an id that a batch has twice is refused", async () => {
  const { endpoint, ran } = createCounting();
  const client = await endpoint.open(VERSION);
  const refused = await status(client.post([...pings(3), ...pings(1)]), 400);
  equal(messages(refused)[0]?.id, 0);
  equal(ran(), 0);
});

test("a batch above the limit is refused on a channel, with the name of the limit", async () => {
  const { endpoint, ran } = createCounting({ maxBatchItems: 2 });
  const [ours, theirs] = createChannelPair();
  const heard: { id?: unknown; error?: { code: number; message: string } }[] = [];
  await ours.open({
    onFrame: (text) => void heard.push(JSON.parse(text)),
    onProblem: () => {},
    onClose: () => {},
  });
  await endpoint.server.accept(theirs);
  const params = { protocolVersion: VERSION, capabilities: {}, clientInfo: { name: "c", version: "1" } };
  await ours.send(JSON.stringify({ jsonrpc: "2.0", id: "i", method: "initialize", params }));
  await until(() => heard.length === 1);
  await ours.send(JSON.stringify(pings(3)));
  await ours.send(JSON.stringify(pings(2)));
  await until(() => heard.length === 4);
  deepEqual(
    heard.map(({ id }) => id),
    ["i", undefined, 0, 1],
  );
  equal(heard[1]?.error?.code, -32600);
  match(heard[1]?.error?.message ?? "", /limits\.maxBatchItems/);
  equal(ran(), 2);
  await ours.close();
  await settle();
});

test("any number of calls can be listed and ended at once", () => {
  const COUNT = 150_000;
  const map = new SmallMap<number, object>();
  const calls = new ServedCalls<{ id: number; end: AbortSwitch }>();
  const served = Array.from({ length: COUNT }, (_, id) => ({ id, end: new AbortSwitch() }));
  for (const call of served) {
    map.add(call.id, call);
    calls.add(call);
  }
  equal(map.values().length, COUNT);
  calls.abortAll(new Error("over"));
  ok(served.every(({ end }) => end.aborted));
});
