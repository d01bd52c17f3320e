import { deepEqual, equal, match, ok } from "node:assert/strict";
import { McpServer } from "bowline/server";
import { Context } from "#src/server/context.js";
import { modernWires, type World } from "../../support/each-wire.js";
import { gate } from "../../support/gate.js";
import { enveloped, type Message, rawClient } from "../../support/raw-client.js";
import { MODERN } from "../../support/server-script.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "harbour", version: "2" };
const VERSION = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const INFO = "io.modelcontextprotocol/clientInfo";
const LOG_LEVEL = "io.modelcontextprotocol/logLevel";
const sure = { type: "object", properties: { sure: { type: "boolean" } } } as const;
const alice = { name: "alice", version: "1" };
const isChannel = ({ transport }: World) => transport === "memory" || transport === "stdio";

function harbour(options = {}, ran: () => void = () => {}) {
  return new McpServer(me, options)
    .tool("who", {}, (_, ctx) => {
      ran();
      return { structuredContent: { ...ctx.client, session: ctx.sessionId }, content: [] };
    })
    .tool("ask", {}, async (_, ctx) => (await ctx.elicit("Sure?", sure)).action);
}

const call = (id: number, meta: Message): Message => ({
  id,
  method: "tools/call",
  params: { name: "who", _meta: meta },
});
const headers = { "mcp-protocol-version": MODERN, "mcp-method": "tools/call", "mcp-name": "who" };

verifies("protocol:envelope:client-info-optional", modernWires, async (world: World, t) => {
  const client = await rawClient(world, harbour(), t);
  for (const info of [undefined, "skipper", { name: 5 }, []]) {
    const { result } = await client.ask(enveloped(1, "tools/call", { name: "who" }, { [INFO]: info }));
    deepEqual(result?.structuredContent, { version: MODERN, capabilities: {} });
  }
});

verifies("lifecycle:envelope:missing-field", modernWires, async (world: World, t) => {
  let ran = 0;
  const defects: readonly [Message | undefined, RegExp][] = [
    [undefined, /_meta/],
    [{ [CAPABILITIES]: {} }, /protocolVersion/],
    [{ [VERSION]: MODERN }, /clientCapabilities/],
  ];
  for (const versions of [undefined, [MODERN]]) {
    const server = harbour(versions === undefined ? {} : { versions }, () => ran++);
    const client = await rawClient(world, server, t);
    for (const [meta, pattern] of defects) {
      // Without headers and without the version, a request to a server of both eras is of the older one.
      if (isChannel(world) && versions === undefined && meta?.[VERSION] === undefined) continue;
      const message = { id: 1, method: "tools/call", params: { name: "who", _meta: meta } };
      const { error } = await client.ask(message, headers);
      equal(error?.code, -32602);
      match(error?.message ?? "", pattern);
    }
  }
  equal(ran, 0);
});

verifies("lifecycle:envelope:malformed-field", modernWires, async (world: World, t) => {
  let ran = 0;
  const client = await rawClient(
    world,
    harbour({}, () => ran++),
    t,
  );
  for (const [meta, pattern] of [
    [{ [VERSION]: 5, [CAPABILITIES]: {} }, /protocolVersion/],
    [{ [VERSION]: null, [CAPABILITIES]: {} }, /protocolVersion/],
    [{ [VERSION]: MODERN, [CAPABILITIES]: [] }, /clientCapabilities/],
    [{ [VERSION]: MODERN, [CAPABILITIES]: "x" }, /clientCapabilities/],
  ] as const) {
    const { error } = await client.ask(call(1, meta), headers);
    equal(error?.code, -32602);
    match(error?.message ?? "", pattern);
  }
  equal(ran, 0);
});

verifies("lifecycle:envelope:precedence", modernWires, async (world: World, t) => {
  const schema = { type: "object", properties: { a: { type: "number" } }, required: ["a"] } as const;
  const requires = { extensions: { "com.example/x": {} } };
  const server = harbour().method("com.example/own", { params: schema, requires }, () => ({}));
  const client = await rawClient(world, server, t);
  const code = async (message: Message, more: Record<string, string> = {}) =>
    (await client.ask(message, more)).error?.code;
  const other = { [VERSION]: "2031-01-01" };
  if (!isChannel(world)) {
    equal(await code(call(1, { [VERSION]: MODERN }), { ...headers, "mcp-method": "tools/list" }), -32602);
    equal(await code(enveloped(2, "tools/call", { name: "who" }, other), headers), -32020);
  }
  equal(await code(enveloped(3, "com.example/none", {}, { ...other, [CAPABILITIES]: 5 })), -32602);
  equal(await code(enveloped(4, "com.example/none", {}, other)), -32022);
  equal(await code(enveloped(5, "com.example/none", { a: "x" })), -32601);
  equal(await code(enveloped(6, "com.example/own", { a: "x" })), -32021);
  equal(await code(enveloped(7, "com.example/own", { a: "x" }, { [CAPABILITIES]: requires })), -32602);
  equal(await code(enveloped(8, "com.example/own", { a: 1 }, { [CAPABILITIES]: requires })), undefined);
});

verifies("lifecycle:stateless:no-inherited-context", modernWires, async (world: World, t) => {
  const client = await rawClient(world, harbour(), t);
  const rich = { [INFO]: alice, [CAPABILITIES]: { elicitation: {} } };
  const first = await client.ask(enveloped(1, "tools/call", { name: "who" }, rich));
  deepEqual(first.result?.structuredContent, { version: MODERN, capabilities: { elicitation: {} }, info: alice });
  const second = await client.ask(enveloped(2, "tools/call", { name: "who" }));
  deepEqual(second.result?.structuredContent, { version: MODERN, capabilities: {} });
  const { error } = await client.ask(enveloped(3, "tools/call", { name: "ask" }));
  equal(error?.code, -32021);
  deepEqual(error?.data, { requiredCapabilities: { elicitation: {} } });
});

