import assert from "node:assert/strict";
import { test } from "node:test";
import { protect } from "bowline/auth/server";
import { FakeClock } from "bowline/testing";
import type { HttpServerOptions, ServerOptions } from "#src/server/options.js";
import { createArrayExchange } from "#src/testing/array-exchange.js";
import { gate } from "../../../support/gate.js";
import { blocks, isDone, LegacyEndpoint, messages, status, textOf, until } from "../../../support/legacy-endpoint.js";
import { modernRequest, sseMessages } from "../../../support/modern-request.js";

/** A token says itself for how many seconds it is good, from the beginning of the test; `-` is good for ever. */
function protectedEndpoint(http: HttpServerOptions = {}, options: ServerOptions = {}) {
  const clock = new FakeClock();
  const born = clock.timeOfDay() / 1000;
  const verify = (token: string) => {
    const expiresAt = token === "-" ? undefined : born + Number(token);
    return { token, scopes: [], subject: "ada", expiresAt };
  };
  const warden = protect({ verify, verifierChecksAudience: true, now: () => clock.timeOfDay() });
  const endpoint = new LegacyEndpoint({ ...http, gate: warden }, { clock, ...options });
  return { clock, endpoint };
}

const by = (token: string) => ({ authorization: `Bearer ${token}` });

function listen(endpoint: LegacyEndpoint, token: string) {
  const { body, headers } = modernRequest("subscriptions/listen", {
    params: { notifications: { toolsListChanged: true } },
    headers: by(token),
  });
  return endpoint.send("POST", body, { headers });
}

test("a subscription ends in good order with the token that opened it", async () => {
  const { clock, endpoint } = protectedEndpoint();
  endpoint.server.tool("t", {}, () => "");
  const stream = listen(endpoint, "60");
  await until(() => stream.status === 200);
  clock.advance(59_999);
  endpoint.server.changes.toolsChanged();
  await until(() => sseMessages(stream.body()).length === 2);
  clock.advance(1);
  await stream.done;
  const last = sseMessages(stream.body()).at(-1);
  assert.equal((last?.result as { resultType?: string } | undefined)?.resultType, "complete");
  const again = listen(endpoint, "120");
  await until(() => sseMessages(again.body()).length === 1);
  assert.equal(endpoint.server.stats().subscriptions, 1);
  await endpoint.server.close();
  assert.equal(clock.pending, 0);
});

test("the earlier of the token's end and the longest life of a subscription counts", async () => {
  const { clock, endpoint } = protectedEndpoint({}, { limits: { maxSubscriptionMs: 10_000 } });
  endpoint.server.tool("t", {}, () => "");
  const stream = listen(endpoint, "60");
  await until(() => endpoint.server.stats().subscriptions === 1);
  clock.advance(10_000);
  await stream.done;
  await endpoint.server.close();
});

test("a token without an end ends no subscription", async () => {
  const { clock, endpoint } = protectedEndpoint({ keepAliveMs: 1_000_000_000 });
  endpoint.server.tool("t", {}, () => "");
  const stream = listen(endpoint, "-");
  await until(() => stream.status === 200);
  clock.advance(500_000_000);
  assert.equal(await isDone(stream), false);
  await endpoint.server.close();
});

test("the stream of a session is let go with the token that opened it, and its client comes back", async () => {
  const { clock, endpoint } = protectedEndpoint({ retryMs: 50 });
  endpoint.server.tool("t", {}, () => "");
  const client = await endpoint.open("2025-11-25", {}, { headers: by("300") });
  const first = client.get(undefined, by("60"));
  await until(() => first.status === 200);
  clock.advance(59_999);
  assert.equal(endpoint.stats.streams, 1);
  clock.advance(1);
  await first.done;
  assert.deepEqual(blocks(first).at(-1), { retry: "50" });
  await status(client.get(undefined, by("60")), 401);
  const second = client.get(undefined, by("300"));
  await until(() => second.status === 200);
  endpoint.server.changes.toolsChanged();
  await until(() => messages(second).some(({ method }) => method === "notifications/tools/list_changed"));
  await endpoint.server.close();
  assert.equal(clock.pending, 0);
});

test("the stream of a call that can be taken up is let go with its token, and the answer waits for a fresh one", async () => {
  const { clock, endpoint } = protectedEndpoint({ resumable: true, retryMs: 50 });
  const done = gate();
  endpoint.server.tool("slow", {}, async () => {
    await done.opened;
    return "late";
  });
  const client = await endpoint.open("2025-11-25", {}, { headers: by("300") });
  const call = client.call(7, "slow", {}, by("60"));
  await until(() => blocks(call).some(({ id }) => id !== undefined));
  clock.advance(60_000);
  await call.done;
  assert.deepEqual(blocks(call).at(-1), { retry: "50" });
  done.open();
  const lastId = blocks(call).find(({ id }) => id !== undefined)?.id;
  const rest = client.get(lastId, by("300"));
  await rest.done;
  assert.equal(textOf(messages(rest).at(-1)), "late");
  await endpoint.server.close();
  assert.equal(clock.pending, 0);
});

test("a call that was let in is answered where its stream cannot be taken up", async () => {
  const { clock, endpoint } = protectedEndpoint();
  const done = gate();
  endpoint.server.tool("slow", {}, async () => {
    await done.opened;
    return "late";
  });
  const client = await endpoint.open("2025-11-25", {}, { headers: by("300") });
  const call = client.call(7, "slow", {}, by("60"));
  await until(() => endpoint.stats.running === 1);
  clock.advance(60_000);
  assert.equal(await isDone(call), false);
  done.open();
  await call.done;
  assert.equal(textOf(messages(call).at(-1)), "late");
  await endpoint.server.close();
});

test("the stream that is a session of its own ends with the latest token that was shown for it", async () => {
  const { clock, endpoint } = protectedEndpoint({ sse: true });
  const send = (method: string, url: string, token: string, body?: unknown) => {
    const headers = { ...by(token), ...(body === undefined ? {} : { "content-type": "application/json" }) };
    const exchange = createArrayExchange({ method, url, headers, body });
    endpoint.server.handle(exchange);
    return exchange;
  };
  const stream = send("GET", "/sse", "60");
  await until(() => stream.body().includes("sessionId="));
  const address = blocks(stream)[0]?.data ?? "";
  clock.advance(20_000);
  await status(send("POST", address, "120", { jsonrpc: "2.0", id: 1, method: "ping" }), 202);
  await until(() => stream.body().includes('"id":1'));
  clock.advance(99_999);
  assert.equal(await isDone(stream), false);
  clock.advance(1);
  await stream.done;
  await status(send("POST", address, "300", { jsonrpc: "2.0", id: 2, method: "ping" }), 404);
  await endpoint.server.close();
  assert.equal(clock.pending, 0);
});
