import * as z from "zod";

const NOTES = ["1", "2", "3", "10"];
const object = (properties, required = Object.keys(properties)) => ({ type: "object", properties, required });
const string = { type: "string" };

/**
 * Defines the same tools, prompts and resources on any server.
 * @param {any} server
 * @param {Record<string, any>} sdk
 * @param {{ journal: import("./journal.mjs").Journal, gate: Promise<unknown> }} world
 */
export function define(server, sdk, world) {
  definePlainTools(server, sdk, world);
  defineFailingTools(server, sdk);
  defineTalkingTools(server, sdk, world);
  defineAskingTools(server, sdk, world);
  definePrompts(server);
  defineResources(server, sdk);
}

function definePlainTools(server, sdk, { journal }) {
  const { text, image, audio, link, embedded, toolResult } = sdk;
  server.tool(
    "echo",
    { title: "Echo", description: "Says it again", input: object({ text: string }) },
    (args) => args.text,
  );
  server.tool(
    "add",
    { input: z.object({ a: z.number(), b: z.int().default(1) }), output: z.object({ sum: z.number() }) },
    ({ a, b }) => ({ sum: a + b }),
  );
  const forecast = object({ celsius: { type: "integer", minimum: -90 }, words: { type: "array", items: string } }, [
    "celsius",
  ]);
  server.tool(
    "forecast",
    {
      input: object({ city: { type: "string", minLength: 1 }, days: { type: "integer", maximum: 7 } }, ["city"]),
      output: forecast,
      annotations: { readOnlyHint: true, title: "Weather" },
      icons: [{ src: "https://example.com/i.png", mimeType: "image/png", sizes: ["48x48"] }],
      meta: { "com.example/kind": "weather" },
    },
    ({ city, days }) => ({ celsius: city.length, words: Array.from({ length: days ?? 0 }, () => city) }),
  );
  server.tool("wrong-output", { output: forecast }, () => ({ celsius: "warm" }));
  server.tool(
    "region",
    {
      input: object(
        { region: { ...string, "x-mcp-header": "Region" }, count: { type: "integer", "x-mcp-header": "Count" } },
        ["region"],
      ),
    },
    ({ region, count }) => `${region} ${count}`,
  );
  server.tool("content", {}, () => [
    text("words"),
    image(new Uint8Array([1, 2, 3]), "image/png"),
    audio("AAAA", "audio/wav"),
    link({ uri: "note://1", name: "note" }),
    embedded({ uri: "note://2", text: "a note", mimeType: "text/plain" }),
  ]);
  server.tool("own", {}, () =>
    toolResult({ content: [text("own")], structuredContent: { of: "mine" }, _meta: { k: 1 } }),
  );
  server.tool("value", {}, () => ({ a: [1, null, "é\u2028😀"], b: { c: false } }));
  server.tool("nothing", {}, () => undefined);
  server.tool("facts", {}, (_args, ctx) => {
    const { requestId, method, client, meta, auth, principal, sessionId, url } = ctx;
    const facts = { requestId, method, client, meta, auth, principal, sessionId, url, test: ctx.header("x-test") };
    journal.saw("facts", facts);
    return { ...facts, auth: auth ?? null };
  });
  server.tool("hidden", { visible: () => false }, () => "seen");
  server.tool("admin", { requires: { scopes: ["admin"] } }, () => "done");
}

function defineFailingTools(server, { ToolError, RpcError, UrlElicitationRequiredError, toolResult, text }) {
  const failures = {
    fail: () => new ToolError("Say which book."),
    throw: () => new Error("the secret is out", { cause: new TypeError("why") }),
    "throw-text": () => "just words",
    "rpc-error": () => new RpcError(-32_050, "not today", { until: "tomorrow" }),
    "rpc-reserved": () => new RpcError(-32_602, "not these"),
    "url-required": () =>
      new UrlElicitationRequiredError([{ message: "Sign in", url: "https://example.com/in", elicitationId: "e-1" }]),
  };
  for (const [name, make] of Object.entries(failures)) {
    server.tool(name, {}, () => {
      throw make();
    });
  }
  server.tool("is-error", {}, () => toolResult({ content: [text("no")], isError: true }));
  server.tool("bigint", {}, () => ({ big: 1n }));
  server.tool("cycle", {}, () => {
    const ring = {};
    ring.ring = ring;
    return ring;
  });
}

