import { deepEqual, equal, rejects } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type ClientOptions, connect } from "bowline/client";
import { FakeClock } from "bowline/testing";
import { HttpScript } from "../../support/http-script.js";
import { LEGACY, MODERN } from "../../support/server-script.js";

const prior = { era: "modern" as const, discovered: { supportedVersions: [MODERN], capabilities: { tools: {} } } };

/** A client that was told of a server which no longer is what it was, up to its second look at it. */
async function misled(t: TestContext, options: ClientOptions = {}) {
  const script = await new HttpScript().start();
  t.after(() => script.stop());
  const client = await connect(script.url, { prior, ...options });
  t.after(() => client.close());
  return { script, client };
}

test("a call that is given up while the server is asked anew what it speaks ends that too", async (t) => {
  const { script, client } = await misled(t);
  const abort = new AbortController();
  const call = client.callTool("any", {}, { signal: abort.signal });
  (await script.next("tools/call")).status(404);
  const probe = await script.next("server/discover");
  abort.abort("enough");
  await rejects(call, (reason) => reason === "enough");
  await probe.gone;
  equal(client.pending, 0);
});

test("the second look counts into the limits of the call", async (t) => {
  const clock = new FakeClock();
  const { script, client } = await misled(t, { clock, timeoutMs: Number.POSITIVE_INFINITY });
  const call = client.callTool("any", {}, { deadlineMs: 1000 });
  const first = await script.next("tools/call");
  clock.advance(400);
  first.status(404);
  const probe = await script.next("server/discover");
  clock.advance(600);
  await rejects(call, { name: "TimeoutError", kind: "deadline" });
  await probe.gone;
  equal(clock.pending, 0);
});

test("closing the client ends a second look", async (t) => {
  const { script, client } = await misled(t);
  const call = client.callTool("any");
  (await script.next("tools/call")).status(404);
  const probe = await script.next("server/discover");
  await Promise.all([client.close(), rejects(call, { name: "ConnectionError" }), probe.gone]);
});

test("the call goes on in the era found, under its own limits; interceptors see it once", async (t) => {
  const clock = new FakeClock();
  const seen: string[] = [];
  const { script, client } = await misled(t, {
    clock,
    timeoutMs: Number.POSITIVE_INFINITY,
    interceptors: [
      (call, next) => {
        seen.push(call.method);
        return next(call);
      },
    ],
  });
  const call = client.callTool("any", {}, { deadlineMs: 1000 });
  (await script.next("tools/call")).status(404);
  (await script.next("server/discover")).status(404);
  const serverInfo = { name: "script", version: "1" };
  (await script.next("initialize")).result({ protocolVersion: LEGACY, capabilities: {}, serverInfo });
  (await script.next("notifications/initialized")).status(202);
  (await script.next("GET")).status(405);
  await script.next("tools/call");
  equal(client.era, "legacy");
  clock.advance(1000);
  await rejects(call, { name: "TimeoutError", kind: "deadline" });
  deepEqual(seen, ["tools/call"]);
});

test("a session that is opened for a client which closes meanwhile is ended", async (t) => {
  const { script, client } = await misled(t);
  const call = client.callTool("any");
  (await script.next("tools/call")).status(404);
  (await script.next("server/discover")).status(404);
  const serverInfo = { name: "script", version: "1" };
  const headers = { "mcp-session-id": "session-0123456789" };
  (await script.next("initialize")).result({ protocolVersion: LEGACY, capabilities: {}, serverInfo }, headers);
  await script.next("notifications/initialized");
  const closed = client.close();
  await rejects(call, { name: "ConnectionError" });
  const end = await script.next("DELETE");
  equal(end.headers["mcp-session-id"], "session-0123456789");
  end.status(200);
  await closed;
});

/** Lets the server turn out to speak the other era. */
async function shakeHands(script: HttpScript, capabilities: object = { tools: { listChanged: true } }): Promise<void> {
  (await script.next("server/discover")).status(404);
  const serverInfo = { name: "script", version: "1" };
  (await script.next("initialize")).result({ protocolVersion: LEGACY, capabilities, serverInfo });
  (await script.next("notifications/initialized")).status(202);
  (await script.next("GET")).stream();
}

test("calls that are refused together share one second look", async (t) => {
  const { script, client } = await misled(t);
  const calls = ["a", "b", "c"].map((name) => client.callTool(name));
  const refused = [await script.next("tools/call"), await script.next("tools/call"), await script.next("tools/call")];
  for (const one of refused.slice(0, 2)) one.status(404);
  await shakeHands(script);
  const again = [await script.next("tools/call"), await script.next("tools/call")];
  // The last one is refused when everybody knows already.
  refused[2]?.status(404);
  again.push(await script.next("tools/call"));
  for (const one of again) one.result({ content: [{ type: "text", text: one.message.params.name }] });
  deepEqual(
    (await Promise.all(calls)).map(({ text }) => text),
    ["a", "b", "c"],
  );
  equal(script.all("server/discover").length, 1);
});

test("a call whose second look is given up leaves the others their own", async (t) => {
  const { script, client } = await misled(t);
  const abort = new AbortController();
  const first = client.callTool("first", {}, { signal: abort.signal });
  (await script.next("tools/call")).status(404);
  const probe = await script.next("server/discover");
  const second = client.callTool("second");
  (await script.next("tools/call")).status(404);
  await new Promise(setImmediate);
  abort.abort("enough");
  await rejects(first, (reason) => reason === "enough");
  await probe.gone;
  await shakeHands(script);
  (await script.next("tools/call")).result({ content: [] });
  equal((await second).isError, false);
});

test("the log level comes along to the era that the server speaks", async (t) => {
  const { script, client } = await misled(t);
  await client.setLogLevel("warning");
  const call = client.callTool("any");
  (await script.next("tools/call")).status(404);
  await shakeHands(script, { tools: {}, logging: {} });
  const level = await script.next("logging/setLevel");
  equal(level.message.params.level, "warning");
  level.result({});
  (await script.next("tools/call")).result({ content: [] });
  await call;
});

test("a watch that is refused is made in the era that the server speaks", async (t) => {
  const { script, client } = await misled(t);
  const watching = client.watch({ toolsListChanged: true });
  (await script.next("subscriptions/listen")).status(404);
  await shakeHands(script);
  await using watch = await watching;
  deepEqual(watch.honoured, { toolsListChanged: true });
});
