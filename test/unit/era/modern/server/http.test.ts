import { deepEqual, equal, match, ok } from "node:assert/strict";
import { before, suite, test } from "node:test";
import { modernServer } from "#src/era/modern/server/era.js";
import type { Call, HttpBinding, HttpBindingOptions } from "#src/era/server-era.js";
import { ConnectionError, RpcError } from "#src/protocol/errors.js";
import { parseFrame } from "#src/protocol/jsonrpc/parse.js";
import { HttpEndpoint } from "#src/server/transports/http.js";
import { type ArrayExchange, createArrayExchange } from "#src/testing/array-exchange.js";
import { FakeServerHost } from "../../../../support/fake-server-host.js";
import { modernRequest, type RequestInit, sseMessages } from "../../../../support/modern-request.js";

const KEEP_ALIVE = 15_000;
const options: HttpBindingOptions = {
  sessions: false,
  keepAliveMs: KEEP_ALIVE,
};

interface Endpoint {
  readonly host: FakeServerHost;
  readonly binding: HttpBinding;
  send(method: string, init?: RequestInit): ArrayExchange;
  sendBody(body: unknown, headers?: Record<string, string | undefined>): ArrayExchange;
}

function createEndpoint(change: Partial<HttpBindingOptions> = {}): Endpoint {
  const host = new FakeServerHost();
  const binding = modernServer.http(host, { ...options, ...change }) as HttpBinding;
  const sendBody = (body: unknown, headers?: Record<string, string | undefined>) => {
    const exchange = createArrayExchange({ headers: { ...modernRequest("x").headers, ...headers } });
    binding.serve(exchange, parseFrame(JSON.stringify(body)));
    return exchange;
  };
  const send = (method: string, init?: RequestInit) => {
    const { body, headers } = modernRequest(method, init);
    return sendBody(body, headers);
  };
  return { host, binding, send, sendBody };
}

const callEcho: RequestInit = { params: { name: "echo", arguments: {} } };
const text = (value: string) => ({ content: [{ type: "text", text: value }] });

async function answerOf(
  exchange: ArrayExchange,
): Promise<{ status: number | undefined; body: Record<string, unknown> }> {
  await exchange.done;
  return { status: exchange.status, body: JSON.parse(exchange.body()) as Record<string, unknown> };
}

async function faultOf(exchange: ArrayExchange): Promise<[status: number | undefined, code: unknown, id: unknown]> {
  const { status, body } = await answerOf(exchange);
  return [status, (body.error as { code: number } | undefined)?.code, body.id];
}

/** A call that waits until told. */
function hold(host: FakeServerHost, method = "tools/call") {
  let release!: () => void;
  let begun!: (call: Call) => void;
  const started = new Promise<Call>((resolve) => {
    begun = resolve;
  });
  const held = new Promise<void>((resolve) => {
    release = resolve;
  });
  host.on(method, async (call) => {
    begun(call);
    await held;
    return text("done");
  });
  return { started, release };
}

