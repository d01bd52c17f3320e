import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import { connect, type ToolOutcome } from "bowline/client";
import { type Context, McpServer, ServerExtension, toolResult } from "bowline/server";
import { McpServer as ModernServer } from "bowline/server/modern";
import * as z from "zod";

/** Does nothing at run time: the compiler refuses what is not exactly the type. */
type Exactly<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function isExactly<A, B>(_same: Exactly<A, B>): void {}

const create = () => new McpServer({ name: "typed", version: "1" });

test("a tool, prompt, method or notification needs no options", async () => {
  const seen: unknown[] = [];
  const server = create()
    .tool("now", () => "noon")
    .tool("who", (args, ctx) => {
      isExactly<typeof args, Record<string, never>>(true);
      isExactly<typeof ctx, Context>(true);
      return ctx.client.info?.name ?? "nobody";
    })
    .prompt("greet", (args) => `hello ${args.name}`)
    .method("com.example/add", ({ a, b }) => ({ sum: Number(a) + Number(b) }))
    .extend(
      new ServerExtension({ id: "com.example/e", serverOnly: true }).method("com.example/e/at", () => ({ at: 1 })),
    )
    .onNotification("notifications/com.example/seen", (params) => void seen.push(params));
  await using client = await connect<typeof server>(server, { info: { name: "ann", version: "1" } });
  equal((await client.callTool("now")).text, "noon");
  equal((await client.callTool("who")).text, "ann");
  equal((await client.callTool("now", { a: 1 })).isError, true);
  const { messages } = await client.getPrompt("greet", { name: "bob" });
  deepEqual(messages[0]?.content, { type: "text", text: "hello bob" });
  equal((await client.request("com.example/add", { a: 1, b: 2 })).sum, 3);
  equal((await client.request("com.example/e/at")).at, 1);
  await client.notify("notifications/com.example/seen", { a: 1 });
  await client.ping();
  deepEqual(seen, [{ a: 1 }]);
});

test("a handler without an output schema may return anything", async () => {
  const server = create()
    .tool("late", () => new Promise((r) => setImmediate(() => r("late"))))
    .tool("later", {}, () => new Promise((r) => setImmediate(() => r("later"))))
    .tool("described", { description: "d", input: z.object({ a: z.string() }) }, ({ a }) => new Promise((r) => r(a)))
    .tool("nothing", () => {})
    .tool("maybe", (_, ctx) => (ctx.signal.aborted ? undefined : Promise.resolve(null)))
    .tool("whole", async () => toolResult({ content: [], structuredContent: { a: 1 } }))
    .tool("many", async function* () {
      yield 1;
      return { a: 1 };
    });
  await using client = await connect<typeof server>(server);
  equal((await client.callTool("late")).text, "late");
  equal((await client.callTool("later")).text, "later");
  equal((await client.callTool("described", { a: "x" })).text, "x");
  deepEqual((await client.callTool("nothing")).content, []);
  deepEqual((await client.callTool("maybe")).content, []);
  deepEqual((await client.callTool("whole")).structured, { a: 1 });
  deepEqual((await client.callTool("many")).structured, { a: 1 });
});

test("a handler with an output schema returns what matches it", () => {
  const output = z.object({ a: z.number() });
  const wrong = () =>
    create()
      // @ts-expect-error a is a number
      .tool("plain", { output }, () => ({ a: "1" }))
      // @ts-expect-error a is a number
      .tool("late", { output }, async () => ({ a: "1" }))
      // @ts-expect-error a is missing
      .tool("empty", { output }, () => ({}))
      // @ts-expect-error there is no argument b
      .tool("args", { input: z.object({ a: z.string() }) }, ({ b }) => b)
      // @ts-expect-error there are no arguments
      .tool("none", {}, ({ a }: { a: string }) => a)
      // @ts-expect-error there are no arguments
      .tool("none", ({ a }: { a: string }) => a);
  equal(typeof wrong, "function");
});

test("completers have the names of variables and arguments", () => {
  const complete = { idd: () => ["1"] };
  const wrong = () =>
    create()
      // @ts-expect-error the template has no variable idd
      .resource("note://{id}{?q}", { name: "n", complete: { idd: () => ["1"] } }, () => "")
      // @ts-expect-error the resource has no variables
      .resource("note://1", { name: "n", complete: { id: () => ["1"] } }, () => "")
      // @ts-expect-error the prompt has no argument idd
      .prompt("p", { arguments: z.object({ id: z.string() }), complete: { idd: () => ["1"] } }, () => "");
  equal(typeof wrong, "function");
  const template: string = "late://{idd}";
  create()
    .resource("note://{id}{?q}", { name: "n", complete: { id: (typed) => [typed], q: () => [] } }, ({ id }) => id)
    .resource(template, { name: "n", complete }, () => "")
    .prompt("p", { arguments: z.object({ id: z.string() }), complete: { id: (typed) => [typed] } }, ({ id }) => id)
    .prompt("json", { arguments: { type: "object", properties: { idd: { type: "string" } } }, complete }, () => "")
    .prompt("any", { complete }, ({ idd = "" }) => idd);
});

/** Adds tools to the server that it is given, whatever the server has. */
function addClock<S extends McpServer>(server: S) {
  return server.tool("clock", { output: z.object({ hour: z.number() }) }, () => ({ hour: 12 }));
}

test("a server in several files keeps its types and its class", async () => {
  const server = addClock(create().tool("first", () => "1")).tool("last", () => "2");
  const plain: McpServer = server;
  equal(plain, server);
  await using client = await connect<typeof server>(server);
  const clock = await client.callTool("clock");
  isExactly<typeof clock, ToolOutcome<{ hour: number }>>(true);
  equal(clock.structured.hour, 12);
  equal((await client.callTool("first")).text, "1");
  equal((await client.callTool("last")).text, "2");
  const modern: ModernServer = new ModernServer({ name: "m", version: "1" }).tool("a", () => "a");
  equal(modern.info.name, "m");
});

test("a server whose definitions are not chained is not typed", async () => {
  const server = create();
  server.tool("add", { input: z.object({ a: z.number() }) }, ({ a }) => ({ sum: a + 1 }));
  server.prompt("greet", { arguments: z.object({ name: z.string() }) }, ({ name }) => name);
  server.resource("note://{id}", { name: "note" }, ({ id }) => id);
  await using client = await connect<typeof server>(server);
  const { structured } = await client.callTool("add", { a: 1 });
  isExactly<typeof structured, unknown>(true);
  deepEqual(structured, { sum: 2 });
  equal((await client.getPrompt("greet", { name: "ann" })).messages.length, 1);
  equal((await client.readResource("note://{id}", { variables: { id: "1" } })).contents.length, 1);
});
