import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import type { ProtocolVersion } from "bowline/client";
import { type Context, McpServer, RpcError } from "bowline/server";
import { FakeClock } from "bowline/testing";
import * as z from "zod";
import { channelWires, eachWire, legacyWires, modernWires } from "../../support/each-wire.js";
import { aborted, gate } from "../../support/gate.js";
import { RawClient, scriptedServers, tokenOf, toolText } from "../../support/raw-peer.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };

verifies("protocol:progress:callback", eachWire, async ({ connect }) => {
  const server = new McpServer(me).tool("ten", {}, (_, ctx) => {
    for (let n = 1; n <= 10; n++) void ctx.progress(n, 10, `step ${n}`);
    return "done";
  });
  const client = await connect(server);
  const seen: unknown[] = [];
  await client.callTool("ten", {}, { onProgress: (progress) => seen.push(progress) }).then(() => seen.push("resolved"));
  deepEqual(seen, [
    ...Array.from({ length: 10 }, (_, n) => ({ progress: n + 1, total: 10, message: `step ${n + 1}` })),
    "resolved",
  ]);
});

verifies("protocol:progress:token-injected", eachWire, async ({ connect }) => {
  const server = new McpServer(me).method("vendor/x", {}, () => ({}));
  const client = await connect(server);
  const params = Object.freeze({ a: 1, _meta: Object.freeze({ "com.example/own": 1 }) });
  const meta = Object.freeze({ "com.example/option": 2 });
  const onProgress = () => {};
  await client.request("vendor/x", params, { onProgress, meta });
  await client.request("vendor/x", undefined, { onProgress });
  const [first, second] = client.wire.requests("vendor/x");
  for (const request of [first, second]) {
    const token = request === undefined ? undefined : tokenOf(request);
    ok(typeof token === "string" || Number.isInteger(token));
  }
  const sent = first?.params?._meta as Record<string, unknown>;
  equal(first?.params?.a, 1);
  deepEqual([sent["com.example/own"], sent["com.example/option"]], [1, 2]);
  deepEqual(params, { a: 1, _meta: { "com.example/own": 1 } });
});

verifies("protocol:progress:no-token", eachWire, async ({ connect }) => {
  const server = new McpServer(me).tool("talk", {}, async (_, ctx) => {
    await ctx.progress(1);
    await ctx.progress(2, 3, "words");
  });
  const client = await connect(server);
  await client.callTool("talk");
  for (const { text } of client.wire.frames) ok(!text.includes("progress"), text);
});

verifies("protocol:progress:token-unique", eachWire, async ({ connect }) => {
  const both = gate();
  let entered = 0;
  const server = new McpServer(me).tool("talk", { input: { type: "object" } }, async (args, ctx) => {
    const { base } = args as { base: number };
    if (++entered === 3) both.open();
    await both.opened;
    for (const n of [1, 2, 3]) await ctx.progress(base + n);
  });
  const client = await connect(server);
  const bases = [100, 200, 300];
  const heard = await Promise.all(
    bases.map(async (base, n) => {
      const seen: number[] = [];
      const options = n === 0 ? { id: "chosen" } : n === 1 ? { id: 77 } : {};
      await client.callTool("talk", { base }, { ...options, onProgress: ({ progress }) => seen.push(progress) });
      return seen;
    }),
  );
  deepEqual(
    heard,
    bases.map((base) => [base + 1, base + 2, base + 3]),
  );
  const tokens = client.wire.requests("tools/call").map(tokenOf);
  equal(new Set(tokens).size, 3);
});

verifies(
  ["protocol:progress:mrtr-legs", "protocol:progress:token-unique"],
  "over rounds",
  modernWires,
  async (world) => {
    const server = new McpServer(me).tool("interview", { input: { type: "object" } }, async (args, ctx) => {
      const { base } = args as { base: number };
      await ctx.progress(base + (ctx.inputResponses === undefined ? 1 : 2));
      await ctx.elicit("Sure?", z.object({}));
      await ctx.progress(base + 3);
      return "done";
    });
    const client = await world.connect(server, { onElicit: () => ({ action: "accept", content: {} }) });
    const heard = await Promise.all(
      [10, 20].map(async (base) => {
        const seen: number[] = [];
        await client.callTool("interview", { base }, { onProgress: ({ progress }) => seen.push(progress) });
        return seen;
      }),
    );
    deepEqual(heard, [
      [11, 12, 13],
      [21, 22, 23],
    ]);
  },
);