suite("the answer's form", () => {
  test("a silent call is answered as one JSON document, without a timer", async () => {
    const { host, send } = createEndpoint({ keepAliveMs: 0 });
    host.on("tools/call", () => text("hi"));
    const exchange = send("tools/call", callEcho);
    const { status, body } = await answerOf(exchange);
    equal(status, 200);
    equal(exchange.headers["content-type"], "application/json");
    deepEqual((body.result as Record<string, unknown>).content, text("hi").content);
    equal(host.clock.pending, 0);
  });

  test("the first notification makes it a stream that ends with the answer", async () => {
    const { host, send } = createEndpoint();
    host.on("tools/call", async (call) => {
      await call.notify("notifications/progress", { progressToken: 1, progress: 1 });
      await call.notify("notifications/progress", { progressToken: 1, progress: 2 });
      return text("hi");
    });
    const exchange = send("tools/call", callEcho);
    await exchange.done;
    equal(exchange.status, 200);
    equal(exchange.headers["content-type"], "text/event-stream");
    equal(exchange.headers["x-accel-buffering"], "no");
    const messages = sseMessages(exchange.body());
    deepEqual(
      messages.map((message) => message.method),
      ["notifications/progress", "notifications/progress", undefined],
    );
    equal(messages[2]?.id, 1);
    ok(!/^(id|retry|event):/m.test(exchange.body()));
  });

  test("a client that takes no stream gets JSON and no notifications", async () => {
    const { host, send } = createEndpoint();
    host.on("tools/call", async (call) => {
      await call.notify("notifications/progress", { progressToken: 1, progress: 1 });
      return text("hi");
    });
    const { status, body } = await answerOf(
      send("tools/call", { ...callEcho, headers: { accept: "application/json" } }),
    );
    equal(status, 200);
    equal(body.id, 1);
  });

  test("a client that takes only a stream gets one", async () => {
    const { host, send } = createEndpoint();
    host.on("tools/call", () => text("hi"));
    const exchange = send("tools/call", { ...callEcho, headers: { accept: "text/event-stream" } });
    await exchange.done;
    equal(exchange.headers["content-type"], "text/event-stream");
    equal(sseMessages(exchange.body()).length, 1);
  });

  test("a notification of another call is not written", async () => {
    const { host, send } = createEndpoint();
    host.on("tools/call", async (call) => {
      await call.wire.notify(undefined, "notifications/tools/list_changed", {});
      return text("hi");
    });
    const exchange = send("tools/call", callEcho);
    await exchange.done;
    equal(exchange.headers["content-type"], "application/json");
  });

  test("an error after the stream has begun is its last event", async () => {
    const { host, send } = createEndpoint();
    host.on("tools/call", async (call) => {
      await call.notify("notifications/progress", { progressToken: 1, progress: 1 });
      throw new RpcError(-32021, "needs sampling", { requiredCapabilities: { sampling: {} } });
    });
    const exchange = send("tools/call", callEcho);
    await exchange.done;
    equal(exchange.status, 200);
    const last = sseMessages(exchange.body()).at(-1);
    deepEqual(last?.error, {
      code: -32021,
      message: "needs sampling",
      data: { requiredCapabilities: { sampling: {} } },
    });
  });

  test("a request to the client cannot be sent", async () => {
    const { host, send } = createEndpoint();
    let refused: unknown;
    host.on("tools/call", async (call) => {
      refused = await call.wire.request(call, "roots/list", {}, undefined as never).catch((error: unknown) => error);
      return text("hi");
    });
    await send("tools/call", callEcho).done;
    match((refused as Error).message, /no requests/);
  });
});

test("nothing is written for a call after its answer", async () => {
  const { host, send } = createEndpoint();
  host.on("tools/call", () => text("hi"));
  const exchange = send("tools/call", callEcho);
  await exchange.done;
  const call = host.calls[0] as Call;
  await call.wire.notify(call, "notifications/progress", { progressToken: 1, progress: 1 });
  equal(exchange.chunks.length, 1);
});

