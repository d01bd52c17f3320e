import { deepEqual, equal, match, rejects } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type ClientOptions, connect } from "bowline/client";
import { type CompatTransport, completable, McpServer, ResourceTemplate, Server } from "bowline/compat";
import * as z from "zod";
import { watchRejections } from "../../support/rejections.js";
import { connectOfficial } from "./official-source.js";

const ERAS = ["legacy", "modern"] as const;
const INFO = { name: "moving", version: "1.0.0" };

/** Connects a client of each era to the server, one after the other. */
async function forEachEra(
  t: TestContext,
  create: () => { readonly bowline: McpServer["bowline"] },
  options: ClientOptions,
  check: (client: Awaited<ReturnType<typeof connect>>) => Promise<void>,
): Promise<void> {
  for (const era of ERAS) {
    await t.test(era, async (t) => {
      const client = await connect(create().bowline, { ...options, era });
      t.after(() => client.close());
      await check(client);
    });
  }
}

test("a tool of the official SDK keeps its shape, handler and result", async (t) => {
  const create = () => {
    const server = new McpServer(INFO);
    server.registerTool(
      "add",
      {
        title: "Add",
        inputSchema: { a: z.number(), b: z.number().default(1), note: z.string().optional() },
        outputSchema: { sum: z.number() },
        annotations: { readOnlyHint: true },
      },
      ({ a, b }) => ({ content: [{ type: "text", text: `${a + b}` }], structuredContent: { sum: a + b } }),
    );
    server.registerTool("whoami", {}, (extra) => ({ content: [{ type: "text", text: String(extra.requestId) }] }));
    return server;
  };
  await forEachEra(t, create, {}, async (client) => {
    const [add, whoami] = await client.tools().all();
    equal(add?.title, "Add");
    deepEqual(add?.inputSchema.required, ["a"]);
    deepEqual(Object.keys(add?.inputSchema.properties ?? {}), ["a", "b", "note"]);
    equal(whoami?.name, "whoami");
    const result = await client.callTool("add", { a: 2 });
    deepEqual([result.text, result.structured], ["3", { sum: 3 }]);
    const refused = await client.callTool("add", { a: "two" });
    equal(refused.isError, true);
    match(refused.text, /\/a /);
    match((await client.callTool("whoami")).text, /./);
  });
});

test("a question of a handler reaches clients of both eras", async (t) => {
  const requestedSchema = { type: "object", properties: { sure: { type: "boolean" } }, required: ["sure"] };
  const create = () => {
    const server = new McpServer(INFO);
    server.registerTool("by-extra", {}, async (extra) => {
      const params = { message: "Sure?", requestedSchema };
      const answer = await extra.sendRequest(
        { method: "elicitation/create", params },
        z.object({ action: z.string() }),
      );
      return { content: [{ type: "text", text: answer.action }] };
    });
    server.registerTool("by-server", {}, async () => {
      const answer = (await server.server.elicitInput({ message: "Sure?", requestedSchema })) as { action: string };
      return { content: [{ type: "text", text: answer.action }] };
    });
    return server;
  };
  const onElicit = () => ({ action: "accept" as const, content: { sure: true } });
  await forEachEra(t, create, { onElicit }, async (client) => {
    equal((await client.callTool("by-extra")).text, "accept");
    equal((await client.callTool("by-server")).text, "accept");
  });
});

test("questions that a handler begins together leave no rejection unhandled", async (t) => {
  watchRejections(t);
  const requestedSchema = { type: "object", properties: { sure: { type: "boolean" } } };
  const request = (message: string) => ({ method: "elicitation/create", params: { message, requestedSchema } });
  const create = () => {
    const server = new McpServer(INFO);
    server.registerTool("ask", {}, async (extra) => {
      const first = extra.sendRequest(request("1"), z.unknown());
      const others = [
        extra.sendRequest(request("2"), z.unknown()),
        extra.mcpReq.elicitInput(request("3").params),
        server.server.elicitInput(request("4").params),
        server.server.request(request("5"), z.unknown()),
      ];
      await first;
      return { content: [{ type: "text", text: String((await Promise.all(others)).length) }] };
    });
    return server;
  };
  const onElicit = () => ({ action: "decline" as const });
  await forEachEra(t, create, { onElicit }, async (client) => {
    equal((await client.callTool("ask")).text, "4");
  });
});

