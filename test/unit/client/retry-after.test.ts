import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { ConnectionError, connect, type RetryOptions, RpcError, retry } from "bowline/client";
import { FakeClock } from "bowline/testing";
import { HttpScript, type Received } from "../../support/http-script.js";

const BUSY = { code: -32000, message: "Busy", data: { queue: 7 } };
type Refuse = (r: Received) => void;

const status =
  (code: number, retryAfter?: string): Refuse =>
  (r) => {
    r.response.writeHead(code, { "content-length": 0, ...(retryAfter && { "retry-after": retryAfter }) }).end();
  };

const rpc =
  (code: number, retryAfter?: string): Refuse =>
  (r) => {
    const body = JSON.stringify({ jsonrpc: "2.0", id: r.message.id, error: BUSY });
    const headers = { "content-type": "application/json", ...(retryAfter && { "retry-after": retryAfter }) };
    r.response.writeHead(code, headers).end(body);
  };

/** A client whose calls of tools are refused in turn, and then answered. */
async function refusing(t: TestContext, refusals: Refuse[], options?: RetryOptions) {
  const clock = new FakeClock();
  const script = await new HttpScript().start();
  t.after(() => script.stop());
  script.onRequest = (r) => {
    const refuse = refusals.shift();
    if (refuse !== undefined) refuse(r);
    else r.result({ resultType: "complete", content: [{ type: "text", text: "done" }] });
  };
  const interceptors = options === undefined ? [] : [retry({ clock, ...options })];
  const client = await connect(script.url, { versions: ["2026-07-28"], clock, interceptors });
  t.after(() => client.close());
  /** Makes a call and lets each wait between two attempts pass, as it is begun. */
  const run = async () => {
    let outcome: unknown;
    const waits: number[] = [];
    const call = client.callTool("t").then(
      ({ text }) => {
        outcome = text;
      },
      (error: unknown) => {
        outcome = error;
      },
    );
    while (outcome === undefined) {
      await new Promise((resolve) => setTimeout(resolve, 1));
      // Between two attempts nothing but the wait has a timer.
      if (outcome !== undefined || client.pending > 0 || clock.pending === 0) continue;
      waits.push(clock.delays.at(-1) as number);
      clock.advance(waits.at(-1) as number);
    }
    await call;
    return { outcome, waits, sent: script.received.length };
  };
  return { client, clock, script, run };
}

test("a refusal with a JSON-RPC body keeps its status and Retry-After", async (t) => {
  const { client } = await refusing(t, [rpc(503, "7"), rpc(429), rpc(400), rpc(200)]);
  const facts = async () => {
    const error: unknown = await client.callTool("t").catch((reason: unknown) => reason);
    ok(error instanceof RpcError, String(error));
    deepEqual([error.rpcCode, error.data], [BUSY.code, BUSY.data]);
    return [error.status, error.retryAfterMs, error.delivery, error.retrySafe];
  };
  deepEqual(await facts(), [503, 7000, "refused", true]);
  deepEqual(await facts(), [429, undefined, "refused", true]);
  deepEqual(await facts(), [400, undefined, "answered", false]);
  deepEqual(await facts(), [undefined, undefined, "answered", false]);
});

test("Retry-After is read as seconds and as a date; anything else is none", async (t) => {
  const now = new FakeClock().timeOfDay();
  const inTen = new Date(now + 10_000).toUTCString();
  const past = new Date(now - 10_000).toUTCString();
  const values = ["0", "12", inTen, past, "soon", "-1", "1.5"];
  const { client } = await refusing(
    t,
    values.map((value) => status(429, value)),
  );
  const read: unknown[] = [];
  for (const _ of values) {
    const error: unknown = await client.callTool("t").catch((reason: unknown) => reason);
    ok(error instanceof ConnectionError);
    read.push(error.retryAfterMs);
  }
  deepEqual(read, [0, 12_000, 10_000, 0, undefined, undefined, undefined]);
});

test("retry waits as long as the server asks, with either kind of refusal", async (t) => {
  for (const refuse of [status(429, "9"), rpc(429, "9"), rpc(503, "9")]) {
    const { run } = await refusing(t, [refuse, refuse], {});
    deepEqual(await run(), { outcome: "done", waits: [9000, 9000], sent: 3 });
  }
  const { run } = await refusing(t, [status(429), status(429, "0")], { delayMs: 100 });
  deepEqual(await run(), { outcome: "done", waits: [100, 200], sent: 3 });
});

test("a wait beyond maxRetryAfterMs, or beyond the deadline, is not begun", async (t) => {
  for (const [seconds, options] of [
    ["31", {}],
    ["6", { maxRetryAfterMs: 5000 }],
  ] as const) {
    const { run } = await refusing(t, [rpc(429, seconds)], options);
    const { outcome, waits, sent } = await run();
    ok(outcome instanceof RpcError);
    deepEqual([waits, sent], [[], 1]);
  }
  const { client, script } = await refusing(t, [rpc(429, "5")], {});
  await rejects(client.callTool("t", {}, { deadlineMs: 4000 }), { retryAfterMs: 5000 });
  equal(script.received.length, 1);
});

test("what may have run, and what will not pass, is not repeated for a tool that nobody knows", async (t) => {
  for (const refuse of [status(503, "1"), rpc(503), status(502), status(504), status(401), rpc(404), rpc(400, "1")]) {
    const { run } = await refusing(t, [refuse], {});
    const { outcome, sent } = await run();
    ok(outcome instanceof Error);
    equal(sent, 1);
  }
});

test("an attempt that may have run makes the call one that may have run, whatever becomes of later attempts", async () => {
  const clock = new FakeClock();
  const outcomes = ["sent", "not_sent"] as const;
  let attempt = 0;
  const call = { method: "prompts/get", params: undefined, options: {} };
  const called = retry({ clock, attempts: 2 })(call, async () => {
    throw new ConnectionError("lost", { delivery: outcomes[attempt++] });
  });
  while (clock.pending === 0) await new Promise(setImmediate);
  clock.advance(200);
  await rejects(Promise.resolve(called), { delivery: "sent", retrySafe: false });
  equal(attempt, 2);
});

test("a call whose process is gone is repeated if it only reads", async () => {
  for (const [method, attempts] of [
    ["resources/read", 2],
    ["tools/call", 1],
  ] as const) {
    const clock = new FakeClock();
    const call = { method, params: { name: "t" }, options: {} };
    let made = 0;
    const called = Promise.resolve(
      retry({ clock })(call, async () => {
        if (++made > 1) return {};
        throw new RpcError(-32006, "the process is gone");
      }),
    );
    const outcome = called.then(
      () => "answered",
      () => "failed",
    );
    if (attempts > 1) while (clock.pending === 0) await new Promise(setImmediate);
    clock.advance(200);
    deepEqual([await outcome, made], [attempts > 1 ? "answered" : "failed", attempts]);
  }
});

test("a deadline that passes in a later attempt is told as it was given", async (t) => {
  const { client, clock, script } = await refusing(t, [status(503, "1"), () => {}], {});
  const call = client.listTools(undefined, { deadlineMs: 3000, timeoutMs: Number.POSITIVE_INFINITY });
  const failed = rejects(call, { name: "TimeoutError", afterMs: 3000, message: /within 3000 ms \(deadlineMs\)$/ });
  while (script.received.length < 1 || client.pending > 0 || clock.pending === 0) await new Promise(setImmediate);
  clock.advance(clock.delays.at(-1) as number);
  while (script.received.length < 2) await new Promise(setImmediate);
  clock.advance(3000);
  await failed;
});
