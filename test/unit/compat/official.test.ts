import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type Client, type ClientOptions, connect } from "bowline/client";
import {
  type CompatServerOptions,
  type CompatTransport,
  completable,
  McpServer,
  ResourceTemplate,
  Server,
} from "bowline/compat";
import * as z from "zod";
import * as mini from "zod/mini";
import * as z3 from "zod/v3";
import { connectOfficial, createOfficialLowLevel, createOfficialServer } from "./official-source.js";

const INFO = { name: "moving", version: "1.0.0" };
const text = (text: string) => ({ content: [{ type: "text" as const, text }] });

/** Connects a client of each era to a server of its own. */
async function forEachEra(
  t: TestContext,
  create: () => { readonly bowline: McpServer["bowline"] },
  check: (client: Client) => Promise<void>,
  options: ClientOptions = {},
): Promise<void> {
  for (const era of ["legacy", "modern"] as const) {
    await t.test(era, async (t) => {
      const client = await connect(create().bowline, { ...options, era });
      t.after(() => client.close());
      await check(client);
    });
  }
}

function define(add: (server: McpServer) => void, options?: CompatServerOptions): () => McpServer {
  return () => {
    const server = new McpServer(INFO, options);
    add(server);
    return server;
  };
}

test("a source in the style of the official SDK runs", async (t) => {
  const check = async (client: Client) => {
    equal((await client.callTool("add", { a: 2 })).text.split(" ").slice(0, 3).join(" "), "2 1 undefined");
    equal((await client.callTool("ask", { topic: "Sure?" })).text, "true accept yes file:///home");
    equal((await client.callTool("new", { q: " x " })).text, "x");
    match((await client.callTool("v1", { a: "a" })).text, /^a ./);
    deepEqual((await client.readResource("note://readme")).contents, [{ uri: "note://readme", text: "new" }]);
  };
  await forEachEra(t, createOfficialServer, check, {
    onElicit: () => ({ action: "accept", content: { sure: true } }),
    onSample: () => ({ role: "assistant", model: "m", content: { type: "text", text: "yes" } }),
    roots: [{ uri: "file:///home" }],
  });
});

test("a request that its schema refuses does not reach the handler", async (t) => {
  await forEachEra(t, createOfficialLowLevel, async (client) => {
    const found = await client.request("acme/search", { query: " x " });
    deepEqual([found.found, found.limit], [["x"], 3]);
    await rejects(client.request("acme/search", { query: 1 }), { rpcCode: -32602, message: /\/params\/query/ });
    equal((await client.request("acme/count", { of: "four" })).count, 4);
    await rejects(client.request("acme/count", {}), { rpcCode: -32602, message: /\/of/ });
  });
});

test("a tool without a schema accepts arguments and passes none on", async (t) => {
  const create = define((server) => server.registerTool("t", {}, (extra) => text(typeof extra.signal)));
  await forEachEra(t, create, async (client) => equal((await client.callTool("t", { a: 1 })).text, "object"));
});

test("references within a member of a shape point to that member", async (t) => {
  const Tree = z.object({
    name: z.string(),
    get below() {
      return z.array(Tree).optional();
    },
  });
  const Point = z.object({ x: z.number() }).meta({ id: "Point" });
  const create = define((server) => server.registerTool("t", { inputSchema: { "a/b": Tree, Point } }, () => text("")));
  await forEachEra(t, create, async (client) => {
    const [tool] = await client.tools().all();
    const written = JSON.stringify(tool?.inputSchema);
    deepEqual([...written.matchAll(/"\$ref":"([^"]*)"/g)].map(([, reference]) => reference).sort(), [
      "#/properties/Point/$defs/Point",
      "#/properties/a~1b",
    ]);
  });
});

