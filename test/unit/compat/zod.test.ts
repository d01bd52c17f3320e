import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { test } from "node:test";
import { type Client, connect } from "bowline/client";
import { completable, McpServer, ResourceTemplate, Server } from "bowline/compat";
import * as z4 from "zod";
import * as mini from "zod/mini";
import * as z from "zod/v3";

const INFO = { name: "moving", version: "1.0.0" };
const text = (text: string) => ({ content: [{ type: "text" as const, text }] });

/** Makes a schema like those of zod 3 before 3.24, which are no Standard Schemas. */
function older<S extends z.ZodTypeAny>(schema: S): S {
  Object.defineProperty(schema, "~standard", { value: undefined });
  return schema;
}

async function inEachEra(server: McpServer | Server, check: (client: Client) => Promise<void>): Promise<void> {
  for (const era of ["legacy", "modern"] as const) {
    const client = await connect(server.bowline, { era });
    try {
      await check(client);
    } finally {
      await client.close();
    }
  }
}

test("a shape of zod 3 describes a tool and validates its arguments", async () => {
  const server = new McpServer(INFO);
  server.registerTool(
    "add",
    {
      inputSchema: { a: z.number().describe("First"), b: z.number().default(1), c: z.string().optional() },
      outputSchema: { sum: z.number() },
    },
    ({ a, b }) => ({ ...text(`${a + b}`), structuredContent: { sum: a + b } }),
  );
  await inEachEra(server, async (client) => {
    const [add] = await client.tools().all();
    deepEqual(add?.inputSchema, {
      type: "object",
      properties: {
        a: { type: "number", description: "First" },
        b: { type: "number", default: 1 },
        c: { type: "string" },
      },
      required: ["a"],
    });
    deepEqual(add?.outputSchema?.required, ["sum"]);
    const { structured } = await client.callTool("add", { a: 2 });
    deepEqual(structured, { sum: 3 });
    const refused = await client.callTool("add", { a: "two" });
    equal(refused.isError, true);
    match(refused.text, /\/a /);
  });
});

test("an object of zod 3 is an input schema, with transforms and refinements that wait", async () => {
  const inputSchema = z
    .object({ who: z.string().transform((name) => name.toUpperCase()) })
    .strict()
    .refine(async ({ who }) => who !== "NOBODY", "nobody is no one");
  const server = new McpServer(INFO);
  server.registerTool("greet", { inputSchema }, ({ who }) => text(who));
  await inEachEra(server, async (client) => {
    const [greet] = await client.tools().all();
    equal(greet?.inputSchema.additionalProperties, false);
    equal((await client.callTool("greet", { who: "ann" })).text, "ANN");
    match((await client.callTool("greet", { who: "nobody" })).text, /nobody is no one/);
    equal((await client.callTool("greet", { who: "ann", age: 1 })).isError, true);
  });
});

test("schemas of zod 3 before 3.24 are accepted, also beside those of zod 4", async () => {
  const server = new McpServer(INFO);
  const whole = older(z.object({ a: z.string() }));
  server.registerTool("whole", { inputSchema: whole }, ({ a }) => text(a));
  server.registerTool("shape", { inputSchema: { a: older(z.string()), b: z4.number() } }, ({ a, b }) =>
    text(`${a} ${b}`),
  );
  server.tool("deprecated", { a: older(z.string()) }, ({ a }) => text(a));
  await inEachEra(server, async (client) => {
    for (const tool of await client.tools().all()) match(JSON.stringify(tool.inputSchema), /"a":{"type":"string"}/);
    equal((await client.callTool("whole", { a: "x" })).text, "x");
    equal((await client.callTool("shape", { a: "x", b: 1 })).text, "x 1");
    equal((await client.callTool("deprecated", { a: "x" })).text, "x");
    equal((await client.callTool("deprecated", { a: 1 })).isError, true);
  });
});

test("a prompt of zod 3 has arguments and completions", async () => {
  const server = new McpServer(INFO);
  const city = completable(z.string(), (typed) => [`${typed}lo`]).optional();
  server.registerPrompt("weather", { argsSchema: { city, day: z.string() } }, ({ city, day }) => ({
    messages: [{ role: "user", content: { type: "text", text: `${city} ${day}` } }],
  }));
  server.registerResource("note", new ResourceTemplate("note://{id}", { list: undefined }), {}, (uri) => ({
    contents: [{ uri: uri.href, text: "" }],
  }));
  await inEachEra(server, async (client) => {
    const [weather] = await client.prompts().all();
    deepEqual(weather?.arguments, [{ name: "city" }, { name: "day", required: true }]);
    const { values } = await client.complete({ type: "ref/prompt", name: "weather" }, { name: "city", value: "Os" });
    deepEqual(values, ["Oslo"]);
    await rejects(client.getPrompt("weather", {}), { rpcCode: -32602 });
  });
});

test("a request schema of zod 3 validates a method", async () => {
  const server = new Server(INFO, { capabilities: { tools: {} } });
  const schema = z.object({ method: z.literal("acme/count"), params: z.object({ of: z.string() }) });
  server.setRequestHandler(schema, ({ params }) => ({ count: params.of.length }));
  const before = z.object({ method: z.literal("acme/size"), params: z.object({ of: z.string() }) });
  server.setRequestHandler(older(before), ({ params }) => ({ size: params.of.length }));
  await inEachEra(server, async (client) => {
    equal((await client.request("acme/count", { of: "four" })).count, 4);
    equal((await client.request("acme/size", { of: "four" })).size, 4);
    for (const method of ["acme/count", "acme/size"])
      await rejects(client.request(method, { of: 4 }), { rpcCode: -32602, message: /\/params\/of/ });
  });
});

test("shapes and objects of zod/mini, and of zod 4 without JSON Schema, are accepted", async () => {
  const before = z4.object({ a: z4.string() });
  const { jsonSchema: _, ...standard } = before["~standard"] as unknown as Record<string, unknown>;
  Object.defineProperty(before, "~standard", { value: standard });
  const server = new McpServer(INFO);
  server.registerTool("before", { inputSchema: before }, ({ a }) => text(a));
  server.registerTool("shape", { inputSchema: { a: mini.string(), b: mini.optional(mini.string()) } }, ({ a }) =>
    text(a),
  );
  server.registerTool("object", { inputSchema: mini.object({ a: mini.string() }) }, ({ a }) => text(a));
  await inEachEra(server, async (client) => {
    for (const { name, inputSchema } of await client.tools().all()) {
      deepEqual(inputSchema.required, ["a"]);
      equal((await client.callTool(name, { a: "x" })).text, "x");
      equal((await client.callTool(name, { a: 1 })).isError, true);
    }
  });
});
