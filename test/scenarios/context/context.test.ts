import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { type Context, McpError, McpServer, RpcError } from "bowline/server";
import * as z from "zod";
import { isOpen } from "../../support/core-of.js";
import { eachWire } from "../../support/each-wire.js";
import { aborted, gate } from "../../support/gate.js";
import { modernRequest, sseMessages } from "../../support/modern-request.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const question = { messages: [], maxTokens: 1 };

verifies("protocol:context:closed-after-completion", eachWire, async ({ connect }) => {
  const kept: Context[] = [];
  const entered = gate();
  const ended = gate();
  const server = new McpServer(me, { capabilities: { logging: true } })
    .tool("returns", {}, (_, ctx) => {
      ok(isOpen(ctx));
      kept.push(ctx);
      return "done";
    })
    .tool("throws", {}, (_, ctx) => {
      kept.push(ctx);
      throw new RpcError(4001, "no");
    })
    .tool("cancelled", {}, async (_, ctx) => {
      kept.push(ctx);
      entered.open();
      await aborted(ctx.signal);
      ended.open();
    });
  const client = await connect(server, {
    onSample: () => ({ role: "assistant", model: "m", content: { type: "text", text: "" } }),
    onElicit: () => ({ action: "decline" }),
    roots: [],
    methods: { "vendor/ask": () => ({}) },
  });
  await client.setLogLevel("debug");
  const onProgress = () => {};
  await client.callTool("returns", {}, { onProgress });
  await rejects(client.callTool("throws", {}, { onProgress }), { rpcCode: 4001 });
  const abort = new AbortController();
  const call = client.callTool("cancelled", {}, { onProgress, signal: abort.signal });
  await entered.opened;
  abort.abort("enough");
  await rejects(call, /^enough$/);
  await ended.opened;
  await client.listTools();
  const sent = () => client.wire.frames.filter(({ from }) => from === "server").length;
  const before = sent();
  equal(kept.length, 3);
  for (const [index, ctx] of kept.entries()) {
    // The call was cancelled by a message, or over modern HTTP by the end of its request.
    const cancelled = ["cancelled", "connection_error"];
    const codes = index === 2 ? cancelled : ["call_over"];
    const over = (error: unknown) => error instanceof McpError && codes.includes(error.code);
    equal(isOpen(ctx), false);
    await ctx.progress(99);
    await ctx.notify("vendor/late", {});
    await ctx.log("error", "late");
    await rejects(ctx.sample(question), over);
    await rejects(ctx.elicit("late?", z.object({})), over);
    await rejects(ctx.listRoots(), over);
    await rejects(ctx.request("vendor/ask"), over);
  }
  await client.listTools();
  equal(sent(), before + 1);
});

verifies("protocol:context:abort-signal", eachWire, async (world) => {
  let seen: Record<string, unknown> = {};
  const look = (ctx: Context) => {
    const { requestId, meta, client } = ctx;
    ok(ctx.signal instanceof AbortSignal && !ctx.signal.aborted);
    seen = { requestId, meta, version: client.version, capabilities: client.capabilities };
    return {};
  };
  const server = new McpServer(me)
    .tool("t", {}, (_, ctx) => look(ctx))
    .prompt("p", {}, (_, ctx) => {
      look(ctx);
      return "x";
    })
    .resource("r:1", { name: "r" }, (_, ctx) => {
      look(ctx);
      return "x";
    })
    .method("vendor/m", {}, (_, ctx) => look(ctx));
  const client = await world.connect(server, { roots: [], capabilities: { experimental: { x: { y: 1 } } } });
  const options = { id: "own id", meta: { "com.example/k": [1] } };
  for (const [method, params] of [
    ["tools/call", { name: "t" }],
    ["prompts/get", { name: "p" }],
    ["resources/read", { uri: "r:1" }],
    ["vendor/m", {}],
  ] as const) {
    await client.request(method as string, params, options);
    const [request] = client.wire.requests(method);
    deepEqual(seen, {
      requestId: "own id",
      meta: request?.params?._meta,
      version: world.era === "modern" ? "2026-07-28" : "2025-11-25",
      capabilities: { experimental: { x: { y: 1 } }, roots: world.era === "modern" ? {} : { listChanged: true } },
    });
    deepEqual((seen.meta as Record<string, unknown>)["com.example/k"], [1]);
  }
});

/** Two calls whose notifications interleave. */
function talkative() {
  const both = gate();
  let entered = 0;
  return new McpServer(me).tool("talk", { input: { type: "object" } }, async (args, ctx) => {
    const { who } = args as { who: string };
    if (++entered === 2) both.open();
    await both.opened;
    for (const n of [1, 2, 3]) {
      await ctx.notify("vendor/tagged", { who, n });
      await Promise.resolve();
    }
    return who;
  });
}

const TAGGED = (who: string) => [1, 2, 3].map((n) => ({ who, n }));

verifies("protocol:context:related-request", "before the response", eachWire, async ({ connect }) => {
  const heard: unknown[] = [];
  const client = await connect(talkative(), { onNotification: ({ params }) => void heard.push(params) });
  await Promise.all(["a", "b"].map((who) => client.callTool("talk", { who })));
  for (const who of ["a", "b"]) {
    deepEqual(
      heard.filter((params) => (params as { who: string }).who === who),
      TAGGED(who),
    );
    const { frames } = client.wire;
    const response = frames.findIndex(
      ({ message }) => message?.result !== undefined && JSON.stringify(message.result).includes(`"text":"${who}"`),
    );
    const last = frames.findLastIndex(({ message }) => message?.params?.who === who);
    ok(last < response);
  }
});

proves("protocol:context:related-request", { wire: "modern-http" }, "each on its own stream", async (t) => {
  const server = talkative();
  t.after(() => server.close());
  const post = async (who: string) => {
    const { headers, body } = modernRequest("tools/call", { id: who, params: { name: "talk", arguments: { who } } });
    const response = await server.fetch(
      new Request("http://localhost/mcp", {
        method: "POST",
        headers: headers as Record<string, string>,
        body: JSON.stringify(body),
      }),
    );
    return sseMessages(await response.text());
  };
  assertOwn("a", "b", await Promise.all([post("a"), post("b")]));
});

proves("protocol:context:related-request", { wire: "legacy-http" }, "each on its own stream", async (t) => {
  const server = talkative();
  t.after(() => server.close());
  const headers: Record<string, string> = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
  };
  const send = (message: object) => {
    const body = JSON.stringify({ jsonrpc: "2.0", ...message });
    return server.fetch(new Request("http://localhost/mcp", { method: "POST", headers, body }));
  };
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } };
  const opened = await send({ id: 0, method: "initialize", params });
  await opened.text();
  headers["mcp-session-id"] = opened.headers.get("mcp-session-id") ?? "";
  headers["mcp-protocol-version"] = "2025-11-25";
  await send({ method: "notifications/initialized" });
  const call = async (who: string) => {
    const response = await send({ id: who, method: "tools/call", params: { name: "talk", arguments: { who } } });
    return sseMessages(await response.text());
  };
  assertOwn("a", "b", await Promise.all([call("a"), call("b")]));
});

function assertOwn(one: string, two: string, streams: readonly Record<string, unknown>[][]): void {
  for (const [index, who] of [one, two].entries()) {
    const stream = streams[index] ?? [];
    deepEqual(
      stream.map(({ params, id }) => params ?? id),
      [...TAGGED(who), who],
    );
  }
}
