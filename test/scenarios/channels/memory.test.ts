import { deepEqual, equal, notEqual, ok, rejects } from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, createServer, connect as dial, type Socket } from "node:net";
import { connect, RpcError } from "bowline/client";
import { createStdioServerChannel } from "bowline/node";
import { McpServer } from "bowline/server";
import { createChannelPair } from "bowline/testing";
import * as z from "zod";
import { ChannelLog } from "../../support/channel-log.js";
import { channelWires, eachWire, modernWires } from "../../support/each-wire.js";
import { aborted, gate } from "../../support/gate.js";
import { RawEnd, resultOf, speaking } from "../../support/raw-peer.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const memoryWires = channelWires.filter(({ name }) => name.endsWith("memory"));
const stdioOnly = channelWires.filter(({ name }) => name.endsWith("stdio"));

verifies("transport:memory:linked-pair", memoryWires, async ({ era, connect: open }) => {
  const [left, right] = createChannelPair();
  const one = await ChannelLog.open(left);
  for (const text of ["1", "2", "3"]) await left.send(text);
  deepEqual(one.frames, []);
  const two = await ChannelLog.open(right);
  deepEqual(await two.received(3), ["1", "2", "3"]);
  await right.send("4");
  await right.send("5");
  deepEqual(await one.received(2), ["4", "5"]);
  await left.send("6");
  await left.close();
  deepEqual(await two.received(4), ["1", "2", "3", "6"]);
  deepEqual([one.closes, two.closes], [[undefined], [undefined]]);
  await right.close();
  deepEqual([one.closes.length, two.closes.length], [1, 1]);

  const client = await open(new McpServer(me).tool("hi", {}, () => "hi"));
  equal((await client.callTool("hi")).text, "hi");
  equal(client.era, era);
});

proves(
  "transport:memory:linked-pair",
  { wire: "memory" },
  "an end that opens late gets what was sent before the other closed",
  async () => {
    const [left, right] = createChannelPair();
    await ChannelLog.open(left);
    await left.send("1");
    await left.close();
    const late = await ChannelLog.open(right);
    await late.closed;
    deepEqual([late.frames, late.closes], [["1"], [undefined]]);
  },
);

class Picky extends RpcError {
  readonly secret = "of the server's own";
}

verifies("transport:memory:wire-parity", channelWires, async ({ connect: open }) => {
  const received: { list: string[] }[] = [];
  const enough = gate();
  const kept = { deep: ["server"] };
  const lists = z.object({ list: z.array(z.string()) });
  const server = new McpServer(me)
    .tool("keep", { input: lists, output: z.object({ deep: z.array(z.string()) }) }, (args) => {
      received.push(args);
      return kept;
    })
    .method("mine/wait", {}, async () => {
      await enough.opened;
      return {};
    })
    .method("mine/refuse", {}, () => {
      throw new Picky(4242, "no", { reason: ["picky"] });
    });
  const client = await open(server);
  const args = { list: ["client"] };
  const call = client.callTool("keep", args);
  args.list.push("changed after sending");
  const outcome = await call;
  deepEqual(received[0]?.list, ["client"]);
  notEqual(received[0], args);
  (outcome.structured as { deep: string[] }).deep.push("changed after receiving");
  deepEqual(kept, { deep: ["server"] });
  await rejects(client.request("mine/refuse"), (error) => {
    ok(error instanceof RpcError);
    ok(!(error instanceof Picky));
    deepEqual([error.rpcCode, error.message, error.data], [4242, "no", { reason: ["picky"] }]);
    equal("secret" in error, false);
    return true;
  });
  const first = client.request("mine/wait", undefined, { id: "mine" });
  await rejects(client.request("tools/list", undefined, { id: "mine" }), { code: "duplicate_request_id" });
  enough.open();
  await first;
});

verifies("transport:custom:byte-stream-framing", stdioOnly, async ({ era }, t) => {
  const started = gate();
  const stopped = gate<unknown>();
  const lost = gate<unknown>();
  const server = new McpServer(me)
    .tool("wait", {}, async (_args, ctx) => {
      started.open();
      stopped.open(await aborted(ctx.signal));
    })
    .tool("until-end", {}, async (_args, ctx) => {
      ctx.signal.addEventListener("abort", () => lost.open(ctx.signal.reason));
      await aborted(ctx.signal);
    })
    .tool("change", {}, () => {
      server.removeTool("extra");
      server.tool("extra", {}, () => "");
      return "changed";
    })
    .tool("extra", {}, () => "");
  const listener = createServer({ allowHalfOpen: true }, (socket) => {
    void server.accept(createStdioServerChannel({ input: socket, output: socket })).then(({ closed }) => closed);
  }).listen(0, "127.0.0.1");
  await once(listener, "listening");
  t.after(() => listener.close());
  t.after(() => server.close());
  const { port } = listener.address() as AddressInfo;
  const socket: Socket = dial({ port, host: "127.0.0.1", allowHalfOpen: true });
  const client = await connect({ channel: createStdioServerChannel({ input: socket, output: socket }) }, { era });
  t.after(() => client.close());
  const abort = new AbortController();
  const call = client.callTool("wait", {}, { signal: abort.signal });
  await started.opened;
  abort.abort("enough");
  await rejects(call, (reason) => reason === "enough");
  equal(((await stopped.opened) as Error).message, "enough");
  const watch = await client.watch({ toolsListChanged: true });
  await client.callTool("change");
  deepEqual((await watch[Symbol.asyncIterator]().next()).value, { kind: "tools" });
  const ending = client.callTool("until-end");
  ending.catch(() => {});
  equal((await client.callTool("change")).text, "changed");
  socket.end();
  equal(((await lost.opened) as Error).message, "The client disconnected");
  await rejects(ending, { name: "ConnectionError" });
});