verifies(["lifecycle:stateless:interleaved", "mcpserver:tool:extra"], modernWires, async (world: World, t) => {
  const both = gate();
  let arrived = 0;
  const server = new McpServer(me).tool("meet", {}, async (_, ctx) => {
    if (++arrived === 2) both.open();
    await both.opened;
    await ctx.log("info", ctx.client.info?.name);
    await ctx.log("error", ctx.client.info?.name);
    return { structuredContent: { ...ctx.client }, content: [] };
  });
  const client = await rawClient(world, server, t);
  const bob = { name: "bob", version: "2" };
  const of = (info: object, capabilities: object, level: string) => ({
    [INFO]: info,
    [CAPABILITIES]: capabilities,
    [LOG_LEVEL]: level,
  });
  const answers = await Promise.all([
    client.ask(enveloped("a", "tools/call", { name: "meet" }, of(alice, { roots: {} }, "error"))),
    client.ask(enveloped("b", "tools/call", { name: "meet" }, of(bob, { sampling: {} }, "info"))),
  ]);
  const told = answers.map(({ result }) => result?.structuredContent as { info: object; capabilities: object });
  deepEqual(
    told.map(({ info, capabilities }) => [info, capabilities]),
    [
      [alice, { roots: {} }],
      [bob, { sampling: {} }],
    ],
  );
  const logged = client.heard.filter(({ method }) => method === "notifications/message");
  deepEqual(logged.map(({ params }) => `${params?.data} ${params?.level}`).sort(), [
    "alice error",
    "bob error",
    "bob info",
  ]);
});

verifies("lifecycle:stateless:any-connection", modernWires, async (world: World, t) => {
  const stateKeys = [{ id: "k1", secret: new Uint8Array(32).fill(7) }];
  const instance = () => {
    const server = harbour({ stateKeys, pageSize: 1 });
    return rawClient(world, server, t);
  };
  const names: unknown[] = [];
  let cursor: unknown;
  do {
    const client = await instance();
    const { result } = await client.ask(enveloped(1, "tools/list", cursor === undefined ? {} : { cursor }));
    names.push(...((result?.tools ?? []) as { name: string }[]).map(({ name }) => name));
    cursor = result?.nextCursor;
  } while (cursor !== undefined);
  deepEqual(names, ["who", "ask"]);
  const able = { [CAPABILITIES]: { elicitation: {} } };
  const asked = await (await instance()).ask(enveloped(1, "tools/call", { name: "ask" }, able));
  equal(asked.result?.resultType, "input_required");
  const { inputRequests, requestState } = asked.result as { inputRequests: object; requestState: string };
  const inputResponses = { [Object.keys(inputRequests)[0] as string]: { action: "decline" } };
  const again = enveloped(9, "tools/call", { name: "ask", inputResponses, requestState }, able);
  const { result } = await (await instance()).ask(again);
  deepEqual(result?.content, [{ type: "text", text: "decline" }]);
});

verifies("lifecycle:stateless:no-session-handle", modernWires, async (world: World, t) => {
  const client = await rawClient(world, harbour(), t);
  const { result } = await client.ask(enveloped(1, "tools/call", { name: "who" }), { "mcp-session-id": "mine" });
  deepEqual(result?.structuredContent, { version: MODERN, capabilities: {} });
});

verifies(
  "lifecycle:stateless:no-session-handle",
  "no object outlives a request on its connection",
  modernWires,
  async (world: World, t) => {
    const contexts: Context[] = [];
    const server = new McpServer(me).tool("keep", {}, (_, ctx) => {
      contexts.push(ctx);
    });
    const client = await rawClient(world, server, t);
    for (const id of [1, 2]) await client.ask(enveloped(id, "tools/call", { name: "keep" }));
    const prototypes = [Context.prototype, Object.getPrototypeOf(Context.prototype) as object];
    const members = prototypes.flatMap((prototype) => Object.entries(Object.getOwnPropertyDescriptors(prototype)));
    const getters = members.filter(([name, { get }]) => get !== undefined && name !== "__proto__");
    ok(getters.length > 5);
    const [first, second] = contexts.map((ctx) => {
      const values = getters.map(([name]) => ctx[name as keyof Context]);
      return [ctx, ...values].filter((value) => typeof value === "object" && value !== null);
    });
    deepEqual(
      first?.filter((value) => second?.includes(value)),
      [],
    );
  },
);

verifies(
  ["lifecycle:version:unsupported-error", "lifecycle:version:legacy-in-envelope"],
  modernWires,
  async (world: World, t) => {
    let ran = 0;
    const client = await rawClient(
      world,
      harbour({}, () => ran++),
      t,
    );
    const all = [MODERN, "2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"];
    for (const requested of ["2031-01-01", "garbage", "", "2025-11-25"]) {
      for (const [method, params] of [
        ["server/discover", {}],
        ["tools/call", { name: "who" }],
      ] as const) {
        const { error } = await client.ask(enveloped(1, method, params, { [VERSION]: requested }));
        equal(error?.code, -32022);
        deepEqual(error?.data, { supported: all, requested });
      }
    }
    const versions = [MODERN, "2025-06-18"];
    const strict = await rawClient(
      world,
      harbour({ versions }, () => ran++),
      t,
    );
    for (const requested of ["2025-11-25", "2025-06-18", "2024-11-05"]) {
      const disabled = await strict.ask(enveloped(1, "tools/call", { name: "who" }, { [VERSION]: requested }));
      equal(disabled.error?.code, -32022);
      deepEqual(disabled.error?.data, { supported: versions, requested });
    }
    equal(ran, 0);
  },
);
