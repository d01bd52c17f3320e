import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import { type Client, connect, createGroup, type GroupToolName, type ToolOutcome } from "bowline/client";
import { McpServer } from "bowline/server";
import * as valibot from "valibot";
import * as z from "zod";

/** Does nothing at run time: the compiler refuses what is not exactly the type. */
type Exactly<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function isExactly<A, B>(_same: Exactly<A, B>): void {}

const server = new McpServer({ name: "typed", version: "1" })
  .tool(
    "zod",
    { input: z.object({ city: z.string(), days: z.number().default(1) }), output: z.object({ celsius: z.number() }) },
    ({ city, days }) => ({ celsius: city.length + days }),
  )
  .tool(
    "valibot",
    {
      input: toStandardJsonSchema(valibot.object({ id: valibot.number() })),
      output: toStandardJsonSchema(valibot.object({ name: valibot.string() })),
    },
    ({ id }) => ({ name: `no. ${id}` }),
  )
  .tool("arktype", { input: type({ "word?": "string" }), output: type({ length: "number" }) }, ({ word = "" }) => ({
    length: word.length,
  }))
  .tool("plain", {}, () => "text")
  .prompt("review", { arguments: z.object({ code: z.string(), style: z.string().optional() }) }, ({ code }) => code)
  .prompt("hello", {}, () => "hello")
  .resource("note://{id}", { name: "note" }, ({ id }) => `note ${id}`)
  .resource("search://notes{?q}", { name: "search" }, ({ q = "" }) => `found ${q}`)
  .resource("about://me", { name: "about" }, () => "me");

const dial = () => connect<typeof server>(server);

test("tools: names, arguments and results are the server's", async () => {
  await using client = await dial();
  const forecast = await client.callTool("zod", { city: "Oslo" });
  isExactly<typeof forecast, ToolOutcome<{ celsius: number }>>(true);
  equal(forecast.structured.celsius, 5);
  equal((await client.callTool("valibot", { id: 1 })).structured.name, "no. 1");
  equal((await client.callTool("arktype")).structured.length, 0);
  equal((await client.callTool("arktype", { word: "knot" }, { timeoutMs: 1000 })).structured.length, 4);
  equal((await client.callTool("plain")).text, "text");
  isExactly<Parameters<typeof client.callTool<"zod">>[0], "zod">(true);
});

test("prompts and resources as well", async () => {
  await using client = await dial();
  const { messages } = await client.getPrompt("review", { code: "x" });
  deepEqual(messages[0]?.content, { type: "text", text: "x" });
  await client.getPrompt("hello");
  const texts = async (read: Promise<{ contents: readonly object[] }>) =>
    (await read).contents.map((part) => (part as { text?: string }).text);
  deepEqual(await texts(client.readResource("about://me")), ["me"]);
  deepEqual(await texts(client.readResource("note://{id}", { variables: { id: "a/b" } })), ["note a/b"]);
  deepEqual(await texts(client.readResource("search://notes{?q}", { variables: {} })), ["found "]);
  deepEqual(await texts(client.readResource("note://7" as string)), ["note 7"]);
});

test("what the server does not have is refused by the compiler", async () => {
  await using client = await dial();
  const refused = async () => {
    // @ts-expect-error no such tool
    await client.callTool("zot");
    // @ts-expect-error the city is missing
    await client.callTool("zod", {});
    // @ts-expect-error the arguments are missing
    await client.callTool("zod");
    // @ts-expect-error no such argument type
    await client.callTool("zod", { city: 1 });
    // @ts-expect-error the id is a number
    await client.callTool("valibot", { id: "1" });
    // @ts-expect-error the word is a text
    await client.callTool("arktype", { word: 1 });
    // @ts-expect-error no such member of the result
    (await client.callTool("zod", { city: "a" })).structured.fahrenheit;
    // @ts-expect-error what has no output schema has no members
    (await client.callTool("plain")).structured.any;
    // @ts-expect-error no such prompt
    await client.getPrompt("reviews");
    // @ts-expect-error the code is missing
    await client.getPrompt("review", { style: "x" });
    // @ts-expect-error the arguments are missing
    await client.getPrompt("review");
    // @ts-expect-error the template has no such variable
    await client.readResource("note://{id}", { variables: { no: "1" } });
    // @ts-expect-error a variable of the path is missing
    await client.readResource("note://{id}", { variables: {} });
  };
  equal(typeof refused, "function");
  await rejects((client as unknown as Client).callTool("zot"), { rpcCode: -32602 });
});

test("without a definition any name goes", async () => {
  await using client = await connect(server);
  const { structured } = await client.callTool("zod", { city: "Oslo" });
  isExactly<typeof structured, unknown>(true);
  await client.getPrompt("review", { code: "x" });
  await client.readResource("note://{id}", { variables: { id: 7 } });
  await client.readResource(String("about://me"));
  const takesAny = (any: Client) => any.era;
  equal(takesAny(client), "modern");
  await using typed = await dial();
  equal(takesAny(typed), "modern");
});

test("a group of servers is checked too", async () => {
  type Servers = { typed: typeof server };
  await using group = createGroup<Servers>({ mcpServers: { typed: server } });
  isExactly<GroupToolName<Servers>, "typed__zod" | "typed__valibot" | "typed__arktype" | "typed__plain">(true);
  equal((await group.callTool("typed__zod", { city: "Oslo" })).structured.celsius, 5);
  equal((await (await group.client("typed")).callTool("valibot", { id: 2 })).structured.name, "no. 2");
  const refused = async () => {
    // @ts-expect-error no such tool
    await group.callTool("typed__zot");
    // @ts-expect-error the city is missing
    await group.callTool("typed__zod", {});
    // @ts-expect-error the arguments are missing
    await group.callTool("typed__zod");
    // @ts-expect-error no such member
    (await group.callTool("typed__zod", { city: "a" })).structured.kelvin;
    // @ts-expect-error no such tool
    await (await group.client("typed")).callTool("zot");
  };
  equal(typeof refused, "function");
});

test("a group calls servers without types, and names that are known at run time only", async () => {
  const other = new McpServer({ name: "other", version: "1" });
  other.tool("add", { input: z.object({ a: z.number() }) }, ({ a }) => ({ sum: a + 1 }));
  type Servers = { typed: typeof server; loose: typeof other };
  await using group = createGroup<Servers>({ mcpServers: { typed: server, loose: other, other } });
  const loose = await group.callTool("loose__add", { a: 1 });
  isExactly<typeof loose, ToolOutcome<unknown>>(true);
  deepEqual(loose.structured, { sum: 2 });
  deepEqual((await group.callTool("other__add", { a: 2 })).structured, { sum: 3 });
  for await (const { name, server: from } of group.tools()) {
    if (!name.endsWith("add")) continue;
    deepEqual((await group.callTool(name, { a: 3 })).structured, { sum: 4 });
    deepEqual((await group.callTool(`${from}__add`, { a: 4 })).structured, { sum: 5 });
  }
  const tool: string = "zod";
  equal((await group.callTool(`typed__${tool}`, { city: "Oslo" })).isError, false);
  const client = await group.client("other");
  deepEqual((await client.callTool("add", { a: 5 })).structured, { sum: 6 });
  isExactly<typeof client, Client>(true);
  equal(group.status().typed.state, "ready");
  equal(group.status().other?.state, "ready");
  const [first = ""] = group.servers;
  await group.reset(first);
  await rejects(group.client("unknown"), { code: "unknown_server" });
});
