import { deepEqual, equal, ok, rejects, throws } from "node:assert/strict";
import { McpServer, type ServerOptions } from "bowline/server";
import * as z from "zod";
import { eachWire, legacyWires, modernWires, type RecordedClient, type World } from "../../support/each-wire.js";
import { gate } from "../../support/gate.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const ALL = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };

type Listening = { readonly client: RecordedClient; readonly settled: () => Promise<string[]> };

/** Resource whose changes mark the end of earlier ones. */
const MARK = "mark://";

/** Lists the resources without the mark. */
async function resourcesOf(client: RecordedClient) {
  return (await client.resources().all()).filter(({ uri }) => uri !== MARK);
}

/** A client that hears of every change. `settled` tells what came since it was last asked, once all has come. */
async function listening(world: World, server: McpServer): Promise<Listening> {
  const changed: string[] = [];
  let marked = gate();
  server.resource(MARK, { name: "mark" }, () => "");
  const client = await world.connect(server, {
    onNotification: ({ method, params }) => {
      if (params?.uri === MARK) marked.open();
      else if (method.endsWith("list_changed")) changed.push(method.split("/")[1] ?? "");
    },
  });
  await client.watch({ ...ALL, resources: [MARK] });
  const settled = async () => {
    await Promise.resolve();
    marked = gate();
    server.changes.resourceUpdated(MARK);
    await marked.opened;
    return changed.splice(0);
  };
  return { client, settled };
}

function everyKind(options: ServerOptions = {}): McpServer {
  const server = new McpServer(me, options);
  server
    .tool("t", {}, () => "t")
    .prompt("p", {}, () => "p")
    .resource("r://1", { name: "r" }, () => "r")
    .resource("f://{id}", { name: "f" }, ({ id }) => `f ${id}`);
  return server;
}

verifies("tools:list-changed", legacyWires, async (world) => {
  const server = everyKind();
  const { client, settled } = await listening(world, server);
  server.tool("late", {}, () => "");
  deepEqual(await settled(), ["tools"]);
  server.edit.tool("late").update({ description: "new" });
  deepEqual(await settled(), ["tools"]);
  server.removeTool("late");
  deepEqual(await settled(), ["tools"]);
  equal((await client.listTools()).tools.length, 1);
  const quiet = everyKind({ capabilities: { tools: { listChanged: false } } });
  const silent = await listening(world, quiet);
  quiet.tool("late", {}, () => "");
  quiet.changes.toolsChanged();
  deepEqual(await silent.settled(), []);
});

verifies("tools:listen:list-changed", modernWires, async ({ connect }) => {
  const server = everyKind();
  const heard: string[] = [];
  const clients = await Promise.all(
    ["tools", "prompts", "none"].map((name) =>
      connect(server, { onNotification: ({ method }) => void heard.push(`${name} ${method}`) }),
    ),
  );
  const filters = [{ toolsListChanged: true }, { promptsListChanged: true }];
  const watches = await Promise.all(
    filters.map((filter, index) => clients[index]?.watch({ ...filter, resources: ["r://1"] })),
  );
  server.tool("late", {}, () => "");
  await Promise.resolve();
  server.changes.resourceUpdated("r://1");
  const first = await Promise.all(
    watches.map(async (watch) => {
      const kinds: string[] = [];
      for await (const { kind } of watch ?? []) {
        kinds.push(kind);
        if (kind === "resource") break;
      }
      return kinds;
    }),
  );
  deepEqual(first, [["tools", "resource"], ["resource"]]);
  deepEqual(
    heard.filter((line) => line.endsWith("list_changed")),
    ["tools notifications/tools/list_changed"],
  );
});