function defineTalkingTools(server, _sdk, { journal, gate }) {
  server.tool("progress", {}, async (_args, ctx) => {
    await ctx.progress(1, 3, "one");
    await ctx.progress(2, 3);
    await ctx.partial([{ type: "text", text: "part" }], "two");
    await ctx.progress(3, 3, "three");
    return "progressed";
  });
  server.tool("late-progress", {}, async (_args, ctx) => {
    await null;
    ctx.progress(1);
    ctx.progress(1);
    await null;
    ctx.progress(2.5, 2);
    return "late";
  });
  server.tool("log", {}, async (_args, ctx) => {
    await ctx.log("debug", "fine", "inner");
    await ctx.log("info", { some: ["data"] });
    await ctx.log("error", "bad");
    return "logged";
  });
  server.tool("notify", {}, async (_args, ctx) => {
    await ctx.notify("com.example/told", { a: 1 });
    return "told";
  });
  server.tool("generate", {}, async function* () {
    yield "one";
    yield { type: "text", text: "two" };
  });
  const waiting = (name) => async (_args, ctx) => {
    journal.saw(`${name} begins`);
    const aborted = new Promise((resolve) => {
      if (ctx.signal.aborted) resolve();
      ctx.signal.addEventListener("abort", resolve, { once: true });
    });
    await Promise.race([gate, aborted]);
    journal.saw(`${name} ends`, { aborted: ctx.aborted, reason: ctx.aborted ? ctx.signal.reason : null });
    await ctx.progress(9);
    return `${name} over`;
  };
  server.tool("wait", {}, waiting("wait"));
  server.tool("slow", { timeoutMs: 1000 }, waiting("slow"));
  server.tool("single", { concurrency: 1 }, waiting("single"));
  server.tool("detach", {}, async (_args, ctx) => {
    ctx.detachStream(500);
    await gate;
    return "detached";
  });
}

function defineAskingTools(server, { inputRequired }, { journal }) {
  const name = object({ name: { type: "string", title: "Name" } });
  const messages = [{ role: "user", content: { type: "text", text: "Hi" } }];
  const asking = {
    ask: (ctx) => ctx.elicit("Your name?", name),
    "ask-twice": async (ctx) => [
      await ctx.elicit("First?", name),
      await ctx.elicit("Second?", name, { key: "second" }),
    ],
    "ask-both": (ctx) => Promise.all([ctx.elicit("Left?", name), ctx.elicit("Right?", name)]),
    "ask-url": (ctx) => ctx.elicitUrl("Go there", "https://example.com/page", { elicitationId: "e-2" }),
    "ask-deep": (ctx) => ctx.elicit("Deep?", object({ deep: object({}) })),
    sample: (ctx) => ctx.sample({ messages, maxTokens: 10 }),
    roots: (ctx) => ctx.listRoots(),
    "ask-own": (ctx) => ctx.request("com.example/question", { a: 1 }),
    "ask-soon": (ctx) => ctx.elicit("Soon?", name, { timeoutMs: 500 }),
    steps: async (ctx) => {
      const price = await ctx.step("price", () => journal.saw("priced") ?? 7);
      const sure = await ctx.elicit(`Pay ${price}?`, object({ sure: { type: "boolean", default: true } }));
      return ctx.step("pay", () => ({ price, sure }));
    },
  };
  for (const [tool, ask] of Object.entries(asking)) {
    server.tool(tool, {}, async (_args, ctx) => JSON.stringify(await ask(ctx)));
  }
  server.tool("by-hand", {}, (_args, ctx) => {
    journal.saw("by-hand", { state: ctx.requestState ?? null, responses: ctx.inputResponses ?? null });
    if (ctx.requestState !== undefined) return "by hand";
    const params = { message: "Hand?", requestedSchema: name };
    return inputRequired({ inputRequests: { q: { method: "elicitation/create", params } }, state: { n: 1 } });
  });
}

function definePrompts(server) {
  server.prompt(
    "greet",
    {
      title: "Greet",
      description: "Says hello",
      arguments: object({ name: string, mood: { type: "string", description: "How" } }, ["name"]),
      complete: { name: (typed) => ["Ada", "Alan", "Grace"].filter((one) => one.startsWith(typed)), mood: () => [] },
    },
    ({ name, mood }) => `Hello ${name}, ${mood}`,
  );
  server.prompt("plain", {}, () => [{ role: "assistant", content: { type: "text", text: "plain" } }]);
  server.prompt("broken", {}, () => {
    throw new Error("prompt is broken");
  });
  server.prompt("asking", {}, async (_args, ctx) => {
    const answer = await ctx.elicit("Which?", object({ which: string }));
    return `Asked: ${answer.action}`;
  });
}

function defineResources(server, { resourceNotFound, RpcError }) {
  server.resource(
    "note://first",
    { name: "first", mimeType: "text/plain", size: 5, annotations: { priority: 1 } },
    () => "first",
  );
  server.resource("blob://one", { name: "blob" }, () => new Uint8Array([0, 255, 16]));
  server.resource("json://one", { name: "json", cache: { ttlMs: 5000, scope: "public" } }, () => ({
    uri: "json://one",
    text: "{}",
  }));
  server.resource("bad://one", { name: "bad" }, () => {
    throw new Error("disk is gone");
  });
  server.resource("refused://one", { name: "refused" }, () => {
    throw new RpcError(-32_051, "not for you");
  });
  server.resource(
    "note://n/{id}",
    {
      name: "note",
      mimeType: "text/markdown",
      complete: { id: (typed) => NOTES.filter((id) => id.startsWith(typed)) },
      list: () => NOTES.map((id) => ({ uri: `note://n/${id}`, name: `note ${id}` })),
    },
    ({ id }, _ctx, uri) => {
      if (!NOTES.includes(id)) throw resourceNotFound(uri);
      return `# ${id}`;
    },
  );
  server.resource("file:///{+path}", { name: "files" }, ({ path }) => `file ${path}`);
}