test("progress and logs of a handler reach the client", async (t) => {
  const create = () => {
    const server = new McpServer(INFO, { capabilities: { logging: {} } });
    server.registerTool("work", {}, async (extra) => {
      const progressToken = extra._meta?.progressToken;
      const params = { progressToken, progress: 1, total: 2 };
      if (progressToken !== undefined) await extra.sendNotification({ method: "notifications/progress", params });
      await server.sendLoggingMessage({ level: "error", data: "late" });
      return { content: [] };
    });
    return server;
  };
  const logs: unknown[] = [];
  const options: ClientOptions = {
    onNotification: ({ method, params }) => void (method === "notifications/message" && logs.push(params?.data)),
    logLevel: "error",
  };
  await forEachEra(t, create, options, async (client) => {
    const steps: number[] = [];
    await client.callTool("work", {}, { onProgress: ({ progress }) => steps.push(progress) });
    deepEqual(steps, [1]);
  });
  deepEqual(logs, ["late", "late"]);
});

test("prompts, resources, templates and completions keep their callbacks", async (t) => {
  const create = () => {
    const server = new McpServer(INFO);
    const city = completable(z.string(), (typed) => ["Oslo", "Lisbon"].filter((name) => name.startsWith(typed)));
    server.registerPrompt("weather", { argsSchema: { city } }, ({ city }) => ({
      messages: [{ role: "user", content: { type: "text", text: `Weather in ${city}?` } }],
    }));
    server.registerResource("readme", "note://readme", { mimeType: "text/plain" }, (uri) => ({
      contents: [{ uri: uri.href, text: "read me" }],
    }));
    const template = new ResourceTemplate("note://{id}", {
      list: () => ({ resources: [{ uri: "note://1", name: "one" }] }),
      complete: { id: () => ["1"] },
    });
    server.registerResource("note", template, {}, (uri, { id }) => ({
      contents: [{ uri: uri.href, text: `note ${id}` }],
    }));
    return server;
  };
  await forEachEra(t, create, {}, async (client) => {
    const { messages } = await client.getPrompt("weather", { city: "Oslo" });
    deepEqual(messages[0]?.content, { type: "text", text: "Weather in Oslo?" });
    const completion = await client.complete({ type: "ref/prompt", name: "weather" }, { name: "city", value: "L" });
    deepEqual(completion.values, ["Lisbon"]);
    deepEqual((await client.resources().all()).map(({ uri }) => uri).sort(), ["note://1", "note://readme"]);
    deepEqual((await client.readResource("note://7")).contents, [{ uri: "note://7", text: "note 7" }]);
    const [readme] = (await client.readResource("note://readme")).contents;
    deepEqual(readme, { uri: "note://readme", text: "read me" });
  });
});

test("an error with a code is that JSON-RPC error, but in a tool a result", async (t) => {
  const fail = (): never => {
    throw Object.assign(new Error("not today"), { code: -32602, data: { why: "closed" } });
  };
  const create = () => {
    const server = new McpServer(INFO);
    server.registerPrompt("closed", {}, fail);
    server.registerTool("closed", {}, fail);
    return server;
  };
  await forEachEra(t, create, {}, async (client) => {
    await rejects(client.getPrompt("closed"), { rpcCode: -32602, data: { why: "closed" } });
    const result = await client.callTool("closed");
    deepEqual([result.isError, result.text], [true, "not today"]);
  });
});

