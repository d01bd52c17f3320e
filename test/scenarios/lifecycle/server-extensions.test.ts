import { deepEqual, equal, match, ok, rejects, throws } from "node:assert/strict";
import { type ClientExtension, DefinitionError, RpcError } from "bowline/client";
import { McpServer, ServerExtension } from "bowline/server";
import * as z from "zod";
import { decodeHeaderValue } from "#src/http/headers.js";
import { eachWire, legacyWires, modernHttp, modernWires, type World } from "../../support/each-wire.js";
import { gate } from "../../support/gate.js";
import { RawServer } from "../../support/server-script.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "harbour", version: "2" };
const TIDE = "com.example/tide";
const PARCEL = "com.example/parcel";

const hasCode = (code: number) => (error: unknown) => error instanceof RpcError && error.rpcCode === code;
const declaring = (id: string, settings = {}) => ({ capabilities: { extensions: { [id]: settings } } });

function tide(onMoored: (ship: string) => void = () => {}) {
  return new ServerExtension({
    id: TIDE,
    settings: { unit: "m" },
    clientSettings: z.object({ datum: z.string().optional() }),
  })
    .method("com.example/tide/at", { params: z.object({ hour: z.number() }) }, ({ hour }) => ({ metres: hour / 2 }))
    .onNotification("notifications/com.example/moored", { params: z.object({ ship: z.string() }) }, ({ ship }) =>
      onMoored(ship),
    );
}

verifies("extensions:methods:owned", "its methods come and go with it", eachWire, async ({ connect }: World) => {
  const moored = gate();
  const ships: string[] = [];
  const extension = tide((ship) => {
    ships.push(ship);
    moored.open();
  });
  const client = await connect(new McpServer(me).extend(extension), declaring(TIDE));
  deepEqual(client.server.capabilities.extensions, { [TIDE]: { unit: "m" } });
  equal((await client.request("com.example/tide/at", { hour: 3 })).metres, 1.5);
  await client.notify("notifications/com.example/moored", { ship: "Fram" });
  await moored.opened;
  deepEqual(ships, ["Fram"]);

  const without = await connect(
    new McpServer(me).tool("t", {}, () => ""),
    declaring(TIDE),
  );
  equal("extensions" in without.server.capabilities, false);
  await rejects(without.request("com.example/tide/at", { hour: 3 }), hasCode(-32601));
  await without.notify("notifications/com.example/moored", { ship: "Gjøa" });
  await without.listTools();
  deepEqual(ships, ["Fram"]);
});

verifies("extensions:methods:owned", "they are for those who declare it", modernWires, async ({ connect }: World) => {
  const client = await connect(new McpServer(me).extend(tide()));
  await rejects(client.request("com.example/tide/at", { hour: 3 }), (error) => {
    ok(hasCode(-32021)(error));
    deepEqual((error as RpcError).data, { requiredCapabilities: { extensions: { [TIDE]: {} } } });
    return true;
  });
});

/** An extension that clients need not declare. */
const berths = () =>
  new ServerExtension({
    id: TIDE,
    serverOnly: true,
    settings: { unit: "m" },
    clientSettings: z.object({ datum: z.string() }),
  }).method("com.example/berths/list", { params: z.object({ pier: z.number() }) }, ({ pier }) => ({ free: [pier] }));

verifies("ext:server-only", "its methods are for all clients", eachWire, async ({ connect }: World) => {
  for (const options of [{}, declaring(TIDE), declaring(TIDE, { datum: 7 }), declaring(PARCEL)]) {
    const client = await connect(new McpServer(me).extend(berths()), options);
    deepEqual(client.server.capabilities.extensions, { [TIDE]: { unit: "m" } });
    deepEqual((await client.request("com.example/berths/list", { pier: 2 })).free, [2]);
    await rejects(client.request("com.example/berths/list", { pier: "two" }), hasCode(-32602));
  }
});

