import { equal, match } from "node:assert/strict";
import { test } from "node:test";
import { noResponse, readErrorResponse, statusError } from "#src/http/client/failures.js";

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
  const refusal = await readErrorResponse(new Response(`a\r\n\tb\u0000${"c".repeat(1000)}`, { status: 502 }), life);
  equal(refusal.excerpt, `a b ${"c".repeat(196)}...`);
  equal(refusal.rpcError, undefined);
  match(statusError("tools/call", refusal).message, /^tools\/call: the server answered with HTTP status 502: a b c/);
});

test("a body that never ends is let go of", async () => {
  let cancelled = false;
  const body = new ReadableStream<Uint8Array>({
    pull: (controller) => controller.enqueue(new Uint8Array(16_384).fill(120)),
    cancel: () => {
      cancelled = true;
    },
  });
  const refusal = await readErrorResponse(new Response(body, { status: 500 }), life);
  equal(refusal.excerpt.length, 203);
  equal(cancelled, true);
});