test("the overloads of version 1 are read", async (t) => {
  const create = () => {
    const server = new McpServer(INFO);
    server.tool("plain", () => ({ content: [] }));
    server.tool("noted", "Has words", { readOnlyHint: true }, () => ({ content: [] }));
    server.tool("shaped", "Has a shape", { a: z.string() }, { title: "Shaped" }, ({ a }: { a: string }) => ({
      content: [{ type: "text", text: a }],
    }));
    server.prompt("ask", { a: z.string() }, ({ a }: { a: string }) => ({
      messages: [{ role: "user", content: { type: "text", text: a } }],
    }));
    server.resource("one", "note://1", () => ({ contents: [{ uri: "note://1", text: "1" }] }));
    return server;
  };
  await forEachEra(t, create, {}, async (client) => {
    const tools = new Map((await client.tools().all()).map((tool) => [tool.name, tool]));
    equal(tools.get("noted")?.annotations?.readOnlyHint, true);
    equal(tools.get("shaped")?.annotations?.title, "Shaped");
    equal((await client.callTool("shaped", { a: "b" })).text, "b");
    equal((await client.getPrompt("ask", { a: "c" })).messages.length, 1);
    deepEqual((await client.readResource("note://1")).contents, [{ uri: "note://1", text: "1" }]);
  });
});

test("a registered tool is disabled, enabled and removed by its handle", async (t) => {
  const server = new McpServer(INFO);
  const handle = server.registerTool("once", {}, () => ({ content: [] }));
  server.registerTool("always", {}, () => ({ content: [] }));
  const client = await connect(server.bowline);
  t.after(() => client.close());
  const names = async () => (await client.tools({ cache: "bypass" }).all()).map(({ name }) => name);
  handle.disable();
  deepEqual(await names(), ["always"]);
  handle.enable();
  deepEqual(await names(), ["once", "always"]);
  handle.remove();
  deepEqual(await names(), ["always"]);
});

test("the low-level server serves methods by name or by schema", async (t) => {
  const create = () => {
    const server = new Server(INFO, { capabilities: { tools: {} } });
    server.setRequestHandler("tools/list", () => ({ tools: [{ name: "t", inputSchema: { type: "object" } }] }));
    const schema = z.object({ method: z.literal("tools/call"), params: z.object({ name: z.string() }) });
    server.setRequestHandler(schema, (request) => ({
      content: [{ type: "text", text: request.params.name }],
    }));
    return server;
  };
  await forEachEra(t, create, {}, async (client) => {
    deepEqual(
      (await client.tools().all()).map(({ name }) => name),
      ["t"],
    );
    equal((await client.callTool("t")).text, "t");
  });
});

test("oninitialized runs once, when the client is known", async (t) => {
  let seen: unknown[] = [];
  const create = () => {
    const server = new McpServer(INFO);
    seen = [];
    server.server.oninitialized = () => {
      seen.push(server.server.getClientVersion()?.name);
      server.registerTool("late", {}, () => ({ content: [] }));
    };
    return server;
  };
  await forEachEra(t, create, { info: { name: "probe", version: "1" } }, async (client) => {
    deepEqual(
      (await client.tools().all()).map(({ name }) => name),
      ["late"],
    );
    await client.callTool("late");
    deepEqual(seen, ["probe"]);
  });
});

test("a question outside of a handler is refused with a reason", async () => {
  await rejects(
    new McpServer(INFO).server.listRoots(),
    /roots\/list was not sent: it can be sent only in the handler of a request/,
  );
});

test("a transport of the official SDK carries a Bowline server", async () => {
  let onSent: (message: { result: { serverInfo: { name: string } } }) => void = () => {};
  const sent = new Promise<{ result: { serverInfo: { name: string } } }>((resolve) => {
    onSent = resolve;
  });
  const transport: CompatTransport = {
    start: async () => {},
    send: async (message) => onSent(message),
    close: async () => transport.onclose?.(),
  };
  const server = new McpServer(INFO);
  await connectOfficial(server, transport);
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } };
  transport.onmessage?.({ jsonrpc: "2.0", id: 1, method: "initialize", params } as never);
  equal((await sent).result.serverInfo.name, "moving");
  const closed = new Promise<void>((resolve) => {
    server.server.onclose = resolve;
  });
  await server.close();
  await closed;
});