suite("refusals", () => {
  const mismatch = (headers: Record<string, string | undefined>, init: RequestInit = callEcho) => ({
    ...init,
    headers,
  });

  for (const [what, init, status, code] of [
    ["nothing acceptable", mismatch({ accept: "text/html" }), 406, -32600],
    ["no version header", mismatch({ "mcp-protocol-version": undefined }), 400, -32020],
    ["another known version in the header", mismatch({ "mcp-protocol-version": "2025-11-25" }), 400, -32020],
    ["an unknown version in the header", mismatch({ "mcp-protocol-version": "v999.0.0" }), 400, -32020],
    ["no method header", mismatch({ "mcp-method": undefined }), 400, -32020],
    ["another method in the header", mismatch({ "mcp-method": "tools/list" }), 400, -32020],
    ["the method in other case", mismatch({ "mcp-method": "TOOLS/CALL" }), 400, -32020],
    ["no name header", mismatch({ "mcp-name": undefined }), 400, -32020],
    ["another name in the header", mismatch({ "mcp-name": "other" }), 400, -32020],
    ["a name header that came twice", mismatch({ "mcp-name": "echo, echo" }), 400, -32020],
    ["broken base64 in the name header", mismatch({ "mcp-name": "=?base64?ZWNobw?=" }), 400, -32020],
    ["loose bits in the name header's base64", mismatch({ "mcp-name": "=?base64?ZWNob==?=" }), 400, -32020],
    ["a no-break space around the name header", mismatch({ "mcp-name": "\u00a0echo" }), 400, -32020],
  ] as const) {
    test(`${what}: ${status}, ${code}`, async () => {
      const { host, send } = createEndpoint();
      host.on("tools/call", () => text("hi"));
      for (const id of [7, "7"]) {
        const exchange = send("tools/call", { ...init, id });
        deepEqual(await faultOf(exchange), [status, code, id]);
      }
      equal(host.calls.length, 0);
      equal(host.reports.length, 2);
    });
  }

  for (const [what, meta] of [
    ["no version", { "io.modelcontextprotocol/protocolVersion": undefined }],
    ["no capabilities", { "io.modelcontextprotocol/clientCapabilities": undefined }],
    ["capabilities of the wrong type", { "io.modelcontextprotocol/clientCapabilities": "all" }],
  ] as const) {
    test(`${what} in _meta: 400, -32602, also when headers are wrong`, async () => {
      const { host, send } = createEndpoint();
      host.on("tools/call", () => text("hi"));
      deepEqual(await faultOf(send("tools/call", { ...callEcho, meta })), [400, -32602, 1]);
      deepEqual(
        await faultOf(send("tools/call", { ...callEcho, meta, headers: { "mcp-method": "x" } })),
        [400, -32602, 1],
      );
      equal(host.calls.length, 0);
    });
  }

  test("an unsupported version lists the supported ones, after headers agree", async () => {
    const { send } = createEndpoint();
    const meta = { "io.modelcontextprotocol/protocolVersion": "v999.0.0" };
    const { status, body } = await answerOf(
      send("tools/list", { meta, headers: { "mcp-protocol-version": "v999.0.0" } }),
    );
    equal(status, 400);
    const error = body.error as { code: number; data: unknown };
    equal(error.code, -32022);
    deepEqual(error.data, { supported: ["2026-07-28", "2025-11-25"], requested: "v999.0.0" });
    deepEqual(await faultOf(send("tools/list", { meta })), [400, -32020, 1]);
  });

  test("an unknown method is 404, -32601, unless its headers are wrong", async () => {
    const { send } = createEndpoint();
    for (const method of ["ping", "initialize", "toString", "unknown/method"]) {
      deepEqual(await faultOf(send(method, { id: "a" })), [404, -32601, "a"]);
    }
    deepEqual(await faultOf(send("unknown/method", { headers: { "mcp-method": undefined } })), [400, -32020, 1]);
  });

  test("bad params are 400, -32602; a name that the body lacks is no header mismatch", async () => {
    const { host, send } = createEndpoint();
    host.on("tools/call", () => text("hi"));
    deepEqual(await faultOf(send("tools/call", { params: { arguments: {} } })), [400, -32602, 1]);
  });

  test("a handshake learns the versions; under a header of this era it is a mismatch", async () => {
    const { sendBody } = createEndpoint();
    const body = { jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: "2025-11-25" } };
    const old = await answerOf(sendBody(body, { "mcp-protocol-version": undefined }));
    equal(old.status, 400);
    deepEqual((old.body.error as { data: unknown }).data, {
      supported: ["2026-07-28", "2025-11-25"],
      requested: "2025-11-25",
    });
    deepEqual(await faultOf(sendBody(body)), [400, -32020, 1]);
  });

  test("a handler's error is in band, whatever its code", async () => {
    const { host, send } = createEndpoint();
    for (const code of [-32601, -32602, -32603, 42]) {
      host.on("tools/call", () => {
        throw new RpcError(code, "own", { a: 1 });
      });
      const { status, body } = await answerOf(send("tools/call", callEcho));
      equal(status, 200);
      deepEqual(body.error, { code, message: "own", data: { a: 1 } });
    }
  });

  test("a missing capability is 400 before anything was streamed", async () => {
    const { host, send } = createEndpoint();
    host.on("tools/call", () => {
      throw new RpcError(-32021, "needs sampling", { requiredCapabilities: { sampling: {} } });
    });
    deepEqual(await faultOf(send("tools/call", callEcho)), [400, -32021, 1]);
  });

  test("responses, batches and broken messages are 400, -32600", async () => {
    const { sendBody } = createEndpoint();
    deepEqual(await faultOf(sendBody({ jsonrpc: "2.0", id: 1, result: {} })), [400, -32600, undefined]);
    deepEqual(await faultOf(sendBody({ jsonrpc: "2.0", id: 1, error: { code: 1, message: "" } })), [
      400,
      -32600,
      undefined,
    ]);
    deepEqual(await faultOf(sendBody([modernRequest("tools/list").body])), [400, -32600, undefined]);
    deepEqual(await faultOf(sendBody({ jsonrpc: "2.0", id: 9, method: 1 })), [400, -32600, 9]);
  });

  test("a method without a body is 405 and names POST", async () => {
    const { binding } = createEndpoint();
    const exchange = createArrayExchange({ method: "GET" });
    binding.serve(exchange, undefined);
    equal(exchange.status, 405);
    equal(exchange.headers.allow, "POST");
  });

  test("an exception of the host ends in 500 for this exchange alone", async () => {
    const host = new FakeServerHost();
    host.paramHeaders = () => {
      throw new Error("secret");
    };
    const { headers, body } = modernRequest("tools/call", callEcho);
    const exchange = createArrayExchange({ headers, body });
    new HttpEndpoint(host, [modernServer], {}, async () => {}).serve(exchange);
    await exchange.done;
    deepEqual(await faultOf(exchange), [500, -32603, 1]);
    ok(!exchange.body().includes("secret"));
    match(String(host.reports[0]?.error), /secret/);
  });
});

