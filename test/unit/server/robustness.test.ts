import { deepEqual, equal, ok, rejects, throws } from "node:assert/strict";
import { test } from "node:test";
import { type ClientOptions, connect } from "bowline/client";
import { McpServer, RpcError, UrlElicitationRequiredError } from "bowline/server";
import { createChannelPair } from "bowline/testing";
import * as z from "zod";
import { AbortSwitch } from "#src/call/abort-switch.js";
import { CallLifetime } from "#src/call/lifetime.js";

const me = { name: "robust", version: "1.0.0" };
const accept = (content: Record<string, unknown>) => ({ action: "accept" as const, content: content as never });

/** One request by hand, in the era in which each stands alone. */
async function post(server: McpServer, params: object): Promise<Record<string, never>> {
  const version = "2026-07-28";
  const meta = {
    "io.modelcontextprotocol/protocolVersion": version,
    "io.modelcontextprotocol/clientCapabilities": { elicitation: { form: {}, url: {} } },
  };
  const response = await server.fetch(
    new Request("http://localhost/mcp", {
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        "mcp-protocol-version": version,
        "mcp-method": "tools/call",
        "mcp-name": (params as { name: string }).name,
      },
      body: JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { ...params, _meta: meta } }),
    }),
  );
  return (await response.json()) as Record<string, never>;
}

test("an answer that was acted on cannot be changed in a later round", async () => {
  const server = new McpServer(me).tool("pay", {}, async (_, ctx) => {
    const amount = await ctx.elicit("how much?", z.object({ amount: z.number() }), { key: "amount" });
    const checked = await ctx.step("check", () => amount.content?.amount);
    await ctx.elicit("sure?", z.object({ sure: z.boolean() }), { key: "sure" });
    return `checked ${checked}, paid ${amount.content?.amount}`;
  }) as unknown as McpServer;
  type Round = { result: { requestState: string; inputRequests: Record<string, unknown> } };
  const asked = (await post(server, { name: "pay" })) as unknown as Round;
  deepEqual(Object.keys(asked.result.inputRequests), ["amount"]);
  const first = {
    name: "pay",
    inputResponses: { amount: accept({ amount: 10 }) },
    requestState: asked.result.requestState,
  };
  const second = (await post(server, first)) as unknown as Round;
  deepEqual(Object.keys(second.result.inputRequests), ["sure"]);
  const last = await post(server, {
    name: "pay",
    inputResponses: { amount: accept({ amount: 1_000_000 }), sure: accept({ sure: true }) },
    requestState: second.result.requestState,
  });
  equal((last as unknown as { result: { content: [{ text: string }] } }).result.content[0].text, "checked 10, paid 10");
});

for (const era of ["modern", "legacy"] as const) {
  const dial = (server: McpServer, options: ClientOptions = {}) => connect(server, { era, ...options });

  test(`steps and answers survive a round of pages (${era})`, async () => {
    let steps = 0;
    let asked = 0;
    let visited = 0;
    const server = new McpServer(me).tool("t", {}, async (_, ctx) => {
      await ctx.step("a", () => ++steps);
      await ctx.elicit("name?", z.object({ name: z.string() }));
      if (era === "modern" && visited === 0) {
        throw new UrlElicitationRequiredError([{ elicitationId: "p", message: "go", url: "https://example.com/" }]);
      }
      return "done";
    }) as unknown as McpServer;
    await using client = await dial(server, {
      onElicit: () => {
        asked += 1;
        return accept({ name: "x" });
      },
      onElicitUrl: () => {
        visited += 1;
        return { action: "accept" };
      },
    });
    equal((await client.callTool("t")).text, "done");
    deepEqual([steps, asked], [1, 1]);
  });

  test(`an error whose data cannot be written is answered all the same (${era})`, async () => {
    const reported: unknown[] = [];
    const server = new McpServer(me, { onError: (error) => reported.push(error) }).tool("t", {}, () => {
      throw new RpcError(1, "odd", { n: 1n });
    }) as unknown as McpServer;
    await using client = await dial(server);
    await rejects(client.callTool("t"), { rpcCode: -32603 });
    equal(reported.length, 1);
  });

  test(`loggers and hooks that throw change nothing (${era})`, async () => {
    const bad = () => {
      throw new Error("the logger is broken");
    };
    const logger = { debug: bad, info: bad, warn: bad, error: bad };
    const server = new McpServer(me, { logger, onError: bad }).tool("wait", {}, async (_, ctx) => {
      await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
      throw new Error("late");
    }) as unknown as McpServer;
    server.tool("quick", {}, () => "here");
    await using client = await dial(server, { logger, onError: bad, onClose: bad });
    const abort = new AbortController();
    const call = client.callTool("wait", {}, { signal: abort.signal });
    await client.callTool("quick");
    abort.abort("enough");
    await rejects(call, (reason) => reason === "enough");
    equal((await client.callTool("quick")).text, "here");
  });

  test(`closing the client ends its watches, and loses none (${era})`, async () => {
    const server = new McpServer(me).tool("t", {}, () => "x") as unknown as McpServer;
    const client = await dial(server);
    const watch = await client.watch({ toolsListChanged: true });
    const read = async () => {
      for await (const _ of watch) ok(false, "nothing changes");
    };
    const readers = Promise.all([read(), read()]);
    await client.close();
    await readers;
    equal(watch.ended, "closed");
  });
}

test("a watch that fails half way leaves no subscription behind", async () => {
  const left: string[] = [];
  const server = new McpServer(me, {
    resources: { onSubscribe: (uri) => void left.push(`+${uri}`), onUnsubscribe: (uri) => void left.push(`-${uri}`) },
    limits: { maxSubscriptions: 1 },
  }).resource("note://{id}", { name: "note" }, () => "x");
  await using client = await connect(server, { era: "legacy" });
  await rejects(client.watch({ resources: ["note://a", "note://b"] }), { rpcCode: -32005 });
  await client.ping();
  await client.ping();
  deepEqual(left, ["+note://a", "-note://a"]);
});

test("a server that will not log does not keep a client from connecting", async () => {
  const problems: Error[] = [];
  const server = new McpServer(me)
    .tool("t", {}, () => "x")
    .method("logging/setLevel", {}, () => {
      throw new RpcError(-32602, "no such level");
    });
  await using client = await connect(server, {
    era: "legacy",
    logLevel: "debug",
    onError: (error) => problems.push(error),
  });
  equal((await client.callTool("t")).text, "x");
  equal(problems.length, 1);
});

test("a channel that cannot be opened, or comes too late, is not kept", async () => {
  const server = new McpServer(me);
  const broken = { open: () => Promise.reject(new Error("no")), send() {}, close: async () => {} };
  await rejects(server.accept(broken), /no/);
  equal(server.stats().connections, 0);
  await server.close();
  await rejects(server.accept(createChannelPair()[0]), { code: "server_closing" });
});

test("every listener hears of an end, also behind one that throws", () => {
  const end = new AbortSwitch();
  const { signal } = end;
  const heard: string[] = [];
  end.onAbort(() => {
    throw new Error("first");
  });
  end.onAbort(() => heard.push("second"));
  throws(() => end.abort("over"), /first/);
  deepEqual([heard, signal.aborted, signal.reason], [["second"], true, "over"]);
});

test("limits are numbers of milliseconds", () => {
  for (const timeoutMs of [Number.NaN, -1]) throws(() => new CallLifetime("call", { timeoutMs }), RangeError);
});