verifies("ext:server-only", "all calls pass what it wraps around them", eachWire, async ({ connect }: World) => {
  const wrapped: string[] = [];
  const extension = berths().use((call, next) => {
    wrapped.push(call.method);
    return next(call);
  });
  const server = new McpServer(me)
    .extend(extension)
    .tool("datum", {}, (_, ctx) => extension.settingsOf(ctx)?.datum ?? "none");
  const client = await connect(server);
  equal((await client.callTool("datum")).text, "none");
  const declares = await connect(server, declaring(TIDE, { datum: "NN" }));
  equal((await declares.callTool("datum")).text, "NN");
  equal(wrapped.filter((method) => method === "tools/call").length, 2);
});

verifies(
  "extensions:untrusted-input",
  "what does not fit its schemas is not used",
  eachWire,
  async ({ connect }: World) => {
    const extension = tide();
    const server = new McpServer(me)
      .tool("datum", {}, (_, ctx) => JSON.stringify(extension.settingsOf(ctx) ?? "none"))
      .extend(extension);
    const client = await connect(server, declaring(TIDE, { datum: "NN" }));
    await rejects(client.request("com.example/tide/at", { hour: "three" }), hasCode(-32602));
    await rejects(client.request("com.example/tide/at"), hasCode(-32602));
    equal((await client.callTool("datum")).text, '{"datum":"NN"}');
    const result = z.object({ metres: z.string() });
    await rejects(client.request("com.example/tide/at", { hour: 1 }, { result }), /metres/);

    const malformed = await connect(server, declaring(TIDE, { datum: 7 }));
    equal((await malformed.callTool("datum")).text, '"none"');
    await rejects(malformed.request("com.example/tide/at", { hour: 3 }), hasCode(-32021));
  },
);

proves(
  "extensions:untrusted-input",
  { wire: "modern-memory" },
  "a server whose settings do not fit has not got it",
  async (t) => {
    const handlers = { "com.example/tide/at": () => ({ resultType: "complete", metres: 1 }) };
    const own: ClientExtension = {
      id: TIDE,
      methods: ["com.example/tide/at"],
      serverSettings: z.object({ unit: z.enum(["m", "ft"]) }),
    };
    const dial = (settings: object) => {
      const server = new RawServer({ era: "modern", capabilities: { extensions: { [TIDE]: settings } }, handlers });
      return server.connect(t, { extensions: [own] });
    };
    const fits = await dial({ unit: "m" });
    equal((await fits.request("com.example/tide/at")).metres, 1);
    const odd = await dial({ unit: "fathom" });
    await rejects(odd.request("com.example/tide/at"), (error) => error instanceof RpcError && error.local);
    equal(odd.wire.requests("com.example/tide/at").length, 0);
  },
);

proves("extensions:conflict", {}, "nothing has two owners", () => {
  const one = () =>
    new ServerExtension({ id: "com.example/one", results: { ticket: "tools/call" } })
      .method("x/get", {}, () => ({}))
      .onNotification("notifications/x", {}, () => {})
      .topic("xs", () => undefined);
  const other = (results = {}) => new ServerExtension({ id: "com.example/other", results });
  const both = /com\.example\/other and by com\.example\/one/;
  const conflicts: readonly [() => unknown, RegExp][] = [
    [() => new McpServer(me).extend(one()).extend(one()), /^extensions: com\.example\/one is already installed$/],
    [() => new McpServer(me, declaring("com.example/one")).extend(one()), /one is claimed by .* capabilities/],
    [() => new McpServer(me).extend(one()).extend(other().method("x/get", {}, () => ({}))), both],
    [() => new McpServer(me).extend(one()).extend(other().onNotification("notifications/x", {}, () => {})), both],
    [() => new McpServer(me).extend(one()).extend(other({ ticket: "tools/call" })), both],
    [() => new McpServer(me).extend(one()).extend(other().topic("xs", () => undefined)), both],
    [() => new McpServer(me).extend(other().method("tools/call", {}, () => ({}))), /other and by the protocol/],
    [
      () => new McpServer(me).extend(other().onNotification("notifications/cancelled", {}, () => {})),
      /other and by the protocol/,
    ],
    [() => new McpServer(me).extend(other({ input_required: "tools/call" })), /other and by the protocol/],
    [() => new McpServer(me).extend(other({ complete: "tools/call" })), /other and by the protocol/],
    [() => new McpServer(me).extend(other().topic("toolsListChanged", () => undefined)), /other and by the protocol/],
    [
      () => new McpServer(me).method("x/get", {}, () => ({})).extend(one()),
      /one and already defined with server\.method\(\)/,
    ],
  ];
  for (const [define, words] of conflicts) {
    throws(define, (error) => {
      ok(error instanceof DefinitionError);
      match(error.message, words);
      return true;
    });
  }
});