suite("headers that agree", () => {
  test("white space around values and base64 names are understood", async () => {
    const { host, send } = createEndpoint();
    host.on("tools/call", (call) => text(String(call.params.name)));
    for (const [name, header] of [
      ["echo", " echo\t"],
      ["echo", `${" ".repeat(65_536)}echo`],
      [`a${" ".repeat(65_536)}b`, `\t a${" ".repeat(65_536)}b`],
      ["echo", "=?base64?ZWNobw==?="],
      ["wörld", "=?base64?d8O2cmxk?="],
      ["=?BASE64?ZWNobw==?=", "=?BASE64?ZWNobw==?="],
      ["=?base64?ZWNobw==", "=?base64?ZWNobw=="],
      ["ZWNobw==?=", "ZWNobw==?="],
    ] as const) {
      const exchange = send("tools/call", {
        params: { name },
        headers: { "mcp-name": header, "mcp-method": " tools/call ", "mcp-protocol-version": "2026-07-28 " },
      });
      await exchange.done;
      equal(exchange.status, 200, header);
    }
  });

  test("a value that looks encoded is decoded, even if the body holds it literally", async () => {
    const { host, send } = createEndpoint();
    host.on("tools/call", () => text("hi"));
    const name = "=?base64?ZWNobw==?=";
    deepEqual(await faultOf(send("tools/call", { params: { name }, headers: { "mcp-name": name } })), [400, -32020, 1]);
  });

  test("a plain header outside ASCII is malformed, even if the body holds the same", async () => {
    const { host, send } = createEndpoint();
    host.on("tools/call", () => text("hi"));
    deepEqual(
      await faultOf(send("tools/call", { params: { name: "é" }, headers: { "mcp-name": "é" } })),
      [400, -32020, 1],
    );
  });

  test("mirrored arguments must have their headers, and only they", async () => {
    const { host, send } = createEndpoint();
    host.on("tools/call", () => text("hi"));
    host.mirrored.set("echo", [
      { name: "Mcp-Param-Region", path: ["filter", "region"], type: "string" },
      { name: "Mcp-Param-Count", path: ["count"], type: "integer" },
      { name: "Mcp-Param-Dry", path: ["dry"], type: "boolean" },
    ]);
    const status = async (args: unknown, headers: Record<string, string>) => {
      const exchange = send("tools/call", { params: { name: "echo", arguments: args }, headers });
      await exchange.done;
      return exchange.status;
    };
    const region = { filter: { region: "eu" } };
    equal(await status(region, { "mcp-param-region": "eu", "mcp-param-other": "x" }), 200);
    equal(await status(region, { "mcp-param-region": "=?base64?ZXU=?=" }), 200);
    equal(await status({ region: "eu" }, {}), 200);
    equal(await status({ filter: { region: null } }, {}), 200);
    equal(await status(region, { "mcp-param-region": "us" }), 400);
    equal(await status(region, {}), 400);
    equal(await status({}, { "mcp-param-region": "eu" }), 400);
    equal(await status({ count: 42 }, { "mcp-param-count": "42.0" }), 200);
    for (const wrong of ["0x2A", "4.2e1", "43", "42.5"])
      equal(await status({ count: 42 }, { "mcp-param-count": wrong }), 400);
    equal(await status({ count: 2 ** 53 }, { "mcp-param-count": "9007199254740993" }), 400);
    equal(await status({ count: 0 }, {}), 400);
    equal(await status({ dry: false }, { "mcp-param-dry": "false" }), 200);
    for (const wrong of ["False", "0", "true"]) equal(await status({ dry: false }, { "mcp-param-dry": wrong }), 400);
  });
});

