import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { type ClientExtension, connect, OutputError, ProtocolError, RpcError, withParams } from "bowline/client";
import { McpServer } from "bowline/server";
import * as z from "zod";
import { legacyWires, modernWires, type World } from "../../support/each-wire.js";
import { gate } from "../../support/gate.js";
import { enveloped, rawClient } from "../../support/raw-client.js";
import { RawServer, ServerScript } from "../../support/server-script.js";
import { proves, verifies } from "../../support/verifies.js";

const ID = "com.example/parcel";
const CAPABILITIES = "io.modelcontextprotocol/clientCapabilities";
const modern = { wire: "modern-memory" };

/** Tools answer with a ticket; the extension fetches what it stands for. */
const parcel: ClientExtension = {
  id: ID,
  methods: ["com.example/fetch"],
  results: {
    "com.example/ticket": {
      method: "tools/call",
      async resolve({ ticket }, { request }) {
        if (ticket === "lost") throw new RangeError("lost on the way");
        return request("com.example/fetch", { ticket });
      },
    },
  },
};

function postOffice(content: object = { n: 1 }, ticket = "7") {
  return new RawServer({
    era: "modern",
    capabilities: { tools: {}, prompts: {}, extensions: { [ID]: {} } },
    handlers: {
      "tools/list": () => ({
        ttlMs: 0,
        cacheScope: "private",
        tools: [
          {
            name: "t",
            inputSchema: { type: "object" },
            outputSchema: { type: "object", properties: { n: { type: "number" } } },
          },
        ],
      }),
      "tools/call": () => ({ resultType: "com.example/ticket", ticket }),
      "prompts/get": () => ({ resultType: "com.example/ticket", ticket }),
      "com.example/fetch": () => ({ resultType: "complete", content: [], structuredContent: content }),
    },
  });
}

proves("extensions:client:claimed-result-resolved", modern, "its owner makes an ordinary result of it", async (t) => {
  const client = await postOffice().connect(t, { extensions: [parcel] });
  await client.listTools();
  deepEqual((await client.callTool("t")).structured, { n: 1 });
  deepEqual(client.wire.requests("com.example/fetch")[0]?.params?.ticket, "7");
  const wrong = await postOffice({ n: "one" }).connect(t, { extensions: [parcel] });
  await wrong.listTools();
  await rejects(wrong.callTool("t"), OutputError);
  const lost = await postOffice({}, "lost").connect(t, { extensions: [parcel] });
  await rejects(lost.callTool("t"), new RangeError("lost on the way"));
});

proves("protocol:result-type:supported-set", modern, "what was not advertised is no result", async (t) => {
  const unknown = (error: unknown) => error instanceof ProtocolError && error.message.includes("com.example/ticket");
  const client = await postOffice().connect(t, { extensions: [parcel] });
  deepEqual((await client.callTool("t")).structured, { n: 1 });
  await rejects(client.getPrompt("p"), unknown);
  await rejects(client.callTool("t", {}, { capabilities: {} }), unknown);
  await rejects(client.callTool("t", {}, { capabilities: { extensions: { "com.example/other": {} } } }), unknown);
  const without = await postOffice().connect(t);
  await rejects(without.callTool("t"), unknown);
});

const quiet = { id: "com.example/quiet", settings: { loud: false } };

verifies("extensions:client:capability-ad:legacy-omits-claimed", legacyWires, async ({ connect: dial }: World) => {
  const server = new McpServer({ name: "s", version: "1" }).tool("who", {}, (_, ctx) =>
    JSON.stringify(ctx.client.capabilities.extensions),
  );
  const client = await dial(server, { extensions: [parcel, quiet] });
  deepEqual(JSON.parse((await client.callTool("who")).text), { "com.example/quiet": quiet.settings });
  const bare = await dial(server, { extensions: [parcel] });
  equal(JSON.stringify(bare.wire.frames).includes(ID), false);
});

