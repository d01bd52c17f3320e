import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { connect, ProtocolError } from "bowline/client";
import { McpServer, RpcError } from "bowline/server";
import { createChannelPair, WireRecorder } from "bowline/testing";
import { channelWires, eachWire } from "../../support/each-wire.js";
import { aborted, gate } from "../../support/gate.js";
import { RawClient, scriptedServers, toolText } from "../../support/raw-peer.js";
import { StuckChannel } from "../../support/stuck-channel.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };

verifies(
  ["protocol:response:result-xor-error", "protocol:jsonrpc:version-tag"],
  eachWire,
  async ({ connect: dial, era }) => {
    const server = new McpServer(me, { onError: () => {} })
      .tool("returns", {}, () => "x")
      .tool("throws", {}, () => {
        throw new Error("oops");
      })
      .tool("refuses", {}, async (_, ctx) => {
        await ctx.progress(1, 2);
        throw new RpcError(4001, "no", { why: "because" });
      })
      .method("vendor/breaks", {}, async (_, ctx) => {
        await ctx.progress(1, 2);
        throw new Error("oops");
      })
      .tool("asks", {}, async (_, ctx) => `${(await ctx.listRoots()).length}`)
      .prompt("p", {}, () => "hello")
      .resource("note://1", { name: "n" }, () => "text");
    const client = await dial(server, { roots: [] });
    equal((await client.callTool("asks")).text, "0");
    const onProgress = () => {};
    await client.callTool("returns");
    await client.callTool("throws");
    await rejects(client.callTool("refuses", {}, { onProgress }), { rpcCode: 4001 });
    await rejects(client.request("vendor/breaks", {}, { onProgress }), { rpcCode: -32603 });
    await rejects(client.request("vendor/none"), { rpcCode: -32601 });
    await client.getPrompt("p");
    await client.readResource("note://1");
    await client.notify(era === "legacy" ? "notifications/roots/list_changed" : "vendor/event");
    await client.listTools();
    ok(client.wire.frames.length > 15);
    for (const { text, message } of client.wire.frames) {
      equal(message?.jsonrpc, "2.0", text);
      if (message?.method === undefined) equal(Number("result" in message) + Number("error" in message), 1, text);
    }
  },
);

verifies("protocol:response:malformed-settles", scriptedServers, async ({ peer, connect: dial }) => {
  const client = await dial();
  const shapes: object[] = [
    {},
    { result: {}, error: { code: 1, message: "both" } },
    { result: null },
    { result: [] },
    { result: "text" },
    { result: 5 },
    { error: null },
    { error: { code: 1.5, message: "x" } },
    { error: { code: 1 } },
  ];
  for (const shape of shapes) {
    const call = client.callTool("any");
    const { id } = await peer.asked("tools/call");
    peer.send({ id, ...shape });
    await rejects(call, (error) => error instanceof ProtocolError && error.code === "protocol_error");
  }
  const next = client.callTool("next");
  const { id } = await peer.asked("tools/call");
  peer.send({ id, result: toolText("fine") });
  equal((await next).text, "fine");
  equal(client.pending, 0);
});

for (const era of ["modern", "legacy"] as const) {
  proves("protocol:response:single-answer", { wire: `${era}-memory` }, "closing while it is written", async (t) => {
    const release = gate();
    const entered = gate();
    const server = new McpServer(me)
      .tool("quick", {}, () => "answer")
      .tool("slow", {}, async (_, ctx) => {
        entered.open();
        await Promise.race([release.opened, aborted(ctx.signal)]);
        return "late";
      });
    const wire = new WireRecorder();
    const [ours, theirs] = createChannelPair();
    const channel = new StuckChannel(theirs);
    await server.accept(channel);
    const client = await connect({ channel: wire.channel(ours) }, { era });
    t.after(() => client.close());
    const slow = client.callTool("slow").catch(() => "failed");
    await entered.opened;
    channel.stick();
    const quick = client.callTool("quick").catch(() => "failed");
    while (channel.waiting === 0) await Promise.resolve();
    const closing = server.close();
    release.open();
    channel.release();
    await closing;
    await Promise.all([slow, quick]);
    for (const { id } of wire.requests("tools/call")) {
      const answers = wire.frames.filter(({ from, message }) => from === "server" && message?.id === id);
      ok(answers.length <= 1, `${answers.length} answers to ${id}`);
    }
  });
}

verifies("protocol:response:single-answer", "throwing after it has returned", channelWires, async (world) => {
  const server = new McpServer(me).method("vendor/odd", {}, () => {
    return new Promise((resolve, reject) => {
      resolve({ first: true });
      reject(new Error("second"));
    });
  });
  const client = await RawClient.open(world, server);
  equal((await client.request(1, "vendor/odd")).result?.first, true);
  await client.barrier();
  equal(client.peer.answersTo(1).length, 1);
});

