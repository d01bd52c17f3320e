import { equal, match, ok, rejects } from "node:assert/strict";
import { once } from "node:events";
import { createServer as createHttpServer } from "node:http";
import type { AddressInfo, Server } from "node:net";
import { test } from "node:test";
import { createServer as createTlsServer } from "node:tls";
import { connect } from "bowline/client";
import { systemClock } from "#src/call/clock.js";
import { noResponse, readErrorResponse, statusError } from "#src/http/client/failures.js";
import { readExcerpt } from "#src/http/client/read.js";
import { FakeClock } from "../../../support/fake-clock.js";
import { legacyWorld, modernWorld, settled } from "../../../support/http-transports.js";

const life = new AbortController();

test("only a failure to connect proves that nothing was sent", () => {
  const failed = (cause: object) =>
    noResponse("x", new TypeError("fetch failed", { cause: Object.assign(new Error("why"), cause) }));
  for (const code of ["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "UND_ERR_CONNECT_TIMEOUT"]) {
    equal(failed({ code }).delivery, "not_sent");
  }
  equal(failed({ code: "ETIMEDOUT", syscall: "connect" }).delivery, "not_sent");
  for (const code of ["ECONNRESET", "EPIPE", "UND_ERR_SOCKET", "UND_ERR_HEADERS_TIMEOUT"]) {
    equal(failed({ code }).delivery, "sent");
    equal(failed({ code }).retrySafe, false);
  }
  match(noResponse("ping", undefined).message, /^ping: no response/);
  equal(noResponse("x", "text").delivery, "sent");
});

test("a refusal shows a short piece of its body, on one line", async () => {
  const refusal = await readErrorResponse(
    new Response(`a\r\n\tb\u0000${"c".repeat(1000)}`, { status: 502 }),
    life,
    systemClock,
  );
  equal(refusal.excerpt, `a b ${"c".repeat(196)}...`);
  equal(refusal.rpcError, undefined);
  match(statusError("tools/call", refusal).message, /^tools\/call: the server answered with HTTP status 502: a b c/);
});

test("a redirect that is not followed says where it leads, without a query or credentials", async () => {
  const moved: readonly [string, string][] = [
    ["https://me:pw@other.example/mcp?token=secret#x", "https://other.example/mcp"],
    ["/login?token=secret", "/login"],
  ];
  for (const [location, shown] of moved) {
    const refusal = await readErrorResponse(
      new Response(null, { status: 308, headers: { location } }),
      life,
      systemClock,
    );
    const { message } = statusError("initialize", refusal);
    match(message, /^initialize: the server answered with HTTP status 308; the redirect to /);
    ok(message.includes(`the redirect to ${shown} is not followed: connect to it if you trust it`), message);
  }
  const bare = await readErrorResponse(new Response(null, { status: 304 }), life, systemClock);
  equal(statusError("x", bare).message, "x: the server answered with HTTP status 304");
});

test("a client tells of the other scheme where only one side speaks TLS", async (t) => {
  const plain = createHttpServer((_, response) => response.end());
  const secure = createTlsServer({});
  const servers: readonly [string, string, Server][] = [
    ["https", "http", plain],
    ["http", "https", secure],
  ];
  for (const [used, spoken, server] of servers) {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    t.after(() => server.close());
    const url = `${used}://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`;
    for (const era of ["modern", "legacy"] as const) {
      for (const options of [{ era }, { era, fetch: (at: URL, init: RequestInit) => fetch(at, init) }]) {
        // The hint comes before the reason, which may be long.
        const message = new RegExp(`: no response from the server; does the server use ${spoken}://\\? \\(.+\\)$`);
        await rejects(connect(url, options), { name: "ConnectionError", delivery: "sent", message });
      }
    }
  }
});

test("a body that never ends is let go of", async () => {
  let cancelled = false;
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(16_384).fill(120)),
    cancel: () => {
      cancelled = true;
    },
  });
  const refusal = await readErrorResponse(new Response(body, { status: 500 }), life, systemClock);
  equal(refusal.excerpt.length, 203);
  equal(cancelled, true);
});

