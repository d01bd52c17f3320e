import { deepEqual, equal, rejects, throws } from "node:assert/strict";
import { McpServer } from "bowline/server";
import * as z from "zod";
import { eachWire } from "../../support/each-wire.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const notFound = (error: unknown) => [-32602, -32002].includes((error as { rpcCode: number }).rpcCode);

verifies("mcpserver:resource:static", eachWire, async ({ connect }) => {
  const server = new McpServer(me).resource("note://one", { name: "one", mimeType: "text/plain" }, () => "first");
  const client = await connect(server);
  deepEqual(await client.resources().all(), [{ uri: "note://one", name: "one", mimeType: "text/plain" }]);
  deepEqual((await client.readResource("note://one")).contents, [
    { uri: "note://one", mimeType: "text/plain", text: "first" },
  ]);
  for (const uri of ["note://one/", "note://On", "note://one?x"]) await rejects(client.readResource(uri), notFound);
});

verifies("mcpserver:resource:template", eachWire, async ({ connect }) => {
  const server = new McpServer(me).resource("note://{id}", { name: "note" }, ({ id }) => `note ${id}`);
  const client = await connect(server);
  deepEqual(await client.resources().all(), []);
  deepEqual(await client.resourceTemplates().all(), [{ uriTemplate: "note://{id}", name: "note" }]);
  deepEqual((await client.readResource("note://7")).contents, [{ uri: "note://7", text: "note 7" }]);
  await rejects(client.readResource("other://7"), notFound);
});

verifies(
  ["mcpserver:resource:template-list-callback", "mcpserver:resource:metadata-override"],
  eachWire,
  async ({ connect }) => {
    const server = new McpServer(me, { pageSize: 1 })
      .resource(
        "note://{id}",
        {
          name: "note",
          title: "A note",
          description: "of many",
          mimeType: "text/plain",
          list: () => [{ uri: "note://1" }, { uri: "note://2", name: "second", title: "The second" }],
        },
        ({ id }) => `note ${id}`,
      )
      .resource("one://a", { name: "a" }, () => "a")
      .resource("one://b", { name: "b" }, () => "b");
    const client = await connect(server);
    const inherited = { description: "of many", mimeType: "text/plain" };
    deepEqual(await client.resources().all(), [
      { uri: "one://a", name: "a" },
      { uri: "one://b", name: "b" },
      { uri: "note://1", name: "note", title: "A note", ...inherited },
      { uri: "note://2", name: "second", title: "The second", ...inherited },
    ]);
    for (const id of ["1", "2"]) {
      const [contents] = (await client.readResource(`note://${id}`)).contents;
      deepEqual(contents, { uri: `note://${id}`, mimeType: "text/plain", text: `note ${id}` });
    }
  },
);

verifies("mcpserver:resource:duplicate-name", eachWire, async ({ connect }) => {
  const server = new McpServer(me)
    .resource("note://one", { name: "one" }, () => "first")
    .resource("note://{id}", { name: "many" }, () => "family");
  for (const uri of ["note://one", "note://{id}"]) {
    throws(() => server.resource(uri, { name: "again" }, () => "second"), {
      code: "definition_error",
      message: /already defined/,
    });
  }
  const client = await connect(server);
  deepEqual((await client.readResource("note://one")).contents, [{ uri: "note://one", text: "first" }]);
});

const review = z.object({
  tone: z.enum(["dry", "warm"]).describe("How to say it"),
  to: z.string().default("everybody"),
  from: z.string().optional(),
});

verifies(["mcpserver:prompt:args-validation", "mcpserver:prompt:decorated"], eachWire, async ({ connect }) => {
  let ran = 0;
  const server = new McpServer(me).prompt("review", { description: "Reviews", arguments: review }, ({ tone, to }) => {
    ran++;
    return `Review it, ${tone}, for ${to}`;
  });
  const client = await connect(server);
  deepEqual(await client.prompts().all(), [
    {
      name: "review",
      description: "Reviews",
      arguments: [{ name: "tone", description: "How to say it", required: true }, { name: "to" }, { name: "from" }],
    },
  ]);
  await rejects(client.getPrompt("review", { tone: "loud" }), { rpcCode: -32602, message: /\/arguments\/tone / });
  equal(ran, 0);
  equal(client.wire.responsesTo("prompts/get")[0]?.result, undefined);
  const { messages, description } = await client.getPrompt("review", { tone: "dry", to: "me" });
  equal(description, "Reviews");
  deepEqual(messages, [{ role: "user", content: { type: "text", text: "Review it, dry, for me" } }]);
});

verifies("mcpserver:prompt:optional-args", eachWire, async ({ connect }) => {
  const optional = z.object({ a: z.string().optional(), b: z.string().default("B") });
  const server = new McpServer(me).prompt("p", { arguments: optional }, ({ a, b }) => `${a} ${b}`);
  const client = await connect(server);
  const said = async (args?: Record<string, string>) => {
    const [message] = (await client.getPrompt("p", args)).messages;
    return message?.content.type === "text" ? message.content.text : undefined;
  };
  equal(await said(), "undefined B");
  equal(await said({}), "undefined B");
  equal(await said({ a: "A" }), "A B");
  equal(await said({ b: "C" }), "undefined C");
  equal("arguments" in (client.wire.requests("prompts/get")[0]?.params ?? {}), false);
});

verifies("mcpserver:prompt:duplicate-name", eachWire, async ({ connect }) => {
  const server = new McpServer(me).prompt("p", {}, () => "first");
  throws(() => server.prompt("p", {}, () => "second"), {
    code: "definition_error",
    message: /prompt "p" is already defined/,
  });
  const client = await connect(server);
  const [message] = (await client.getPrompt("p")).messages;
  deepEqual(message?.content, { type: "text", text: "first" });
});

verifies("mcpserver:completion:capability-auto", eachWire, async ({ connect }) => {
  const completions = async (server: McpServer) => (await connect(server)).server.capabilities.completions;
  const complete = { a: () => ["x"] };
  const plain = new McpServer(me);
  plain.prompt("p", { arguments: z.object({ a: z.string() }) }, () => "").resource("r://{a}", { name: "r" }, () => "");
  equal(await completions(plain), undefined);
  const prompt = new McpServer(me);
  prompt.prompt("p", { arguments: z.object({ a: z.string() }), complete }, () => "");
  deepEqual(await completions(prompt), {});
  const template = new McpServer(me);
  template.resource("r://{a}", { name: "r", complete }, () => "");
  deepEqual(await completions(template), {});
});