verifies("protocol:response:result-object", eachWire, async ({ connect: dial }) => {
  const reported: unknown[] = [];
  const values: Record<string, unknown> = { nothing: undefined, list: [], text: "x", number: 5, null: null };
  const server = new McpServer(me, { onError: (error) => reported.push(error) });
  for (const [name, value] of Object.entries(values)) server.method(`vendor/${name}`, {}, () => value);
  const client = await dial(server);
  const result = await client.request("vendor/nothing");
  deepEqual(
    Object.keys(result).filter((key) => key !== "resultType" && key !== "_meta"),
    [],
  );
  for (const name of ["list", "text", "number", "null"]) {
    await rejects(client.request(`vendor/${name}`), { rpcCode: -32603 });
    const error = reported.pop();
    ok(error instanceof Error && error.message.includes(`vendor/${name}`));
  }
});

verifies("protocol:response:unknown-id", scriptedServers, async ({ peer, connect: dial }) => {
  const problems: Error[] = [];
  const client = await dial({ onError: (problem) => problems.push(problem) });
  const call = client.callTool("any");
  const { id } = await peer.asked("tools/call");
  peer.send({ id: "never-used", result: {} });
  peer.send({ id: 4711, error: { code: 1, message: "to whom?" } });
  peer.send({ id, result: toolText("mine") });
  equal((await call).text, "mine");
  equal(problems.length, 2);
  ok(problems.every((problem) => problem instanceof ProtocolError));
  const abort = new AbortController();
  const abandoned = client.callTool("any", {}, { id: "chosen", signal: abort.signal });
  await peer.asked("tools/call");
  abort.abort("enough");
  await rejects(abandoned, /^enough$/);
  peer.send({ id: "chosen", result: toolText("late") });
  const next = client.callTool("next");
  const last = await peer.asked("tools/call");
  peer.send({ id: last.id, result: toolText("on") });
  equal((await next).text, "on");
  equal(problems.length, 2);
});

verifies("protocol:response:unknown-id", "from a client", channelWires, async (world) => {
  const problems: unknown[] = [];
  const server = new McpServer(me, { onError: (error) => problems.push(error) }).tool("one", {}, () => "1");
  const client = await RawClient.open(world, server);
  client.peer.send({ id: "never-used", result: {} });
  await client.barrier();
  equal(problems.length, 1);
  ok((await client.request(1, "tools/list")).result);
});

verifies("protocol:error:null-id", scriptedServers, async ({ peer, connect: dial }) => {
  const problems: Error[] = [];
  const client = await dial({ onError: (problem) => problems.push(problem) });
  let settled = false;
  const call = client.callTool("any").finally(() => {
    settled = true;
  });
  const { id } = await peer.asked("tools/call");
  peer.send({ id: null, error: { code: -32700, message: "Parse error" } });
  peer.send({ error: { code: -32600, message: "Invalid request" } });
  const other = client.callTool("other");
  const second = await peer.asked("tools/call");
  peer.send({ id: second.id, result: toolText("other") });
  await other;
  equal(settled, false);
  equal(problems.length, 2);
  ok(problems[0]?.message.includes("Parse error") && problems[1]?.message.includes("Invalid request"));
  peer.send({ id, result: toolText("mine") });
  equal((await call).text, "mine");
});

verifies("protocol:dispatch:out-of-order-responses", scriptedServers, async ({ peer, connect: dial }) => {
  const client = await dial();
  const calls = [0, 1, 2, 3, 4].map((n) => client.callTool("n", { n }));
  const requests = await Promise.all(calls.map(() => peer.asked("tools/call")));
  for (const { id, params } of requests.reverse())
    peer.send({ id, result: toolText(JSON.stringify(params?.arguments)) });
  deepEqual(
    (await Promise.all(calls)).map(({ text }) => text),
    [0, 1, 2, 3, 4].map((n) => JSON.stringify({ n })),
  );
});

verifies(
  ["protocol:result-validation:invalid-result-sdkerror", "typescript:method-string-handlers:result-type-inference"],
  scriptedServers,
  async ({ era, peer, connect: dial }) => {
    const client = await dial();
    const good = client.request("tools/list");
    const first = await peer.asked("tools/list");
    const tool = { name: "t", inputSchema: { type: "object" } };
    peer.send({ id: first.id, result: { resultType: "complete", tools: [tool], ttlMs: 0, cacheScope: "private" } });
    const { tools } = await good;
    // Typed without a cast: a wrong name here does not compile.
    const names: string[] = tools.map(({ name }) => name);
    deepEqual(names, ["t"]);
    const bad = client.request("tools/list");
    const second = await peer.asked("tools/list");
    const raw = { resultType: "complete", nothing: "useful" };
    peer.send({ id: second.id, result: raw });
    await rejects(bad, (error) => {
      ok(error instanceof Error && !(error instanceof RpcError));
      equal((error as { code?: unknown }).code, "invalid_result");
      deepEqual(error.cause, raw);
      return error.message.includes("tools/list");
    });
    ok(era === "modern" || era === "legacy");
  },
);