verifies(["protocol:progress:token-type", "protocol:progress:token-echo"], channelWires, async (world) => {
  const server = new McpServer(me).tool("talk", {}, (_, ctx) => {
    void ctx.progress(1);
    return "x";
  });
  const client = await RawClient.open(world, server);
  const { messages } = client.peer;
  for (const progressToken of [true, 1.5, null, {}]) {
    await client.request(1, "tools/call", { name: "talk", arguments: {} }, { progressToken });
    ok(messages.every(({ method }) => method !== "notifications/progress"));
  }
  for (const token of [0, "", "0", -1, "123e4567-e89b-12d3-a456-426614174000"]) {
    const before = messages.length;
    await client.request(2, "tools/call", { name: "talk", arguments: {} }, { progressToken: token });
    const [progress, answer] = messages.slice(before);
    equal(progress?.method, "notifications/progress");
    equal(progress?.params?.progressToken, token);
    ok(answer?.result);
  }
});

verifies("protocol:progress:token-type", "inbound", scriptedServers, async ({ peer, connect }) => {
  const heard: number[] = [];
  const client = await connect({ onError: () => {} });
  const call = client.callTool("x", {}, { id: 1, onProgress: ({ progress }) => heard.push(progress) });
  await peer.asked("tools/call");
  for (const progressToken of [true, 1.5, null, {}, [1]]) {
    peer.send({ method: "notifications/progress", params: { progressToken, progress: 5 } });
  }
  peer.send({ method: "notifications/progress", params: { progressToken: 1, progress: 6 } });
  peer.send({ id: 1, result: toolText("x") });
  await call;
  deepEqual(heard, [6]);
});

verifies("protocol:progress:fields", eachWire, async ({ connect }) => {
  const reported: unknown[] = [];
  const server = new McpServer(me, { onError: (error) => reported.push(error) }).tool("talk", {}, async (_, ctx) => {
    await ctx.progress(0.25, 1.5, "a quarter");
    await ctx.progress(0.5, 1.5);
    await ctx.progress(0.75);
    for (const odd of [Number.NaN, Number.POSITIVE_INFINITY]) await ctx.progress(odd);
    await ctx.progress(1, Number.NaN);
  });
  const client = await connect(server);
  await client.callTool("talk", {}, { onProgress: () => {} });
  const sent = client.wire.notifications("server", "notifications/progress").map(({ params }) => {
    const { progressToken: _, ...rest } = params ?? {};
    return rest;
  });
  deepEqual(sent, [
    { progress: 0.25, total: 1.5, message: "a quarter" },
    { progress: 0.5, total: 1.5 },
    { progress: 0.75 },
  ]);
  equal(reported.length, 3);
});

verifies("protocol:progress:message-revision", legacyWires, async ({ connect }) => {
  for (const [version, expected] of [
    ["2024-11-05", undefined],
    ["2025-03-26", "words"],
  ]) {
    const server = new McpServer(me).tool("talk", {}, (_, ctx) => {
      void ctx.progress(1, 2, "words");
      return "x";
    });
    const client = await connect(server, { versions: [version as ProtocolVersion] });
    await client.callTool("talk", {}, { onProgress: () => {} });
    const [sent] = client.wire.notifications("server", "notifications/progress");
    deepEqual([sent?.params?.progress, sent?.params?.total, sent?.params?.message], [1, 2, expected]);
    await client.close();
  }
});