test("the description of a shape runs no code of its members", async (t) => {
  const inputSchema = {
    trimmed: z.preprocess((value) => (value as string).trim(), z.string()),
    checked: z.any().refine(async (value) => ok(value)),
    counted: z.number().default(1),
  };
  const create = define((server) =>
    server.registerTool("t", { inputSchema, outputSchema: { counted: z.number().default(1) } }, () => text("")),
  );
  await forEachEra(t, create, async (client) => {
    const [tool] = await client.tools().all();
    deepEqual(tool?.inputSchema.required, ["checked"]);
    deepEqual(tool?.outputSchema?.required, ["counted"]);
  });
});

test("an error without a code keeps its message, unless errors are masked", async (t) => {
  const fail = (): never => {
    throw new Error("no such note");
  };
  const add = (server: McpServer) => {
    server.registerPrompt("p", {}, fail);
    const template = new ResourceTemplate("note://{id}", { list: fail, complete: { id: fail } });
    server.registerResource("note", template, {}, fail);
    server.server.setRequestHandler("acme/x", fail);
  };
  const calls = (client: Client) => [
    () => client.getPrompt("p"),
    () => client.readResource("note://1"),
    () => client.resources().all(),
    () => client.complete({ type: "ref/resource", uri: "note://{id}" }, { name: "id", value: "" }),
    () => client.request("acme/x", {}),
  ];
  await forEachEra(t, define(add), async (client) => {
    for (const call of calls(client)) await rejects(call, { rpcCode: -32603, message: "no such note" });
  });
  await forEachEra(t, define(add, { bowline: { maskErrors: true, onError: () => {} } }), async (client) => {
    for (const call of calls(client)) await rejects(call, { rpcCode: -32603, message: "Internal error" });
  });
});

test("update replaces the members that the official SDK names", async (t) => {
  const create = define((server) => {
    const tool = server.registerTool("a", { description: "old" }, () => text("old"));
    tool.update({ title: "A", outputSchema: { n: z.number() }, callback: () => ({ structuredContent: { n: 1 } }) });
    server.registerTool("gone", {}, () => text("")).update({ name: null });
    server.registerTool("hidden", {}, () => text("")).update({ enabled: false });
    const prompt = server.registerPrompt("p", {}, () => ({ messages: [] }));
    prompt.update({
      argsSchema: { who: z.string() },
      callback: ({ who }) => ({ messages: [{ role: "user", content: { type: "text", text: who } }] }),
    });
    const read = (uri: URL) => ({ contents: [{ uri: uri.href, text: "old" }] });
    const resource = server.registerResource("r", "note://1", { description: "old" }, read);
    resource.update({ uri: "note://2", name: "s", metadata: { mimeType: "text/plain" } });
    const template = server.registerResource("t", new ResourceTemplate("t://{a}"), {}, read);
    template.update({ template: new ResourceTemplate("t://{b}", { complete: { b: () => ["x"] } }) });
  });
  await forEachEra(t, create, async (client) => {
    const [tool, ...others] = await client.tools().all();
    deepEqual([tool?.name, tool?.title, tool?.description, others], ["a", "A", "old", []]);
    deepEqual((await client.callTool("a")).structured, { n: 1 });
    equal((await client.getPrompt("p", { who: "me" })).messages.length, 1);
    const [resource] = await client.resources().all();
    const { uri, name, description, mimeType } = resource ?? {};
    deepEqual([uri, name, description, mimeType], ["note://2", "s", undefined, "text/plain"]);
    const completion = await client.complete({ type: "ref/resource", uri: "t://{b}" }, { name: "b", value: "" });
    deepEqual(completion.values, ["x"]);
  });
});

test("completions within an optional argument are found", async (t) => {
  const argsSchema = { city: completable(z.string(), () => ["Oslo"]).optional() };
  const create = define((server) => server.registerPrompt("p", { argsSchema }, () => ({ messages: [] })));
  await forEachEra(t, create, async (client) => {
    const completion = await client.complete({ type: "ref/prompt", name: "p" }, { name: "city", value: "" });
    deepEqual(completion.values, ["Oslo"]);
  });
});

