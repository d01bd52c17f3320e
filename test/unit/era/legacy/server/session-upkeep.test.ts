import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { legacyServer } from "#src/era/legacy/server/era.js";
import { LegacySession } from "#src/era/legacy/server/session.js";
import { takeCensus } from "../../../../support/census.js";
import { FakeClock } from "../../../../support/fake-clock.js";
import { FakeServerHost } from "../../../../support/fake-server-host.js";
import { LegacyEndpoint, messages, settle } from "../../../../support/legacy-endpoint.js";

const pings = { intervalMs: 1000, timeoutMs: 200 };

test("a resumable session that nobody listens to is not asked for signs of life, and no loss is reported", async () => {
  const clock = new FakeClock();
  const endpoint = new LegacyEndpoint({ resumable: true }, { clock, pings, limits: { sessionIdleMs: 1_000_000 } });
  const client = await endpoint.open();
  for (let round = 0; round < 3; round++) {
    clock.advance(1200);
    await settle();
  }
  equal(endpoint.reports.length, 0);

  const stream = client.get();
  await settle();
  deepEqual(messages(stream), [], "what nobody could have answered was not kept for later");
  clock.advance(1000);
  await settle();
  equal(messages(stream).at(-1)?.method, "ping");
  clock.advance(200);
  await settle();
  const places = () => endpoint.reports.map(({ where }) => where);
  deepEqual(places(), ["ping"]);

  clock.advance(1000);
  await settle();
  equal(messages(stream).filter(({ method }) => method === "ping").length, 2);
  stream.disconnect();
  clock.advance(200);
  await settle();
  deepEqual(places(), ["ping"], "who has gone away since is not lost: it may come back");
});

test("a page that the user was sent to is told once, to the session that asked, while there is one", () => {
  const host = new FakeServerHost();
  const told: unknown[] = [];
  const open = () => openSession(host, told);
  const [first, second, third] = [open(), open(), open()];
  for (const id of ["a", "b"]) first.addUrlElicitation(id);
  second.addUrlElicitation("b");
  first.close();
  third.addUrlElicitation("c");
  deepEqual(
    ["a", "b", "b", "c", "unknown"].map((id) => host.urlElicitations.complete(id)),
    [true, true, false, true, false],
  );
  deepEqual(told, [{ elicitationId: "b" }, { elicitationId: "c" }]);
  first.addUrlElicitation("d");
  equal(host.urlElicitations.complete("d"), false);
});

test("pages keep no ended session alive", async () => {
  const host = new FakeServerHost();
  const sessions = Array.from({ length: 10 }, (_, n) => {
    const session = openSession(host, []);
    session.addUrlElicitation(`page ${n}`);
    session.close();
    return new WeakRef(session);
  });
  await takeCensus();
  equal(sessions.filter((session) => session.deref() !== undefined).length, 0);
  equal(host.urlElicitations.complete("page 3"), true);
});

test("who no longer waits for the end of the handshake is forgotten", () => {
  const session = openSession(new FakeServerHost(), []);
  const told: string[] = [];
  const stop = session.onReady(() => void told.push("first"));
  session.onReady(() => void told.push("second"));
  stop();
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } };
  session.decode({ jsonrpc: "2.0", id: 1, method: "initialize", params }, {});
  session.receive({ jsonrpc: "2.0", method: "notifications/initialized" });
  deepEqual(told, ["second"]);
  session.close();
});

function openSession(host: FakeServerHost, told: unknown[]): LegacySession {
  return new LegacySession(legacyServer, host, {
    shared: true,
    notify: (_call, _method, params) => void told.push(params),
    request: () => Promise.reject(new Error("nothing is asked here")),
  });
}