verifies("protocol:progress:monotonic", eachWire, async ({ connect }) => {
  const reported: Error[] = [];
  const server = new McpServer(me, { onError: (error) => reported.push(error as Error) }).tool(
    "talk",
    {},
    async (_, ctx) => {
      for (const n of [1, 1, 0.5, 2]) await ctx.progress(n);
    },
  );
  const client = await connect(server);
  const heard: number[] = [];
  await client.callTool("talk", {}, { onProgress: ({ progress }) => heard.push(progress) });
  deepEqual(heard, [1, 2]);
  equal(client.wire.notifications("server", "notifications/progress").length, 2);
  equal(reported.length, 2);
  ok(reported.every(({ message }) => message.includes("progress")));
});

verifies("protocol:progress:stops-after-completion", eachWire, async ({ connect }) => {
  const kept: Context[] = [];
  const entered = gate();
  const ended = gate();
  const server = new McpServer(me)
    .tool("returns", {}, (_, ctx) => {
      kept.push(ctx);
    })
    .tool("throws", {}, (_, ctx) => {
      kept.push(ctx);
      throw new RpcError(4001, "no");
    })
    .tool("cancelled", {}, async (_, ctx) => {
      kept.push(ctx);
      entered.open();
      await aborted(ctx.signal);
      void ctx.progress(5);
      ended.open();
    });
  const client = await connect(server);
  const onProgress = () => {};
  await client.callTool("returns", {}, { onProgress });
  await rejects(client.callTool("throws", {}, { onProgress }), { name: "RpcError", message: "no" });
  const abort = new AbortController();
  const call = client.callTool("cancelled", {}, { onProgress, signal: abort.signal });
  await entered.opened;
  abort.abort("x");
  await rejects(call, /^x$/);
  await ended.opened;
  await new Promise((resolve) => setTimeout(resolve, 0));
  for (const ctx of kept) await ctx.progress(10);
  await client.listTools();
  equal(client.wire.notifications("server", "notifications/progress").length, 0);
});

verifies("protocol:progress:only-active-tokens", eachWire, async ({ connect }) => {
  const refused: unknown[] = [];
  const kept = gate<Context>();
  const server = new McpServer(me).tool("cheat", {}, async (_, ctx) => {
    kept.open(ctx);
    const token = ctx.meta?.progressToken;
    for (const progressToken of ["foreign", 4711, undefined]) {
      await Promise.resolve(attempt(() => ctx.notify("notifications/progress", { progressToken, progress: 1 }))).then(
        (e) => refused.push(e),
      );
    }
    await ctx.notify("notifications/progress", { progressToken: token, progress: 1 });
  });
  const client = await connect(server);
  await client.callTool("cheat", {}, { onProgress: () => {} });
  equal(refused.length, 3);
  for (const error of refused) equal((error as { code?: unknown }).code, "unknown_progress_token");
  await rejects(client.notify("notifications/progress", { progressToken: "foreign", progress: 1 }), {
    code: "unknown_progress_token",
  });
  const ctx = await kept.opened;
  await attempt(() => ctx.notify("notifications/progress", { progressToken: ctx.meta?.progressToken, progress: 9 }));
  await client.listTools();
  equal(client.wire.notifications("server", "notifications/progress").length, 1);
  equal(client.wire.notifications("client", "notifications/progress").length, 0);
});

async function attempt(send: () => unknown): Promise<unknown> {
  try {
    await send();
    return "sent";
  } catch (error) {
    return error;
  }
}

verifies("protocol:progress:late-dropped-by-client", scriptedServers, async ({ peer, connect }) => {
  const problems: unknown[] = [];
  const heard: number[] = [];
  const client = await connect({ onError: (error) => problems.push(error) });
  const onProgress = ({ progress }: { progress: number }) => heard.push(progress);
  const first = client.callTool("x", {}, { onProgress });
  const one = await peer.asked("tools/call");
  peer.send({ id: one.id, result: toolText("x") });
  await first;
  const abort = new AbortController();
  const second = client.callTool("x", {}, { onProgress, signal: abort.signal });
  const two = await peer.asked("tools/call");
  abort.abort("x");
  await rejects(second, /^x$/);
  for (const request of [one, two]) {
    peer.send({ method: "notifications/progress", params: { progressToken: tokenOf(request), progress: 9 } });
  }
  const next = client.callTool("x");
  const three = await peer.asked("tools/call");
  peer.send({ id: three.id, result: toolText("next") });
  equal((await next).text, "next");
  deepEqual([heard, problems], [[], []]);
});