/** Answers calls with a ticket, and says what the ticket stands for when asked. */
function parcels() {
  const kept = new Map<string, unknown>();
  return new ServerExtension({ id: PARCEL, results: { ticket: "tools/call" } })
    .method("com.example/fetch", { params: z.object({ ticket: z.string() }) }, ({ ticket }) => kept.get(ticket))
    .use(async (call, next) => {
      const result = await next(call);
      if (call.method !== "tools/call") return result;
      const ticket = String(kept.size + 1);
      kept.set(ticket, result);
      return { resultType: "ticket", ticket };
    });
}

const collecting: ClientExtension = {
  id: PARCEL,
  methods: ["com.example/fetch"],
  results: {
    ticket: { method: "tools/call", resolve: ({ ticket }, { request }) => request("com.example/fetch", { ticket }) },
  },
};

const post = () =>
  new McpServer(me)
    .tool("greet", {}, () => "hello")
    .prompt("p", {}, () => "hi")
    .extend(parcels())
    .extend(tide());

verifies(
  "extensions:fallback-or-reject",
  "a call is answered by a result of its own, for those who can read it",
  modernWires,
  async ({ connect }: World) => {
    const able = await connect(post(), { extensions: [collecting] });
    equal((await able.callTool("greet")).text, "hello");
    deepEqual(
      able.wire.responsesTo("tools/call").map(({ result }) => result?.resultType),
      ["ticket"],
    );
    equal((await able.getPrompt("p")).messages.length, 1);
    const plain = await connect(post());
    equal((await plain.callTool("greet")).text, "hello");
    equal(plain.wire.responsesTo("tools/call")[0]?.result?.resultType, "complete");
  },
);

verifies(
  "extensions:capability:legacy-handshake",
  "one that needs types of results does not exist without them",
  legacyWires,
  async ({ connect }: World) => {
    const client = await connect(post(), declaring(PARCEL));
    deepEqual(client.server.capabilities.extensions, { [TIDE]: { unit: "m" } });
    equal((await client.callTool("greet")).text, "hello");
    await rejects(client.request("com.example/fetch", { ticket: "1" }), hasCode(-32601));
    const alone = await connect(new McpServer(me).extend(parcels()));
    equal("extensions" in alone.server.capabilities, false);
  },
);

verifies(
  "client-transport:http:vendor-name-param-header",
  "a method says what it is about in a header too, and the server compares",
  modernHttp,
  async ({ connect }: World) => {
    const track = new ServerExtension({ id: PARCEL }).method(
      "com.example/track",
      { params: z.object({ parcel: z.string() }), nameFrom: "parcel" },
      ({ parcel }) => ({ parcel }),
    );
    const server = () => new McpServer(me).extend(track);
    const own: ClientExtension = {
      id: PARCEL,
      methods: ["com.example/track"],
      names: { "com.example/track": "parcel" },
    };
    const client = await connect(server(), { extensions: [own] });
    equal((await client.request("com.example/track", { parcel: "øl" })).parcel, "øl");
    const sent = client.wire.exchanges.find(({ body }) => body?.includes("com.example/track"));
    equal(decodeHeaderValue(sent?.header("mcp-name") ?? ""), "øl");

    const silent = await connect(server(), declaring(PARCEL));
    await rejects(silent.request("com.example/track", { parcel: "øl" }), hasCode(-32020));
    equal(silent.wire.exchanges.at(-1)?.status, 400);
  },
);
