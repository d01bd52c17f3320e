import { equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { type CacheStore, ConnectionError, connect, retry } from "bowline/client";
import { FakeClock } from "bowline/testing";
import { gate } from "../../support/gate.js";
import { HttpScript } from "../../support/http-script.js";
import { LEGACY, RawServer } from "../../support/server-script.js";

test("a call that waits for a store of the author's own is given up at once", async (t) => {
  const clock = new FakeClock();
  const asked = gate();
  const never = () => {
    asked.open();
    return new Promise<never>(() => {});
  };
  const store: CacheStore = { get: never, set: never, delete: never };
  const server = new RawServer({ era: "modern", handlers: {} });
  const client = await server.connect(t, { clock, cache: { store, partition: "me" } });
  const abort = new AbortController();
  const listing = client.listTools(undefined, { signal: abort.signal });
  await asked.opened;
  abort.abort("enough");
  await rejects(listing, (reason) => reason === "enough");
  equal(client.pending, 0);
});

test("attempts share the deadline of their call", async (t) => {
  const clock = new FakeClock();
  const deadlines: (number | undefined)[] = [];
  const server = new RawServer({ era: "modern", handlers: {} });
  const client = await server.connect(t, {
    clock,
    interceptors: [
      retry({ clock, attempts: 10, delayMs: 100 }),
      (call) => {
        deadlines.push(call.options.deadlineMs);
        clock.advance(200);
        return Promise.reject(new ConnectionError("lost", { delivery: "not_sent" }));
      },
    ],
  });
  const call = rejects(client.listTools(undefined, { deadlineMs: 1000 }), { message: "lost" });
  for (let turn = 0; turn < 20; turn++) {
    await new Promise(setImmediate);
    clock.advance(50);
  }
  await call;
  equal(deadlines[0], 1000);
  equal(
    deadlines.every((ms, index) => index === 0 || (ms as number) < (deadlines[index - 1] as number)),
    true,
    deadlines.join(", "),
  );
});

test("a schedule for reconnecting that throws ends the call with what it threw", async (t) => {
  const script = await new HttpScript().start();
  t.after(() => script.stop());
  const schedule = () => {
    throw new Error("no time");
  };
  const connecting = connect(script.url, { versions: [LEGACY], reconnect: { schedule }, onError: () => {} });
  const serverInfo = { name: "script", version: "1" };
  const headers = { "mcp-session-id": "session-0123456789" };
  const handshake = await script.next("initialize");
  handshake.result({ protocolVersion: LEGACY, capabilities: {}, serverInfo }, headers);
  (await script.next("notifications/initialized")).status(202);
  const own = (await script.next("GET")).stream();
  const client = await connecting;
  own.cut();
  const session = client.session as NonNullable<typeof client.session>;
  const resumed = client.request("tools/call", { name: "any" }, { resume: { session, id: 7, lastEventId: "e" } });
  (await script.next((r) => r.headers["last-event-id"] === "e")).status(503);
  await rejects(resumed, { message: "no time" });
  equal(client.pending, 0);
  script.onRequest = (received) => received.status(200);
  await client.close();
});