verifies("protocol:progress:unknown-token", scriptedServers, async ({ peer, connect }) => {
  const problems: unknown[] = [];
  const general: unknown[] = [];
  const heard: unknown[] = [];
  const client = await connect({
    onError: (error) => problems.push(error),
    onNotification: ({ method, params }) => void general.push([method, params?.progressToken]),
  });
  const call = client.callTool("x", {}, { onProgress: (progress) => heard.push(progress) });
  const { id } = await peer.asked("tools/call");
  const quiet = client.callTool("y", {}, { id: 4711 });
  await peer.asked("tools/call");
  for (const progressToken of ["stray", 4711]) {
    peer.send({ method: "notifications/progress", params: { progressToken, progress: 1 } });
  }
  peer.send({ id: 4711, result: toolText("y") });
  peer.send({ id, result: toolText("x") });
  await Promise.all([call, quiet]);
  deepEqual(general, [
    ["notifications/progress", "stray"],
    ["notifications/progress", 4711],
  ]);
  deepEqual([heard, problems], [[], []]);
});

verifies("protocol:progress:callback-throws", eachWire, async ({ connect }) => {
  const problems: unknown[] = [];
  const server = new McpServer(me).tool("talk", {}, async (_, ctx) => {
    await ctx.progress(1);
    await ctx.progress(2);
    return "whole";
  });
  const client = await connect(server, { onError: (error) => problems.push(error) });
  const bug = new Error("a bug in the callback");
  const throwing = () => {
    throw bug;
  };
  const rejecting = async () => {
    throw bug;
  };
  for (const onProgress of [throwing, rejecting]) {
    equal((await client.callTool("talk", {}, { onProgress })).text, "whole");
    await new Promise((resolve) => setImmediate(resolve));
    deepEqual(problems.splice(0), [bug, bug]);
  }
});

verifies("protocol:progress:rate-limit", eachWire, async ({ connect }) => {
  const clock = new FakeClock();
  const halfway = gate();
  const release = gate();
  const server = new McpServer(me, { clock, progressIntervalMs: 100 }).tool("busy", {}, async (_, ctx) => {
    for (let n = 1; n <= 5000; n++) void ctx.progress(n, 10_000);
    halfway.open();
    await release.opened;
    for (let n = 5001; n <= 10_000; n++) void ctx.progress(n, 10_000);
    return "done";
  });
  const client = await connect(server);
  const heard: unknown[] = [];
  const onProgress = ({ progress }: { progress: number }) => heard.push(progress);
  const call = client.callTool("busy", {}, { onProgress }).then(() => heard.push("done"));
  await halfway.opened;
  clock.advance(100);
  release.open();
  await call;
  deepEqual(heard, [1, 5000, 10_000, "done"]);
  equal(client.wire.notifications("server", "notifications/progress").length, 3);
});

verifies("protocol:progress:client-to-server", legacyWires, async ({ connect }) => {
  const server = new McpServer(me).tool("ask", {}, async (_, ctx) => {
    const heard: unknown[] = [];
    const params = { messages: [], maxTokens: 1 };
    await ctx.sample(params, { onProgress: (progress) => heard.push(progress) });
    await ctx.sample(params);
    return { heard };
  });
  const client = await connect(server, {
    onSample: async (_, { progress }) => {
      await progress(1, 2);
      await progress(2, 2, "done");
      return { role: "assistant", model: "m", content: { type: "text", text: "hi" } };
    },
  });
  deepEqual((await client.callTool("ask")).structured, {
    heard: [
      { progress: 1, total: 2 },
      { progress: 2, total: 2, message: "done" },
    ],
  });
  equal(client.wire.notifications("client", "notifications/progress").length, 2);
});