verifies("transport:modern:delivery", modernWires, async ({ connect: open }) => {
  const log: unknown[] = [];
  const server = new McpServer(me, { capabilities: { logging: true } })
    .tool("steps", {}, async (_args, ctx) => {
      await ctx.progress(1, 2, "half");
      await ctx.log("warning", { note: "careful" });
      await ctx.progress(2, 2);
      return "done";
    })
    .tool("fail", {}, () => {
      throw new RpcError(4242, "no", { why: "told so" });
    })
    .tool("extra", {}, () => "");
  const client = await open(server, {
    onNotification: ({ method, params }) => {
      if (method === "notifications/message") log.push(["message", params?.level, params?.data]);
    },
  });
  await client.setLogLevel("debug");
  log.push((await client.callTool("steps", {}, { onProgress: (progress) => log.push(progress) })).text);
  await rejects(client.callTool("fail"), (error) => {
    ok(error instanceof RpcError);
    log.push([error.rpcCode, error.message, error.data]);
    return true;
  });
  const watch = await client.watch({ toolsListChanged: true });
  log.push(watch.honoured);
  server.removeTool("extra");
  log.push((await watch[Symbol.asyncIterator]().next()).value);
  deepEqual(log, [
    { progress: 1, total: 2, message: "half" },
    ["message", "warning", { note: "careful" }],
    { progress: 2, total: 2 },
    "done",
    [4242, "no", { why: "told so" }],
    { toolsListChanged: true },
    { kind: "tools" },
  ]);
});

verifies("transport:modern:no-server-requests", modernWires, async ({ connect: open }) => {
  let refused: unknown;
  const server = new McpServer(me)
    .tool("ask", {}, async (_args, ctx) => {
      const answer = await ctx.elicit("Sure?", z.object({ sure: z.boolean() }));
      return answer.action;
    })
    .tool("push", {}, async (_args, ctx) => {
      await ctx.sample({ messages: [], maxTokens: 1 }).catch((error: unknown) => {
        refused = error;
      });
      return "told";
    });
  const client = await open(server, { onElicit: () => ({ action: "accept", content: { sure: true } }) });
  const watch = await client.watch({ toolsListChanged: true });
  equal((await client.callTool("ask")).text, "accept");
  // The client cannot do this: the handler hears so, and nothing is sent.
  equal((await client.callTool("push")).text, "told");
  ok(refused instanceof Error);
  await watch.close();
  deepEqual(client.wire.serverRequests(), []);
});

verifies("transport:modern:no-client-responses", stdioOnly, async ({ era }, t) => {
  const raw = new RawEnd();
  const errors: Error[] = [];
  const [client] = await Promise.all([
    connect(
      { channel: raw.near },
      {
        ...speaking(era),
        onElicit: () => ({ action: "accept", content: {} }),
        onError: (error) => void errors.push(error),
      },
    ),
    raw.greetClient(era),
  ]);
  t.after(() => client.close());
  const answer = client.callTool("any");
  const { id } = await raw.until(({ method }) => method === "tools/call");
  const params = { message: "Sure?", requestedSchema: { type: "object", properties: {} } };
  raw.write({ jsonrpc: "2.0", id: "asked", method: "elicitation/create", params });
  if (era === "legacy") {
    // The control: where servers may ask, they are answered.
    equal((await raw.next()).id, "asked");
    deepEqual(errors, []);
  }
  raw.write(resultOf(era, id, "done"));
  equal((await answer).text, "done");
  await client.close();
  if (era === "legacy") return;
  deepEqual(
    raw.messages.filter((message) => "result" in message || "error" in message),
    [],
  );
  equal(errors.length, 1);
});

verifies(
  "transport:send-after-close",
  "what a server sends to a client that has gone is dropped",
  eachWire,
  async ({ connect: open }) => {
    const started = gate();
    const done = gate();
    const server = new McpServer(me).tool("late", {}, async (_args, ctx) => {
      started.open();
      await aborted(ctx.signal);
      await ctx.progress(1);
      await ctx.notify("notifications/mine");
      done.open();
    });
    const client = await open(server);
    const abort = new AbortController();
    const call = client.callTool("late", {}, { onProgress: () => {}, signal: abort.signal });
    await started.opened;
    abort.abort("gone");
    await rejects(call, (reason) => reason === "gone");
    await done.opened;
    const sent = client.wire.notifications("server").filter(({ method }) => method === "notifications/mine");
    deepEqual(sent, []);
  },
);