test("completions are found in a shape, whatever its members are called, and in schemas of each zod", async (t) => {
  const complete = () => ["round"];
  const argsSchemas = [
    { shape: completable(z.string(), complete), colour: z.string() },
    z.object({ shape: completable(z.string(), complete) }),
    mini.object({ shape: completable(mini.string(), complete) }),
    z3.object({ shape: completable(z3.string(), complete) }),
    { shape: completable(z3.string(), complete) },
  ];
  const create = define((server) => {
    for (const [index, argsSchema] of argsSchemas.entries())
      server.registerPrompt(`p${index}`, { argsSchema: argsSchema as object } as object, () => ({ messages: [] }));
    // Not an object of zod, so it has no shape.
    const refined = z3.object({ shape: z3.string() }).refine(() => true);
    server.registerPrompt("none", { argsSchema: refined } as object, () => ({ messages: [] }));
  });
  await forEachEra(t, create, async (client) => {
    for (const index of argsSchemas.keys()) {
      const ref = { type: "ref/prompt", name: `p${index}` } as const;
      deepEqual((await client.complete(ref, { name: "shape", value: "" })).values, ["round"], `p${index}`);
    }
    equal((await client.prompts().all()).length, argsSchemas.length + 1);
  });
});

test("a change that a handler announces by extra reaches other clients", async (t) => {
  const create = define((server) => {
    server.registerResource("r", "note://1", {}, (uri) => ({ contents: [{ uri: uri.href, text: "" }] }));
    server.registerTool("touch", {}, async ({ sendNotification }) => {
      await sendNotification({ method: "notifications/resources/updated", params: { uri: "note://1" } });
      return text("");
    });
  });
  for (const era of ["legacy", "modern"] as const) {
    const { bowline } = create();
    const [toucher, watcher] = [await connect(bowline, { era }), await connect(bowline, { era })];
    t.after(() => Promise.all([toucher.close(), watcher.close()]));
    const watch = await watcher.watch({ resources: ["note://1"] });
    await toucher.callTool("touch");
    for await (const change of watch) {
      deepEqual(change, { kind: "resource", uri: "note://1" });
      break;
    }
  }
});

test("the observer of a subscription knows its client, and its error is the answer", async (t) => {
  const server = new McpServer(INFO);
  server.registerResource("r", "note://1", {}, (uri) => ({ contents: [{ uri: uri.href, text: "" }] }));
  server.server.setRequestHandler("resources/subscribe", () => {
    throw Object.assign(new Error(`not for ${server.server.getClientVersion()?.name}`), { code: -32602 });
  });
  for (const name of ["first", "second"]) {
    const client = await connect(server.bowline, { era: "legacy", info: { name, version: "1" } });
    t.after(() => client.close());
    const refusal = { rpcCode: -32602, message: `not for ${name}` };
    await rejects(client.request("resources/subscribe", { uri: "note://1" }), refusal);
    const modern = await connect(server.bowline, { era: "modern", info: { name, version: "1" } });
    t.after(() => modern.close());
    await rejects(modern.watch({ resources: ["note://1"] }), refusal);
  }
});

test("the observers of subscriptions hear of each resource in both eras", async (t) => {
  for (const era of ["legacy", "modern"] as const) {
    await t.test(era, async () => {
      const server = new McpServer(INFO, { capabilities: { resources: { subscribe: true } } });
      const uris = ["note://1", "note://2"];
      const heard: string[] = [];
      const ended = new Promise<void>((resolve) => {
        const note = (what: string) => (request: { readonly params: { readonly uri: string } }) => {
          heard.push(`${what} ${request.params.uri} ${server.server.getClientVersion()?.name}`);
          if (heard.length === 2 * uris.length) resolve();
          return {};
        };
        for (const what of ["subscribe", "unsubscribe"] as const)
          server.server.setRequestHandler(`resources/${what}`, note(what));
      });
      for (const uri of uris) server.registerResource(uri, uri, {}, () => ({ contents: [{ uri, text: "" }] }));
      const client = await connect(server.bowline, { era, info: { name: "reader", version: "1" } });
      const watch = await client.watch({ resources: uris });
      await server.server.sendResourceUpdated({ uri: "note://2" });
      for await (const change of watch) {
        deepEqual(change, { kind: "resource", uri: "note://2" });
        break;
      }
      await watch.close();
      await ended;
      await client.close();
      deepEqual(
        heard.slice(0, 2).sort(),
        uris.map((uri) => `subscribe ${uri} reader`),
      );
      deepEqual(
        heard.slice(2).sort(),
        uris.map((uri) => `unsubscribe ${uri} reader`),
      );
    });
  }
});

