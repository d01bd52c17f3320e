import { deepEqual, equal, ok, rejects, throws } from "node:assert/strict";
import { ConnectionError, displayName, RpcError } from "bowline/client";
import { McpServer, type ServerOptions, toolResult } from "bowline/server";
import * as z from "zod";
import { eachWire, legacyChannels, modernChannels, modernWires } from "../../support/each-wire.js";
import { AskedClient } from "../../support/raw-client.js";
import { RawServer } from "../../support/server-script.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const text = { type: "object", properties: { text: { type: "string" } }, required: ["text"] };

verifies("tools:capability:declared", eachWire, async ({ connect }) => {
  const method = (era: string | undefined) => (era === "legacy" ? "initialize" : "server/discover");
  const withTools = await connect(new McpServer(me).tool("one", {}, () => ""));
  const announced = (client: typeof withTools) => {
    const [greeting] = client.wire.responsesTo(method(client.era));
    return (greeting?.result?.capabilities ?? {}) as { readonly tools?: unknown };
  };
  deepEqual(announced(withTools).tools, { listChanged: true });
  const without = await connect(new McpServer(me).prompt("one", {}, () => ""));
  deepEqual(Object.keys(announced(without)).sort(), ["logging", "prompts"]);
  await rejects(without.listTools(), (error) => error instanceof RpcError && error.rpcCode === -32601);
});

verifies("tools:list:basic", eachWire, async ({ connect }) => {
  const server = new McpServer(me)
    .tool("first", { description: "The first", input: text }, () => "")
    .tool("second", { description: "The second", input: { type: "object" } }, () => "")
    .tool("third", { input: text }, () => "");
  const client = await connect(server);
  deepEqual((await client.listTools()).tools, [
    { name: "first", description: "The first", inputSchema: text },
    { name: "second", description: "The second", inputSchema: { type: "object", properties: {} } },
    { name: "third", inputSchema: text },
  ]);
});

verifies("tools:list:empty", eachWire, async ({ connect }) => {
  const declared = await connect(new McpServer(me, { capabilities: { tools: true } }));
  ok(declared.server.capabilities.tools !== undefined);
  deepEqual((await declared.listTools()).tools, []);
  const server = new McpServer(me).tool("only", {}, () => "");
  server.edit.tool("only").disable();
  const disabled = await connect(server);
  deepEqual((await disabled.listTools()).tools, []);
  server.removeTool("only");
  deepEqual((await disabled.listTools()).tools, []);
});

verifies("tools:list:stateless-set", modernWires, async ({ connect }) => {
  const server = new McpServer(me).tool("b", {}, () => "").tool("a", { input: text }, () => "");
  const busy = await connect(server);
  const idle = await connect(server);
  for (const name of ["b", "b"]) await busy.callTool(name);
  await busy.callTool("a", { text: "x" });
  const [one, other] = [await busy.listTools(), await idle.listTools()];
  equal(JSON.stringify(one.tools), JSON.stringify(other.tools));
  equal(one.tools.length, 2);
});

verifies("tools:list:deterministic-order", modernWires, async ({ connect }) => {
  const names = ["zebra", "ant", "mole", "bee"];
  const build = () => {
    const server = new McpServer(me);
    for (const name of names) server.tool(name, {}, () => "");
    return server;
  };
  const server = build();
  const client = await connect(server);
  const listed = async () => (await client.listTools()).tools.map(({ name }) => name);
  deepEqual(await listed(), names);
  deepEqual(await listed(), names);
  server.edit.tool("ant").disable();
  deepEqual(await listed(), ["zebra", "mole", "bee"]);
  server.edit.tool("ant").enable();
  deepEqual(await listed(), names);
  const other = await connect(build());
  deepEqual(
    (await other.listTools()).tools.map(({ name }) => name),
    names,
  );
});