test("an excerpt has at most the bytes that are allowed, and nothing is read beyond them", async () => {
  for (const [sizes, read] of [
    [[10], 1],
    [[4, 6], 1],
    [[3, 6, 6], 2],
  ] as const) {
    let chunks = 0;
    const body = new ReadableStream<Uint8Array>(
      {
        pull: (controller) => {
          const size = sizes[chunks++] ?? 0;
          if (size > 0) controller.enqueue(new Uint8Array(size).fill(120));
          else controller.close();
        },
      },
      { highWaterMark: 0 },
    );
    equal(await readExcerpt(new Response(body), 4, 1000, life, systemClock), "xxxx");
    equal(chunks, read, String(sizes));
  }
});

test("503 is a refusal only with a JSON-RPC error and the time of the next attempt", async () => {
  const error = JSON.stringify({ jsonrpc: "2.0", id: 1, error: { code: -32000, message: "busy" } });
  const deliveryOf = async (body: string, headers: Record<string, string>) =>
    (await readErrorResponse(new Response(body, { status: 503, headers }), life, systemClock)).delivery;
  equal(await deliveryOf(error, { "retry-after": "1" }), "refused");
  equal(await deliveryOf(error, {}), "sent");
  equal(await deliveryOf("busy", { "retry-after": "1" }), "sent");
});

test("a status that a server of MCP does not send casts doubt on the address, and 401 names the remedy", () => {
  const told = (status: number) =>
    statusError("initialize", { status, retryAfterMs: undefined, delivery: "refused", excerpt: "" }).message;
  for (const status of [404, 405]) match(told(status), /URL of an MCP server/);
  match(told(401), /oauth/);
  for (const status of [400, 403, 500]) match(told(status), new RegExp(`HTTP status ${status}$`));
});

for (const era of ["modern", "legacy"] as const) {
  for (const direct of [true, false]) {
    test(`an error response that never ends keeps its status (${era}, ${direct ? "direct" : "by fetch"})`, async (t) => {
      const clock = new FakeClock();
      const options = direct ? { clock } : { clock, fetch: (url: URL, init: RequestInit) => fetch(url, init) };
      const { script, call } = era === "modern" ? await modernWorld(t, options) : await legacyWorld(t, options);
      for (const [status, body, expected] of [
        [502, "begun", { name: "ConnectionError", status: 502, message: /HTTP status 502: begun/ }],
        [500, "", { name: "ConnectionError", status: 500 }],
      ] as const) {
        const answered = call();
        const { response } = await script.next("tools/call");
        response.writeHead(status, { "content-type": "text/plain" });
        response.flushHeaders();
        response.write(body);
        const timers = clock.delays.length;
        await clock.started(timers + 1);
        // What was written has come by then, or is on its way.
        await settled();
        clock.advance(999);
        await settled();
        clock.advance(1);
        await rejects(answered, expected);
        equal(clock.pending, 0);
      }
    });
  }
}

test("a JSON-RPC error whose response never ends answers the call", async (t) => {
  const clock = new FakeClock();
  const { script, call } = await modernWorld(t, { clock });
  const answered = call();
  const { response, message } = await script.next("tools/call");
  response.writeHead(404, { "content-type": "application/json" });
  response.write(JSON.stringify({ jsonrpc: "2.0", id: message.id, error: { code: -32601, message: "no" } }));
  await clock.started(1);
  await settled();
  clock.advance(1000);
  const got = await answered;
  equal("error" in got && got.error.code, -32601);
});

test("a refused notification whose response never ends is reported", async (t) => {
  const clock = new FakeClock();
  const { script, link, told } = await modernWorld(t, { clock });
  const sent = link.notify("notifications/x", undefined);
  const { response } = await script.next("notifications/x");
  response.writeHead(500, { "content-type": "text/plain" });
  response.flushHeaders();
  await clock.started(1);
  clock.advance(1000);
  await sent;
  match(String(told.problems[0]), /HTTP status 500/);
});