suite("notifications", () => {
  const cancelled = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } };

  test("are accepted with 202 and no body; a cancellation has no effect", async () => {
    const { host, send, sendBody } = createEndpoint();
    const { started, release } = hold(host);
    const running = send("tools/call", callEcho);
    const call = await started;
    const exchange = sendBody(cancelled, { "mcp-method": undefined });
    equal(exchange.status, 202);
    equal(exchange.body(), "");
    ok(!call.end.aborted);
    equal(host.received.length, 0);
    release();
    equal((await answerOf(running)).status, 200);
  });

  test("reach the author's handlers when they are custom", () => {
    const { host, sendBody } = createEndpoint();
    equal(sendBody({ jsonrpc: "2.0", method: "x/custom" }, { "mcp-method": "x/custom" }).status, 202);
    deepEqual(
      host.received.map((notification) => notification.method),
      ["x/custom"],
    );
  });

  test("are refused without an id when a header lies or the version is not served", async () => {
    const { host, sendBody } = createEndpoint();
    deepEqual(await faultOf(sendBody(cancelled, { "mcp-method": "tools/call" })), [400, -32020, undefined]);
    const claimed = { ...cancelled, params: { _meta: { "io.modelcontextprotocol/protocolVersion": "2099-01-01" } } };
    const headers = { "mcp-method": undefined, "mcp-protocol-version": "2099-01-01" };
    deepEqual(await faultOf(sendBody(claimed, headers)), [400, -32022, undefined]);
    deepEqual(await faultOf(sendBody(claimed, { "mcp-method": undefined })), [400, -32020, undefined]);
    equal(host.received.length, 0);
  });
});

suite("cancellation", () => {
  test("a client that leaves aborts its call, and nothing is written afterwards", async () => {
    const { host, send } = createEndpoint();
    const { started, release } = hold(host);
    const exchange = send("tools/call", callEcho);
    const call = await started;
    exchange.disconnect();
    ok(call.end.reason instanceof ConnectionError);
    await call.wire.notify(call, "notifications/progress", { progressToken: 1, progress: 1 });
    release();
    await exchange.done;
    equal(exchange.status, undefined);
    deepEqual(exchange.chunks, []);
  });

  test("calls with the same id do not touch each other", async () => {
    const { host, send } = createEndpoint();
    const { started, release } = hold(host);
    const first = send("tools/call", callEcho);
    await started;
    const second = send("tools/call", callEcho);
    first.disconnect();
    release();
    equal((await answerOf(second)).status, 200);
    deepEqual(
      host.calls.map((call) => call.end.aborted),
      [true, false],
    );
  });

  test("an answered call is not aborted when the client leaves later", async () => {
    const { host, send } = createEndpoint();
    host.on("tools/call", () => text("hi"));
    const exchange = send("tools/call", callEcho);
    await exchange.done;
    exchange.disconnect();
    equal(host.calls[0]?.end.aborted, false);
  });
});

