import { deepEqual, equal, match, ok, throws } from "node:assert/strict";
import { type Context, DefinitionError, inputRequired, McpServer } from "bowline/server";
import type { RecordedMessage } from "bowline/testing";
import { takeCensus } from "../../support/census.js";
import { legacyHttp, legacyWires, modernChannels, modernWires, type World } from "../../support/each-wire.js";
import { enveloped, initialize, type Message, type RawClient, rawClient } from "../../support/raw-client.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "harbour", version: "2" };
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const able = { [CAPABILITIES]: { elicitation: { form: {}, url: {} }, sampling: { tools: {} }, roots: {} } };
const sure = { type: "object", properties: { sure: { type: "boolean" } } } as const;
const decline = { action: "decline" };
const form = {
  method: "elicitation/create" as const,
  params: { mode: "form" as const, message: "?", requestedSchema: { type: "object" as const, properties: {} } },
};

const call = (id: string | number, name: string, more: Message = {}, meta: Message = able) =>
  enveloped(id, "tools/call", { name, ...more }, meta);
const keysOf = ({ result }: RecordedMessage) => Object.keys((result?.inputRequests ?? {}) as object);
const textOf = ({ result }: RecordedMessage) => (result?.content as { text: string }[] | undefined)?.[0]?.text;

function asking(work: (ctx: Context) => Promise<unknown>, options = {}) {
  return new McpServer(me, options).tool("ask", {}, async (_, ctx) => String(await work(ctx)));
}

/** A first leg, and what the second needs from it. */
async function firstLeg(client: RawClient): Promise<{ requestState: string; key: string }> {
  const asked = await client.ask(call("first", "ask"));
  equal(asked.result?.resultType, "input_required");
  return { requestState: asked.result?.requestState as string, key: keysOf(asked)[0] as string };
}

const once = async (ctx: Context) => (await ctx.elicit("Sure?", sure)).action;

verifies(
  ["typescript:mrtr:tools-call:write-once-roundtrip", "mrtr:all-methods"],
  modernWires,
  async ({ connect }: World) => {
    const server = asking(async (ctx) => {
      const { action } = await ctx.elicit("Sure?", sure);
      const { model } = await ctx.sample({ messages: [], maxTokens: 1 });
      return `${action} ${model} ${(await ctx.listRoots()).length}`;
    })
      .prompt("p", {}, async (_, ctx) => (await ctx.elicit("Sure?", sure)).action)
      .resource("a:b", { name: "r" }, async (_, ctx) => (await ctx.elicit("Sure?", sure)).action)
      .resource("t:{x}", { name: "t" }, async ({ x }, ctx) => `${x} ${(await ctx.elicit("Sure?", sure)).action}`);
    const client = await connect(server, {
      onElicit: () => ({ action: "accept", content: { sure: true } }),
      onSample: () => ({ role: "assistant", content: { type: "text", text: "x" }, model: "small" }),
      roots: [{ uri: "file:///a" }],
    });
    equal((await client.callTool("ask")).text, "accept small 1");
    const answers = client.wire.responsesTo("tools/call").map(({ result }) => result?.resultType);
    deepEqual(answers, ["input_required", "input_required", "input_required", "complete"]);
    const retry = client.wire.requests("tools/call")[1]?.params;
    deepEqual(Object.keys(retry?.inputResponses as object).length, 1);
    equal(retry?.requestState, client.wire.responsesTo("tools/call")[0]?.result?.requestState);
    const said = await client.getPrompt("p");
    deepEqual(said.messages[0]?.content, { type: "text", text: "accept" });
    deepEqual(
      (await client.readResource("a:b")).contents.map((part) => "text" in part && part.text),
      ["accept"],
    );
    deepEqual(
      (await client.readResource("t:7")).contents.map((part) => "text" in part && part.text),
      ["7 accept"],
    );
    for (const method of ["prompts/get", "resources/read"]) {
      equal(client.wire.responsesTo(method)[0]?.result?.resultType, "input_required");
    }
    deepEqual(client.wire.serverRequests(), []);
  },
);