verifies("tools:list:metadata", eachWire, async ({ connect }) => {
  const annotations = {
    title: "Hinted",
    readOnlyHint: false,
    destructiveHint: true,
    idempotentHint: false,
    openWorldHint: true,
  };
  const icons = [{ src: "https://example.com/i.png", mimeType: "image/png", sizes: ["48x48"], theme: "dark" as const }];
  const output = { type: "object", properties: { n: { type: "number" } }, required: ["n"] };
  const meta = { "example.com/cost": 3 };
  const server = new McpServer(me)
    .tool("all", { title: "All", description: "d", input: text, output, annotations, icons, meta }, () => ({ n: 1 }))
    .tool("none", {}, () => "");
  const client = await connect(server);
  const [all, none] = (await client.listTools()).tools;
  deepEqual(all, {
    name: "all",
    title: "All",
    description: "d",
    inputSchema: text,
    outputSchema: output,
    annotations,
    icons,
    _meta: meta,
  });
  deepEqual(Object.keys(none ?? {}).sort(), ["inputSchema", "name"]);
});

for (const era of ["modern", "legacy"] as const) {
  proves("tools:list:metadata", { wire: `${era}-memory` }, "what a server adds survives", async (t) => {
    const tool = { name: "odd", inputSchema: { type: "object", "x-own": [1] }, later: { added: true } };
    const raw = new RawServer({ era, handlers: { "tools/list": () => ({ tools: [tool], also: "here" }) } });
    const page = await (await raw.connect(t)).listTools();
    deepEqual(page.tools, [tool]);
    equal((page as { also?: unknown }).also, "here");
  });

  proves(
    "tools:name:client-lenient",
    { wire: `${era}-memory` },
    "a name against all advice can be called",
    async (t) => {
      const name = "my tool, v2";
      const raw = new RawServer({
        era,
        handlers: {
          "tools/list": () => ({ tools: [{ name, inputSchema: { type: "object" } }] }),
          "tools/call": (params) => ({ content: [{ type: "text", text: `called ${String(params.name)}` }] }),
        },
      });
      const client = await raw.connect(t);
      deepEqual(
        (await client.listTools()).tools.map((tool) => tool.name),
        [name],
      );
      equal((await client.callTool(name)).text, `called ${name}`);
    },
  );

  proves("tools:annotations:untrusted", { wire: `${era}-memory` }, "hints change nothing", async (t) => {
    for (const annotations of [undefined, { idempotentHint: true, readOnlyHint: true }]) {
      let lost: () => void = () => {};
      const asked = new Promise<void>((resolve) => {
        lost = resolve;
      });
      const outputSchema = { type: "object", required: ["n"] };
      const raw = new RawServer({
        era,
        handlers: {
          "tools/list": () => ({ tools: [{ name: "t", inputSchema: { type: "object" }, outputSchema, annotations }] }),
          "tools/call": (params) => {
            if ((params.arguments as { bad?: unknown }).bad === true) return { content: [], structuredContent: {} };
            lost();
            return new Promise(() => {});
          },
        },
      });
      const client = await raw.connect(t);
      await client.listTools();
      await rejects(client.callTool("t", { bad: true }), { code: "invalid_output" });
      const call = client.callTool("t", {});
      await asked;
      const rejected = rejects(call, ConnectionError);
      await client.close();
      await rejected;
      equal(client.wire.requests("tools/call").length, 2);
    }
  });
}

proves("tools:list:display-name", {}, "a title, for tools also in the annotations, and else the name", () => {
  const of = (title?: string, annotated?: string) =>
    displayName({ name: "n", title, ...(annotated === undefined ? {} : { annotations: { title: annotated } }) });
  equal(of(), "n");
  equal(of("T"), "T");
  equal(of(undefined, "A"), "A");
  equal(of("T", "A"), "T");
  equal(of("", "A"), "A");
  equal(of("", ""), "n");
  equal(of(undefined, ""), "n");
  equal(displayName({ name: "r", title: "R" }), "R");
  equal(displayName({ name: "r", annotations: { priority: 1 } }), "r");
});

verifies("tools:list:execution-legacy-only", legacyChannels, async (world) => {
  const server = new McpServer(me).tool("long", { task: "optional" }, () => "");
  const executionAt = async (version: string) => {
    const client = await AskedClient.open(world, server, { version });
    const { tools } = await client.result("tools/list");
    return (tools as { execution?: unknown }[])[0]?.execution;
  };
  deepEqual(await executionAt("2025-11-25"), { taskSupport: "optional" });
  equal(await executionAt("2025-06-18"), undefined);
  equal(await executionAt("2024-11-05"), undefined);
});

