import { deepEqual, equal, match, ok, throws } from "node:assert/strict";
import type { TestContext } from "node:test";
import {
  DefinitionError,
  inputRequired,
  McpServer,
  RpcError,
  type ServerOptions,
  type StateCodec,
} from "bowline/server";
import { createChannelPair, FakeClock, type RecordedMessage } from "bowline/testing";
import { modernWires, type World } from "../../support/each-wire.js";
import { enveloped, type Message, type RawClient, rawClient } from "../../support/raw-client.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "harbour", version: "2" };
const wire = { wire: "modern-memory" };
const able = { "io.modelcontextprotocol/clientCapabilities": { elicitation: {} } };
const identity: StateCodec = { encode: (state) => state, decode: (text) => text };
const sure = { type: "object", properties: { sure: { type: "boolean" } } } as const;
const REFUSED = { code: -32602, message: "Invalid params: /requestState is not valid" };

/** A tool that hands out a state and, with one, says what was in it; its questions keep what was done before them. */
function harbour(options: ServerOptions) {
  const input = { type: "object", properties: { a: { type: "number" } } } as const;
  return new McpServer(me, options)
    .tool("keep", { input }, (_, ctx) => {
      return ctx.requestState === undefined ? inputRequired({ state: { mark: 7 } }) : JSON.stringify(ctx.requestState);
    })
    .tool("other", { input }, () => "done");
}

const call = (more: Message = {}, name = "keep"): Message =>
  enveloped("call", "tools/call", { name, arguments: { a: 1 }, ...more }, able);

const stateOf = (answer: RecordedMessage): string => answer.result?.requestState as string;
const saidBy = (answer: RecordedMessage) => (answer.result?.content as { text: string }[] | undefined)?.[0]?.text;

async function memory(t: TestContext, server: McpServer, principal = "alice"): Promise<RawClient> {
  const channel = async () => {
    const [ours, theirs] = createChannelPair();
    await server.accept(theirs, { principal });
    t.after(() => server.close());
    return ours;
  };
  return rawClient({ era: "modern", transport: "memory", channel } as unknown as World, server, t);
}

verifies("request-state:custom-codec", modernWires, async (world: World, t) => {
  const reversed = (text: string) => [...text].reverse().join("");
  const codec: StateCodec = { encode: reversed, decode: async (text) => reversed(text) };
  const client = await rawClient(world, harbour({ stateCodec: codec }), t);
  const requestState = stateOf(await client.ask(call()));
  ok(reversed(requestState).startsWith("[") && requestState.includes(reversed("mark")), "the codec has the last word");
  equal(saidBy(await client.ask(call({ requestState }))), '{"mark":7}');
  deepEqual((await client.ask(call({ requestState }, "other"))).error, REFUSED);
  deepEqual((await client.ask(call({ requestState, arguments: { a: 2 } }))).error, REFUSED);
});

proves("request-state:custom-codec", wire, "expiry, caller, request and single use are kept around it", async (t) => {
  const clock = new FakeClock();
  const used = new Set<string>();
  const acceptState = (id: string) => !used.has(id) && used.add(id) !== undefined;
  const reasons: string[] = [];
  const onError = (error: unknown) => reasons.push((error as Error).message);
  const server = harbour({ stateCodec: identity, clock, limits: { stateTtlMs: 1000 }, acceptState, onError });
  const alice = await memory(t, server);
  const first = stateOf(await alice.ask(call()));
  deepEqual((await (await memory(t, server, "bob")).ask(call({ requestState: first }))).error, REFUSED);
  deepEqual((await alice.ask(call({ requestState: first }, "other"))).error, REFUSED);
  equal(saidBy(await alice.ask(call({ requestState: first }))), '{"mark":7}');
  deepEqual((await alice.ask(call({ requestState: first }))).error, REFUSED);
  const second = stateOf(await alice.ask(call()));
  clock.advance(61_001);
  deepEqual((await alice.ask(call({ requestState: second }))).error, REFUSED);
  for (const requestState of ["", "garbage", "null", "[]", '["id"]', "{}"]) {
    deepEqual((await alice.ask(call({ requestState }))).error, REFUSED, requestState);
  }
  ok(!first.includes("alice"), "the caller's name does not travel");
  const told = [/another request or caller/, /another request or caller/, /acceptState returned false/, /expired/];
  for (const [at, reason] of told.entries()) match(reasons[at] ?? "", reason);
});

proves("request-state:custom-codec", wire, "whatever it throws", async (t) => {
  const thrown: readonly unknown[] = [new Error("broken"), new RpcError(-32000, "told"), "words", undefined, null];
  for (const reason of thrown) {
    const fail = () => {
      throw reason;
    };
    const reader = await memory(t, harbour({ stateCodec: { ...identity, decode: fail } }));
    const requestState = stateOf(await reader.ask(call()));
    deepEqual((await reader.ask(call({ requestState }))).error, REFUSED);
    const writer = await memory(t, harbour({ stateCodec: { ...identity, encode: async () => fail() } }));
    deepEqual((await writer.ask(call())).error, { code: -32603, message: "Internal error" });
  }
  const wordless = await memory(t, harbour({ stateCodec: { ...identity, encode: () => 7 as never } }));
  equal((await wordless.ask(call())).error?.code, -32603);
  const stateKeys = [{ id: "k", secret: new Uint8Array(32) }];
  throws(() => harbour({ stateKeys, stateCodec: identity }), DefinitionError);
});

/** `tools/call` answered by hand. */
function byHand(sealState: boolean | undefined, requestState: unknown = "page-2") {
  const server = new McpServer(me, { capabilities: { tools: true } });
  const options = sealState === undefined ? {} : { sealState };
  return server.method("tools/call", options, async (params, ctx) => {
    if (params.name === "ask") return { content: [{ type: "text", text: (await ctx.elicit("?", sure)).action }] };
    if (ctx.requestState !== undefined) return { content: [{ type: "text", text: String(ctx.requestState) }] };
    return { resultType: "input_required", requestState };
  });
}

verifies("request-state:low-level-opt-in", modernWires, async (world: World, t) => {
  const sealed = await rawClient(world, byHand(true), t);
  const requestState = stateOf(await sealed.ask(call()));
  ok(!requestState.includes("page-2"));
  equal(saidBy(await sealed.ask(call({ requestState }))), "page-2");
  deepEqual((await sealed.ask(call({ requestState: "page-2" }))).error, REFUSED);
  deepEqual((await sealed.ask(call({ requestState, arguments: {} }))).error, REFUSED);

  for (const option of [undefined, false]) {
    const bare = await rawClient(world, byHand(option), t);
    equal(stateOf(await bare.ask(call())), "page-2");
    equal(saidBy(await bare.ask(call({ requestState: "page-2" }))), "page-2");
    equal(saidBy(await bare.ask(call({ requestState: "page-9" }))), "page-9");
    const question = await bare.ask(call({}, "ask"));
    const [key = ""] = Object.keys(question.result?.inputRequests as object);
    const answered = { requestState: stateOf(question), inputResponses: { [key]: { action: "decline" } } };
    equal(saidBy(await bare.ask(call(answered, "ask"))), "decline", "questions go on as elsewhere");
    const unwritable = await rawClient(world, byHand(option, { page: 2 }), t);
    equal((await unwritable.ask(call())).error?.code, -32603);
  }
});