verifies("mrtr:server:supported-methods", modernWires, async (world: World, t) => {
  const problems: unknown[] = [];
  const asks = inputRequired({ inputRequests: { k: form } }) as never;
  const server = new McpServer(me, { onError: (error) => problems.push(error) })
    .tool("t", {}, () => "x")
    .resource("a:{x}", { name: "r", complete: { x: () => asks } }, () => "y")
    .method("com.example/own", {}, () => asks);
  server.use((served, next) => (["tools/list", "server/discover"].includes(served.method) ? asks : next(served)));
  const client = await rawClient(world, server, t);
  const completion = { ref: { type: "ref/resource", uri: "a:{x}" }, argument: { name: "x", value: "" } };
  for (const [method, params] of [
    ["tools/list", {}],
    ["server/discover", {}],
    ["com.example/own", {}],
    ["completion/complete", completion],
  ] as const) {
    const { error } = await client.ask(enveloped(method, method, params, able));
    deepEqual(error, { code: -32603, message: "Internal error" }, method);
  }
  equal(problems.length, 4);
});

verifies(["mrtr:server:at-least-one", "mrtr:server:request-kinds"], modernWires, async (world: World, t) => {
  throws(() => inputRequired({}), DefinitionError);
  throws(() => inputRequired({ inputRequests: {} }), DefinitionError);
  const problems: unknown[] = [];
  const made: Record<string, unknown> = {
    neither: { resultType: "input_required" },
    empty: { resultType: "input_required", inputRequests: {} },
    stranger: { resultType: "input_required", inputRequests: { k: { method: "x/y", params: {} } } },
    bare: { resultType: "input_required", inputRequests: { k: { method: "elicitation/create" } } },
    framed: { resultType: "input_required", inputRequests: { k: { ...form, id: 1, jsonrpc: "2.0" } } },
    state: inputRequired({ state: { step: 1 } }),
    requests: inputRequired({ inputRequests: { k: form } }),
  };
  const server = new McpServer(me, { onError: (error) => problems.push(error) });
  for (const [name, result] of Object.entries(made)) server.tool(name, {}, () => result as never);
  const client = await rawClient(world, server, t);
  const bad = ["neither", "empty", "stranger", "bare", "framed"];
  for (const name of bad) equal((await client.ask(call(name, name))).error?.code, -32603, name);
  equal(problems.length, bad.length);
  equal(typeof (await client.ask(call(1, "state"))).result?.requestState, "string");
  const asked = await client.ask(call(2, "requests"));
  deepEqual(asked.result?.inputRequests, { k: form });
  equal(asked.result?.requestState, undefined);
});

verifies("mrtr:server:keys-unique", modernWires, async (world: World, t) => {
  const problems: unknown[] = [];
  const server = asking((ctx) => Promise.all(["a", "b"].map((message) => ctx.elicit(message, sure, { key: "k" }))), {
    onError: (error: unknown) => problems.push(error),
  });
  const client = await rawClient(world, server, t);
  const answer = await client.ask(call(1, "ask"));
  ok(answer.error !== undefined || answer.result?.isError === true);
  match(JSON.stringify([answer, ...problems.map(String)]), /two questions have the key/);
});