verifies("tools:list:execution-legacy-only", "not in this era", modernChannels, async (world) => {
  const client = await AskedClient.open(
    world,
    new McpServer(me).tool("long", { task: "optional" }, () => ""),
  );
  const { tools } = await client.result("tools/list");
  deepEqual(Object.keys((tools as object[])[0] ?? {}).sort(), ["inputSchema", "name"]);
});

verifies("tools:list:pagination", eachWire, async ({ connect }) => {
  const issued = ["AAECAw==", "//79", "Zm9v+/="];
  const seen: unknown[] = [];
  const server = new McpServer(me).method("tools/list", {}, ({ cursor }) => {
    seen.push(cursor);
    const page = cursor === undefined ? 0 : issued.indexOf(cursor as string) + 1;
    const tools = [{ name: `tool-${page}`, inputSchema: { type: "object" } }];
    return page < issued.length ? { tools, nextCursor: issued[page] } : { tools };
  });
  const client = await connect(server);
  const names: string[] = [];
  for await (const tool of client.tools()) names.push(tool.name);
  deepEqual(names, ["tool-0", "tool-1", "tool-2", "tool-3"]);
  deepEqual(seen, [undefined, ...issued]);
});

verifies(["mcpserver:tool:naming-validation", "tools:name:slash-not-allowed"], eachWire, async ({ connect }) => {
  const warnings: string[] = [];
  const options: ServerOptions = { logger: { warn: (message) => warnings.push(message) } };
  const server = new McpServer(me, options);
  const good = ["a", "x".repeat(100), "x".repeat(128), "getUser", "DATA_EXPORT_v2", "admin.tools.list"];
  for (const name of good) server.tool(name, {}, () => name);
  deepEqual(warnings, []);
  const bad = {
    "": /1 to 128/,
    ["y".repeat(129)]: /1 to 128/,
    "a b": /A-Z/,
    "a,b": /A-Z/,
    "user-profile/update": /A-Z/,
    é: /A-Z/,
  };
  for (const [name, rule] of Object.entries(bad)) {
    server.tool(name, {}, () => `called ${name}`);
    ok(rule.test(warnings.pop() ?? ""), name);
    deepEqual(warnings, []);
  }
  const client = await connect(server);
  equal((await client.listTools()).tools.length, good.length + Object.keys(bad).length);
  for (const name of ["a b", "user-profile/update"]) equal((await client.callTool(name)).text, `called ${name}`);
});

verifies("tools:name:case-sensitive", eachWire, async ({ connect }) => {
  const server = new McpServer(me)
    .tool("getUser", {}, () => "camel")
    .tool("getuser", { output: z.object({ n: z.number() }) }, () =>
      toolResult({ content: [], structuredContent: { n: 1 } }),
    )
    .tool("getUSER", { output: z.object({ s: z.string() }) }, () => ({ s: "x" }));
  const client = await connect(server);
  // What the client knows of each tool is that tool's alone.
  await client.listTools();
  equal((await client.callTool("getUser")).text, "camel");
  deepEqual((await client.callTool("getuser")).structured, { n: 1 });
  deepEqual((await client.callTool("getUSER")).structured, { s: "x" });
  await rejects(client.callTool("GETUSER"), (error) => error instanceof RpcError && error.rpcCode === -32602);
});

verifies("mcpserver:tool:duplicate-name", eachWire, async ({ connect }) => {
  const server = new McpServer(me).tool("once", {}, () => "first");
  throws(() => server.tool("once", {}, () => "second"), {
    code: "definition_error",
    message: /tool "once" is already defined/,
  });
  const client = await connect(server);
  deepEqual(
    (await client.listTools()).tools.map(({ name }) => name),
    ["once"],
  );
  equal((await client.callTool("once")).text, "first");
  server.edit.tool("once").remove();
  server.tool("once", {}, () => "third");
  equal((await client.callTool("once")).text, "third");
});