verifies("mcpserver:tool:handle-update", eachWire, async (world) => {
  const server = everyKind();
  server.tool("other", {}, () => "other");
  const { client, settled } = await listening(world, server);
  const handle = server.edit.tool("t");
  const output = { type: "object", required: ["n"] };
  handle.update({ title: "T", description: "d", annotations: { readOnlyHint: true }, meta: { k: 1 } });
  deepEqual(await settled(), ["tools"]);
  handle.update({
    input: z.object({ n: z.number() }),
    output,
    handler: (args) => ({ n: (args as { n: number }).n + 1 }),
  });
  deepEqual(await settled(), ["tools"]);
  deepEqual((await client.listTools()).tools[0], {
    name: "t",
    title: "T",
    description: "d",
    inputSchema: { type: "object", properties: { n: { type: "number" } }, required: ["n"] },
    outputSchema: output,
    annotations: { readOnlyHint: true },
    _meta: { k: 1 },
  });
  deepEqual((await client.callTool("t", { n: 1 })).structured, { n: 2 });
  equal((await client.callTool("t", { n: "x" })).isError, true);
  throws(() => handle.update({ name: "other" }), { code: "definition_error" });
  equal((await client.callTool("other")).text, "other");
  handle.update({ name: "renamed" });
  deepEqual(await settled(), ["tools"]);
  deepEqual(
    (await client.listTools()).tools.map(({ name }) => name),
    ["renamed", "other"],
  );
  await rejects(client.callTool("t", { n: 1 }), { rpcCode: -32602 });
  deepEqual((await client.callTool("renamed", { n: 2 })).structured, { n: 3 });
});

verifies("mcpserver:tool:handle-remove", eachWire, async ({ connect }) => {
  const began = gate();
  const release = gate();
  const server = new McpServer(me).tool("slow", {}, async () => {
    began.open();
    await release.opened;
    return "finished";
  });
  const client = await connect(server);
  const running = client.callTool("slow");
  await began.opened;
  server.edit.tool("slow").remove();
  deepEqual((await client.listTools()).tools, []);
  await rejects(client.callTool("slow"), { rpcCode: -32602 });
  release.open();
  equal((await running).text, "finished");
});

verifies("mcpserver:handle:enable-disable", eachWire, async (world) => {
  const server = everyKind();
  const { client, settled } = await listening(world, server);
  const kinds = [
    { kind: "tools", edit: server.edit.tool("t"), size: () => client.tools().all(), use: () => client.callTool("t") },
    {
      kind: "prompts",
      edit: server.edit.prompt("p"),
      size: () => client.prompts().all(),
      use: () => client.getPrompt("p"),
    },
    {
      kind: "resources",
      edit: server.edit.resource("r://1"),
      size: () => resourcesOf(client),
      use: () => client.readResource("r://1"),
    },
    {
      kind: "resources",
      edit: server.edit.resource("f://{id}"),
      size: () => client.resourceTemplates().all(),
      use: () => client.readResource("f://9"),
    },
  ];
  for (const { kind, edit, size, use } of kinds) {
    edit.disable();
    deepEqual(await settled(), [kind]);
    edit.disable();
    deepEqual(await settled(), []);
    equal((await size()).length, 0);
    await rejects(use(), (error) => [-32602, -32002].includes((error as { rpcCode: number }).rpcCode));
    edit.enable();
    deepEqual(await settled(), [kind]);
    edit.enable();
    deepEqual(await settled(), []);
    equal((await size()).length, 1);
    await use();
  }
});

verifies("mcpserver:resource:handle-update-remove", eachWire, async (world) => {
  const server = everyKind();
  const { client, settled } = await listening(world, server);
  const textAt = async (uri: string) => {
    const [contents] = (await client.readResource(uri)).contents;
    return contents !== undefined && "text" in contents ? contents.text : undefined;
  };
  const gone = (uri: string) =>
    rejects(client.readResource(uri), (error) => [-32602, -32002].includes((error as { rpcCode: number }).rpcCode));
  const single = server.edit.resource("r://1");
  single.update({ uri: "r://2", title: "Two", handler: () => "second" });
  deepEqual(await settled(), ["resources"]);
  await gone("r://1");
  equal(await textAt("r://2"), "second");
  deepEqual(await resourcesOf(client), [{ uri: "r://2", name: "r", title: "Two" }]);
  const family = server.edit.resource("f://{id}");
  family.update({ uri: "g://{id}" });
  deepEqual(await settled(), ["resources"]);
  await gone("f://1");
  equal(await textAt("g://1"), "f 1");
  throws(() => family.update({ uri: "g://fixed" }), { code: "definition_error" });
  single.remove();
  family.remove();
  deepEqual(await settled(), ["resources"]);
  deepEqual(await resourcesOf(client), []);
  deepEqual(await client.resourceTemplates().all(), []);
  await gone("r://2");
});