verifies("mrtr:server:capability-gate", modernWires, async (world: World, t) => {
  const questions: readonly [string, (ctx: Context) => Promise<unknown>, object, object][] = [
    ["form", (ctx) => ctx.elicit("?", sure), { elicitation: {} }, { url: { elicitation: { url: {} } } }],
    [
      "url",
      (ctx) => ctx.elicitUrl("?", "https://example.com"),
      { elicitation: { url: {} } },
      { bare: { elicitation: {} } },
    ],
    ["sample", (ctx) => ctx.sample({ messages: [], maxTokens: 1 }), { sampling: {} }, { none: {} }],
    [
      "tools",
      (ctx) => ctx.sample({ messages: [], maxTokens: 1, tools: [] }),
      { sampling: { tools: {} } },
      { plain: { sampling: {} } },
    ],
    ["roots", (ctx) => ctx.listRoots(), { roots: {} }, { none: {} }],
  ];
  const server = new McpServer(me);
  for (const [name, ask] of questions) server.tool(name, {}, async (_, ctx) => String(await ask(ctx)));
  const client = await rawClient(world, server, t);
  for (const [name, , enough, short] of questions) {
    const served = await client.ask(call(1, name, {}, { [CAPABILITIES]: enough }));
    equal(served.result?.resultType, "input_required", name);
    for (const declared of [{}, ...Object.values(short)]) {
      const { error } = await client.ask(call(2, name, {}, { [CAPABILITIES]: declared }));
      equal(error?.code, -32021, name);
      const [needed] = Object.keys(enough);
      ok(
        needed !== undefined &&
          needed in ((error?.data as { requiredCapabilities: object } | undefined)?.requiredCapabilities ?? {}),
      );
    }
  }
});

verifies("mrtr:server:capability-gate", "of what a handler writes itself", modernWires, async (world: World, t) => {
  const url = { message: "?", mode: "url", url: "https://example.com", elicitationId: "e" };
  const sample = { messages: [], maxTokens: 1 };
  const questions: Readonly<Record<string, readonly [request: object, missing: object, enough: object]>> = {
    form: [form, { elicitation: {} }, { elicitation: {} }],
    url: [{ method: "elicitation/create", params: url }, { elicitation: { url: {} } }, { elicitation: { url: {} } }],
    sample: [{ method: "sampling/createMessage", params: sample }, { sampling: {} }, { sampling: {} }],
    roots: [{ method: "roots/list" }, { roots: {} }, { roots: {} }],
  };
  const server = new McpServer(me);
  for (const [name, [request]] of Object.entries(questions)) {
    server.tool(name, {}, () => inputRequired({ inputRequests: { fine: form, k: request } as never }) as never);
  }
  const client = await rawClient(world, server, t);
  for (const [name, [, missing, enough]] of Object.entries(questions)) {
    const declared = name === "form" ? {} : { elicitation: { form: {} } };
    const refused = await client.ask(call(1, name, {}, { [CAPABILITIES]: declared }));
    deepEqual([refused.error?.code, refused.error?.data], [-32021, { requiredCapabilities: missing }], name);
    const both = { ...enough, elicitation: { form: {}, ...(enough as { elicitation?: object }).elicitation } };
    const served = await client.ask(call(2, name, {}, { [CAPABILITIES]: both }));
    equal(served.result?.resultType, "input_required", name);
  }
});

verifies("mrtr:server:independent-legs", modernWires, async (world: World, t) => {
  const stateKeys = [{ id: "k1", secret: new Uint8Array(32).fill(7) }];
  const a = asking(once, { stateKeys });
  const first = await rawClient(world, a, t);
  const { requestState, key } = await firstLeg(first);
  const second = await rawClient(world, asking(once, { stateKeys }), t);
  equal(textOf(await second.ask(call(2, "ask", { requestState, inputResponses: { [key]: decline } }))), "decline");
});

verifies(
  "mrtr:server:independent-legs",
  "ten thousand first legs without a retry leave nothing behind",
  modernChannels.slice(0, 1),
  async (world: World, t) => {
    // Most legs have no state: a seal costs more than the rest of a leg.
    const server = asking(once).tool("plain", {}, () => inputRequired({ inputRequests: { k: form } }) as never);
    const client = await rawClient(world, server, t);
    const abandonLegs = async (total: number) => {
      for (let made = 0; made < total; made += 100) {
        for (let leg = 0; leg < 100; leg++) client.send(call(leg, leg < 5 ? "ask" : "plain"));
        await client.until((heard) => heard.length === 100);
        ok(client.heard.every(({ result }) => result?.resultType === "input_required"));
        client.heard.length = 0;
      }
      return { stats: server.stats(), census: await takeCensus() };
    };
    const before = await abandonLegs(1_000);
    const after = await abandonLegs(10_000);
    deepEqual(after.stats, before.stats);
    equal(after.stats.running, 0);
    deepEqual(after.census.resources, before.census.resources);
    const growth = after.census.heap - before.census.heap;
    ok(growth < 600_000, `the heap grew by ${growth} bytes`);
  },
);