suite("subscriptions", () => {
  const filter: RequestInit = { id: "sub", params: { notifications: { toolsListChanged: true } } };
  const KEY = "io.modelcontextprotocol/subscriptionId";

  // What serves subscriptions is loaded with the first of a process.
  before(async () => {
    const exchange = createEndpoint().send("subscriptions/listen", filter);
    while (!exchange.answered) await new Promise(setImmediate);
    exchange.disconnect();
  });

  test("are streams from the first, whatever the endpoint prefers", async () => {
    const { host, send } = createEndpoint({ responseMode: "prefer-json" });
    const exchange = send("subscriptions/listen", filter);
    await Promise.resolve();
    equal(exchange.headers["content-type"], "text/event-stream");
    host.changes.publish({ kind: "tools" });
    host.changes.publish({ kind: "prompts" });
    const messages = sseMessages(exchange.body());
    deepEqual(
      messages.map((message) => message.method),
      ["notifications/subscriptions/acknowledged", "notifications/tools/list_changed"],
    );
    for (const message of messages) equal((message.params as { _meta: Record<string, unknown> })._meta[KEY], "sub");
  });

  test("are 406 for a client that takes no stream", async () => {
    const { send } = createEndpoint();
    const refused = { ...filter, headers: { accept: "application/json, text/event-stream;q=0" } };
    deepEqual(await faultOf(send("subscriptions/listen", refused)), [406, -32600, "sub"]);
  });

  test("with bad params are refused with a status", async () => {
    const { send } = createEndpoint();
    deepEqual(await faultOf(send("subscriptions/listen", { params: { notifications: 1 } })), [400, -32602, 1]);
  });

  test("let go when the client leaves", async () => {
    const { host, send } = createEndpoint();
    const exchange = send("subscriptions/listen", filter);
    await Promise.resolve();
    equal(host.changes.listeners, 1);
    const written = exchange.chunks.length;
    exchange.disconnect();
    equal(host.changes.listeners, 0);
    host.changes.publish({ kind: "tools" });
    equal(exchange.chunks.length, written);
  });
});

suite("keep-alive", () => {
  const comments = (exchange: ArrayExchange) => exchange.chunks.filter((chunk) => chunk.startsWith(":")).length;

  test("a silent stream gets a comment per interval, and none after its end", async () => {
    const { host, send } = createEndpoint();
    const exchange = send("subscriptions/listen", { params: { notifications: { toolsListChanged: true } } });
    await Promise.resolve();
    host.clock.advance(KEEP_ALIVE - 1);
    equal(comments(exchange), 0);
    host.clock.advance(1);
    equal(comments(exchange), 1);
    host.clock.advance(10_000);
    host.changes.publish({ kind: "tools" });
    host.clock.advance(KEEP_ALIVE - 1);
    equal(comments(exchange), 1);
    host.clock.advance(1);
    equal(comments(exchange), 2);
    exchange.disconnect();
    host.clock.advance(KEEP_ALIVE);
    equal(comments(exchange), 2);
    equal(host.clock.pending, 0);
  });

  test("a reader that is behind gets no comments on top", async () => {
    const { host, send } = createEndpoint();
    const exchange = send("subscriptions/listen", { params: { notifications: { toolsListChanged: true } } });
    await Promise.resolve();
    exchange.pause();
    host.changes.publish({ kind: "tools" });
    host.clock.advance(KEEP_ALIVE * 3);
    equal(comments(exchange), 0);
    exchange.resume();
    host.clock.advance(KEEP_ALIVE);
    equal(comments(exchange), 1);
  });

  test("a call silent for so long becomes a stream", async () => {
    const { host, send } = createEndpoint();
    const { started, release } = hold(host);
    const exchange = send("tools/call", callEcho);
    await started;
    host.clock.advance(KEEP_ALIVE);
    equal(exchange.headers["content-type"], "text/event-stream");
    equal(comments(exchange), 1);
    release();
    await exchange.done;
    equal(sseMessages(exchange.body()).at(-1)?.id, 1);
  });

  test("an endpoint that prefers JSON, and a client that takes no stream, wait for the answer", async () => {
    for (const [change, accept] of [
      [{ responseMode: "prefer-json" }, "application/json, text/event-stream"],
      [{}, "application/json"],
    ] as const) {
      const { host, send } = createEndpoint(change);
      const { started, release } = hold(host);
      const exchange = send("tools/call", { ...callEcho, headers: { accept } });
      await started;
      host.clock.advance(KEEP_ALIVE * 3);
      equal(exchange.status, undefined);
      release();
      equal((await answerOf(exchange)).status, 200);
    }
  });

  test("0 and intervals beyond timers switch it off", async () => {
    for (const keepAliveMs of [0, 2 ** 31, Number.POSITIVE_INFINITY]) {
      const { host, send } = createEndpoint({ keepAliveMs });
      send("subscriptions/listen", { params: { notifications: { toolsListChanged: true } } });
      await Promise.resolve();
      equal(host.clock.pending, 0);
    }
  });
});