proves("extensions:client:notification-binding-delivery", modern, "one by one, and only what fits", async (t) => {
  const heard: unknown[] = [];
  const problems: string[] = [];
  const [first, slow, last] = [gate(), gate(), gate()];
  const server = postOffice();
  const others: string[] = [];
  await server.connect(t, {
    onError: (problem) => problems.push(problem.message),
    onNotification: ({ method }) => void others.push(method),
    extensions: [
      {
        id: ID,
        notifications: {
          "com.example/moved": withParams(z.object({ n: z.number() }), async ({ n }) => {
            heard.push(`${n} begins`);
            if (n === 1) {
              first.open();
              await slow.opened;
            }
            heard.push(`${n} ends`);
            if (n === 3) last.open();
          }),
        },
      },
    ],
  });
  for (const n of [1, "two", 2, 3]) server.notify("com.example/moved", { n });
  await first.opened;
  deepEqual(heard, ["1 begins"]);
  slow.open();
  await last.opened;
  deepEqual(
    heard,
    [1, 2, 3].flatMap((n) => [`${n} begins`, `${n} ends`]),
  );
  equal(problems.length, 1);
  match(problems[0] ?? "", /^Invalid params: \/n .*expected number/);
  deepEqual(others, []);
});

verifies(
  "extensions:fallback-or-reject",
  "the server alone, and the client alone",
  modernWires,
  async (world: World, t) => {
    const extended = new McpServer({ name: "s", version: "1" }, { capabilities: { extensions: { [ID]: {} } } })
      .tool("plain", {}, () => "core")
      .method("com.example/fetch", { requires: { extensions: { [ID]: {} } } }, () => ({}));
    const raw = await rawClient(world, extended, t);
    equal((await raw.ask(enveloped(1, "tools/call", { name: "plain" }))).result?.resultType, "complete");
    equal((await raw.ask(enveloped(2, "com.example/fetch"))).error?.code, -32021);
  },
);

verifies("extensions:fallback-or-reject", "the client alone", modernWires, async ({ connect: dial }: World) => {
  const client = await dial(
    new McpServer({ name: "s", version: "1" }).tool("plain", {}, () => "core"),
    {
      extensions: [parcel],
    },
  );
  equal((await client.callTool("plain")).text, "core");
  const frames = client.wire.requests().length;
  await rejects(client.request("com.example/fetch", { ticket: "7" }), (error) => {
    ok(error instanceof RpcError && error.local);
    match(error.message, /com\.example\/fetch was not sent: .*com\.example\/parcel/);
    return true;
  });
  equal(client.wire.requests().length, frames);
});

const SETTINGS = [
  [{}, true],
  [{ a: 1 }, true],
  [null, false],
  [true, false],
  [[], false],
] as const;

for (const era of ["modern", "legacy"] as const) {
  proves("extensions:settings:empty-object", { wire: `${era}-memory` }, "of a server", async (t) => {
    for (const [settings, active] of SETTINGS) {
      const script = new ServerScript();
      const capabilities = { tools: {}, extensions: { [ID]: settings } };
      if (era === "modern") script.modern(capabilities);
      else script.legacy(undefined, capabilities);
      script.on("com.example/fetch", { result: {} });
      const client = await connect({ channel: script.channel }, { era, extensions: [parcel] });
      t.after(() => client.close());
      const fetched = client.request("com.example/fetch");
      if (active) await fetched;
      else await rejects(fetched, (error) => error instanceof RpcError && error.local);
    }
  });
}

const requiring = () =>
  new McpServer({ name: "s", version: "1" }).method(
    "com.example/fetch",
    { requires: { extensions: { [ID]: {} } } },
    () => ({ done: true }),
  );

verifies("extensions:settings:empty-object", "of a client", modernWires, async (world: World, t) => {
  const client = await rawClient(world, requiring(), t);
  for (const [index, [settings, active]] of SETTINGS.entries()) {
    const declared = { [CAPABILITIES]: { extensions: { [ID]: settings } } };
    const { result, error } = await client.ask(enveloped(index, "com.example/fetch", {}, declared));
    deepEqual([result?.done, error?.code], active ? [true, undefined] : [undefined, -32021]);
  }
});

verifies("extensions:settings:empty-object", "of a client", legacyWires, async ({ connect: dial }: World) => {
  for (const [settings, active] of SETTINGS) {
    const extensions = { [ID]: settings } as unknown as Record<string, Record<string, never>>;
    const client = await dial(requiring(), { capabilities: { extensions } });
    const fetched = client.request("com.example/fetch");
    if (active) equal((await fetched).done, true);
    else await rejects(fetched, RpcError);
  }
});