test("onerror hears of the transport and of notification handlers, and the transport is gone after its end", async () => {
  const transport: CompatTransport = {
    start: async () => {},
    send: async () => {},
    close: async () => transport.onclose?.(),
  };
  const server = new McpServer(INFO);
  const heard: string[] = [];
  server.server.onerror = ({ message }) => void heard.push(message);
  server.server.setNotificationHandler("notifications/roots/list_changed", () => {
    throw new Error("from the handler");
  });
  await connectOfficial(server, transport);
  equal(server.isConnected(), true);
  transport.onerror?.(new Error("from the transport"));
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: INFO };
  transport.onmessage?.({ jsonrpc: "2.0", id: 1, method: "initialize", params } as never);
  transport.onmessage?.({ jsonrpc: "2.0", method: "notifications/initialized" } as never);
  transport.onmessage?.({ jsonrpc: "2.0", method: "notifications/roots/list_changed" } as never);
  const closed = new Promise<void>((resolve) => {
    server.server.onclose = resolve;
  });
  const failed = new Promise<void>((resolve) => {
    server.server.onerror = ({ message }) => {
      heard.push(message);
      resolve();
    };
  });
  await failed;
  await server.close();
  await closed;
  deepEqual(heard, ["from the transport", "from the handler"]);
  equal(server.isConnected(), false);
});

test("declared experimental capabilities and extensions are announced", async (t) => {
  const capabilities = { experimental: { acme: {} }, extensions: { "com.acme/x": {} } };
  const create = () => new Server(INFO, { capabilities });
  await forEachEra(t, create, async (client) => {
    const { experimental, extensions } = client.server.capabilities;
    deepEqual({ experimental, extensions }, capabilities);
  });
});

test("an error that sends the user to a URL does so in both eras", async (t) => {
  let paid = false;
  const create = define((server) => {
    paid = false;
    server.registerTool("pay", {}, () => {
      if (paid) return text("paid");
      const elicitations = [{ mode: "url", message: "Pay first", url: "https://pay.example/", elicitationId: "1" }];
      throw Object.assign(new Error("Pay first"), { code: -32042, data: { elicitations } });
    });
  });
  const onElicitUrl = ({ url }: { readonly url: string }) => {
    paid = url === "https://pay.example/";
    return { action: "accept" as const };
  };
  const pay = async (client: Client) => {
    await client.callTool("pay").catch(() => {});
    equal((await client.callTool("pay")).text, "paid");
  };
  await forEachEra(t, create, pay, { onElicitUrl, showRequiredUrls: true });
});

test("an input_required result of a handler of version 2 is asked for, and its state comes back", async (t) => {
  const requestedSchema = { type: "object" as const, properties: { sure: { type: "boolean" as const } } };
  const create = define((server) =>
    server.registerTool("ask", {}, ({ mcpReq }) => {
      const answer = mcpReq.inputResponses?.sure as { action: string } | undefined;
      if (answer !== undefined) return text(`${answer.action} ${mcpReq.requestState<string>()}`);
      const params = { message: "Sure?", requestedSchema };
      return {
        resultType: "input_required",
        inputRequests: { sure: { method: "elicitation/create", params } },
        requestState: "asked",
      };
    }),
  );
  const onElicit = () => ({ action: "accept" as const, content: { sure: true } });
  const ask = async (client: Client) => equal((await client.callTool("ask")).text, "accept asked");
  await forEachEra(t, create, ask, { onElicit });
});