suite("slow readers", () => {
  test("the sender waits for the reader, and for nobody who has gone", async () => {
    const { host, send } = createEndpoint();
    const { started } = hold(host);
    const exchange = send("tools/call", callEcho);
    const call = await started;
    exchange.pause();
    let caughtUp = false;
    const first = Promise.resolve(call.notify("a", {})).then(() => {
      caughtUp = true;
    });
    await Promise.resolve();
    equal(caughtUp, false);
    exchange.resume();
    await first;
    exchange.pause();
    const second = call.notify("b", {});
    exchange.disconnect();
    await second;
    equal(caughtUp, true);
  });

  test("a stream too far behind is ended, and others go on", async () => {
    const { host, send } = createEndpoint();
    host.limits = { ...host.limits, maxBehind: 1000 };
    const { started } = hold(host);
    const stalled = send("tools/call", callEcho);
    const call = await started;
    const healthy = send("subscriptions/listen", { id: 2, params: { notifications: { toolsListChanged: true } } });
    await Promise.resolve();
    stalled.pause();
    for (let n = 0; n < 20; n++) {
      call.notify("a", { data: "x".repeat(100) });
      host.changes.publish({ kind: "tools" });
    }
    await stalled.done;
    equal(call.end.aborted, true);
    ok(stalled.body().length < 2000);
    equal(sseMessages(healthy.body()).length, 21);
  });
});

suite("closing", () => {
  test("answers running calls with 503, ends streams, and lets subscriptions have their last word", async () => {
    const { host, binding, send } = createEndpoint();
    const { started } = hold(host);
    const silent = send("tools/call", callEcho);
    await started;
    const streaming = send("tools/call", { ...callEcho, id: 2 });
    const listening = send("subscriptions/listen", { id: 3, params: { notifications: { toolsListChanged: true } } });
    await Promise.resolve();
    await host.calls[1]?.notify("notifications/progress", { progressToken: 1, progress: 1 });
    host.beginClosing();
    binding.close();
    binding.close();
    deepEqual(await faultOf(silent), [503, -32603, 1]);
    await streaming.done;
    equal(sseMessages(streaming.body()).length, 1);
    await listening.done;
    ok("result" in (sseMessages(listening.body()).at(-1) ?? {}));
    deepEqual(
      host.calls.map((call) => call.end.aborted),
      [true, true, false],
    );
    deepEqual(await faultOf(send("tools/call", callEcho)), [503, -32603, 1]);
    equal(host.calls.length, 3);
  });

  test("ends a subscription that does not end by itself", async () => {
    const { host, binding, send } = createEndpoint();
    const exchange = send("subscriptions/listen", { params: { notifications: { toolsListChanged: true } } });
    await Promise.resolve();
    binding.close();
    host.clock.advance(1000);
    await exchange.done;
    equal(host.changes.listeners, 0);
  });
});