verifies("mrtr:server:responses-to-handler", modernWires, async (world: World, t) => {
  const seen: unknown[] = [];
  const server = new McpServer(me).tool("ask", {}, (_, ctx) => {
    seen.push([ctx.inputResponses, ctx.requestState]);
    if (ctx.inputResponses !== undefined) return "done";
    return inputRequired({ inputRequests: { k: form }, state: { step: 1 } }) as never;
  });
  const client = await rawClient(world, server, t);
  const { requestState, key } = await firstLeg(client);
  await client.ask(call(2, "ask", { requestState, inputResponses: { [key]: decline } }));
  await client.ask(call(3, "ask", { inputResponses: { [key]: decline } }));
  deepEqual(seen, [
    [undefined, undefined],
    [{ k: decline }, { step: 1 }],
    [{ k: decline }, undefined],
  ]);
});

verifies(
  [
    "mrtr:server:validate-input-responses",
    "mrtr:server:ignore-extra",
    "mrtr:server:missing-rerequest",
    "mrtr:server:state-type",
  ],
  modernWires,
  async (world: World, t) => {
    const both = async (ctx: Context) => {
      const asks = ["a", "b"].map((key) => ctx.elicit(`${key}?`, sure, { key }));
      return (await Promise.all(asks)).map(({ action }) => action).join();
    };
    const client = await rawClient(world, asking(both), t);
    let { requestState } = await firstLeg(client);
    const retry = (inputResponses: unknown, state: unknown = requestState) =>
      client.ask(call(2, "ask", { requestState: state, inputResponses }));
    for (const wrong of ["x", [decline], { a: 5 }, { a: {}, b: decline }, { a: { action: "maybe" }, b: decline }]) {
      equal((await retry(wrong)).error?.code, -32602);
    }
    for (const state of [5, {}, []]) equal((await retry({ a: decline, b: decline }, state)).error?.code, -32602);
    const answered = { a: decline, b: { action: "cancel" } };
    equal(textOf(await retry({ ...answered, zz: { any: [1] } })), "decline,cancel");
    for (const nothing of [{}, { wrong: decline }]) {
      ({ requestState } = await firstLeg(client));
      deepEqual(keysOf(await retry(nothing)), ["a", "b"]);
    }
    ({ requestState } = await firstLeg(client));
    const partial = await retry({ a: decline });
    deepEqual(keysOf(partial), ["b"]);
    equal(textOf(await retry({ b: decline }, partial.result?.requestState)), "decline,decline");
  },
);

verifies("mrtr:legacy-shim:capability-gate", "a client that cannot answer", legacyWires, async ({ connect }: World) => {
  const client = await connect(asking(once));
  const { isError, text } = await client.callTool("ask");
  equal(isError, true);
  match(text, /elicitation/);
  deepEqual(client.wire.serverRequests(), []);
});
verifies("mrtr:legacy-shim:capability-gate", "no way to reach it", legacyHttp, async (world: World, t) => {
  const client = await rawClient(world, asking(once, { http: { sessions: false } }), t);
  await client.ask(initialize(1, "2025-11-25", { capabilities: { elicitation: {} } }));
  const answer = await client.ask({ id: 2, method: "tools/call", params: { name: "ask" } });
  ok(answer.error !== undefined || answer.result?.isError === true);
});

proves(
  "mrtr:server:supported-methods",
  { wire: "legacy-memory" },
  "an older client never sees a question as a result",
  async (t) => {
    const world = await (modernChannels[0] as (typeof modernChannels)[number]).open(t);
    const server = new McpServer(me).tool("ask", {}, () => inputRequired({ state: 1 }) as never);
    const client = await rawClient(world, server, t);
    await client.ask(initialize(1));
    equal((await client.ask({ id: 2, method: "tools/call", params: { name: "ask" } })).error?.code, -32603);
  },
);