verifies("mcpserver:prompt:handle-update-remove", eachWire, async (world) => {
  const server = everyKind();
  const { client, settled } = await listening(world, server);
  const handle = server.edit.prompt("p");
  handle.update({
    arguments: z.object({ tone: z.enum(["dry", "warm"]) }),
    handler: (args) => `tone ${(args as { tone: string }).tone}`,
  });
  deepEqual(await settled(), ["prompts"]);
  deepEqual(await client.prompts().all(), [{ name: "p", arguments: [{ name: "tone", required: true }] }]);
  await rejects(client.getPrompt("p", { tone: "loud" }), { rpcCode: -32602 });
  deepEqual((await client.getPrompt("p", { tone: "dry" })).messages[0]?.content, { type: "text", text: "tone dry" });
  handle.remove();
  deepEqual(await settled(), ["prompts"]);
  deepEqual(await client.prompts().all(), []);
  await rejects(client.getPrompt("p", { tone: "dry" }), { rpcCode: -32602 });
});

verifies("mcpserver:register:post-connect", eachWire, async (world) => {
  const server = everyKind();
  const { client, settled } = await listening(world, server);
  server
    .tool("t2", {}, () => "t2")
    .prompt("p2", {}, () => "p2")
    .resource("r://2", { name: "r2" }, () => "r2");
  deepEqual((await settled()).sort(), ["prompts", "resources", "tools"]);
  deepEqual(
    (await client.tools().all()).map(({ name }) => name),
    ["t", "t2"],
  );
  deepEqual(
    (await client.prompts().all()).map(({ name }) => name),
    ["p", "p2"],
  );
  deepEqual(
    (await resourcesOf(client)).map(({ name }) => name),
    ["r", "r2"],
  );
  server.removeTool("t2");
  server.removePrompt("p2");
  server.removeResource("r://2");
  deepEqual((await settled()).sort(), ["prompts", "resources", "tools"]);
  deepEqual(
    (await client.tools().all()).map(({ name }) => name),
    ["t"],
  );
});

verifies("mcpserver:capability:list-changed-default", eachWire, async (world) => {
  const { client } = await listening(world, everyKind());
  const { tools, prompts, resources } = client.server.capabilities;
  deepEqual([tools?.listChanged, prompts?.listChanged, resources?.listChanged], [true, true, true]);
  const off = { listChanged: false };
  const quiet = everyKind({ capabilities: { tools: off, prompts: off, resources: off } });
  const silent = await listening(world, quiet);
  const said = silent.client.server.capabilities;
  deepEqual([said.tools?.listChanged, said.prompts?.listChanged, said.resources?.listChanged], [false, false, false]);
  quiet
    .tool("t2", {}, () => "")
    .prompt("p2", {}, () => "")
    .resource("r://2", { name: "r2" }, () => "");
  deepEqual(await silent.settled(), []);
});

verifies("mcpserver:list-changed:debounce", eachWire, async (world) => {
  const server = everyKind();
  const { client, settled } = await listening(world, server);
  for (let n = 0; n < 20; n++) server.tool(`burst-${n}`, {}, () => "");
  for (let n = 0; n < 2; n++) server.prompt(`burst-${n}`, {}, () => "");
  deepEqual((await settled()).sort(), ["prompts", "tools"]);
  equal((await client.tools().all()).length, 21);
  server.tool("first", {}, () => "");
  await Promise.resolve();
  server.tool("while it is sent", {}, () => "");
  deepEqual(await settled(), ["tools", "tools"]);
  equal((await client.tools().all()).length, 23);
});

verifies("mcpserver:list-changed:before-connect", eachWire, async (world) => {
  const { client, settled } = await listening(world, everyKind());
  deepEqual(await settled(), []);
  ok(client.wire.frames.length > 0);
  ok(!client.wire.frames.some(({ text }) => text.includes("list_changed")));
});

verifies("mcpserver:reach-through:set-request-handler", eachWire, async ({ connect }) => {
  const server = new McpServer(me)
    .tool("t", {}, () => "t")
    .method("resources/list", {}, () => ({ resources: [{ uri: "own://1", name: "own" }] }));
  const client = await connect(server);
  ok(client.server.capabilities.resources !== undefined);
  deepEqual(await resourcesOf(client), [{ uri: "own://1", name: "own" }]);
  equal((await client.callTool("t")).text, "t");
  throws(() => server.resource("r://1", { name: "r" }, () => ""), {
    code: "definition_error",
    message: /resources\/list/,
  });
  throws(() => server.method("tools/call", {}, () => ({})), { code: "definition_error", message: /tools\/call/ });
  deepEqual(await resourcesOf(client), [{ uri: "own://1", name: "own" }]);
});
