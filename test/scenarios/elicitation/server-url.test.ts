import { deepEqual, equal, match, notEqual, ok, throws } from "node:assert/strict";
import { inputRequired, McpServer, UrlElicitationRequiredError } from "bowline/server";
import { channelWires, eachWire, legacyChannels, modernChannels, modernWires } from "../../support/each-wire.js";
import { AskedClient } from "../../support/raw-client.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const URL_MODE = { elicitation: { url: {} } };

function sending(url: string, options: { elicitationId?: string } = {}) {
  return new McpServer(me).tool("go", {}, async (_, ctx) =>
    JSON.stringify(await ctx.elicitUrl("Please", url, options)),
  );
}

verifies("elicitation:url:basic", "mode, message and address as given", channelWires, async (world) => {
  const url = "https://EXAMPLE.test/A%2fb?q=%C3%A9#Frag";
  const client = await AskedClient.open(world, sending(url), {
    capabilities: URL_MODE,
    answer: () => ({ action: "accept" }),
  });
  await client.call("tools/call", { name: "go" });
  const { elicitationId: _, ...params } = client.questions[0]?.params ?? {};
  deepEqual(params, { mode: "url", message: "Please", url });
});

verifies("elicitation:url:valid-url", eachWire, async ({ connect }) => {
  const bad = ["", "/relative", "javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "https://"];
  let refused = 0;
  const server = new McpServer(me).tool("go", {}, async (_, ctx) => {
    for (const url of bad) await ctx.elicitUrl("m", url).catch(() => refused++);
    return "done";
  });
  let asked = 0;
  const client = await connect(server, {
    onElicitUrl: () => {
      asked++;
      return { action: "accept" };
    },
  });
  equal((await client.callTool("go")).text, "done");
  deepEqual([refused, asked], [bad.length, 0]);
});

verifies("elicitation:url:no-credentials", "nor from a server", eachWire, async ({ connect }) => {
  const url = "https://user:password@example.test/";
  const told: string[] = [];
  const server = new McpServer(me, { onError: (error) => told.push(String(error)) })
    .tool("ask", {}, async (_, ctx) => (await ctx.elicitUrl("m", url)).action)
    .tool("require", {}, () => {
      throw new UrlElicitationRequiredError([{ message: "m", url, elicitationId: "e" }]);
    });
  let asked = 0;
  const client = await connect(server, {
    showRequiredUrls: true,
    onElicitUrl: () => {
      asked++;
      return { action: "accept" };
    },
  });
  for (const name of ["ask", "require"]) {
    told.length = 0;
    equal((await client.callTool(name)).isError, true, name);
    match(told.join(), /must be a URL without user name and password/, name);
  }
  equal(asked, 0);
  deepEqual(
    client.wire.frames.filter(({ text }) => text.includes("password@")),
    [],
  );
});

verifies("elicitation:url:https", eachWire, async ({ connect }) => {
  const warnings: string[] = [];
  const server = new McpServer(me, { logger: { warn: (message) => warnings.push(message) } });
  for (const url of ["http://example.com/a", "http://localhost/a", "http://127.0.0.1:1/a", "https://example.com/a"]) {
    server.tool(
      encodeURIComponent(url).replaceAll("%", "_"),
      {},
      async (_, ctx) => (await ctx.elicitUrl("m", url)).action,
    );
  }
  const client = await connect(server, { onElicitUrl: () => ({ action: "decline" }) });
  const counts: number[] = [];
  for await (const tool of client.tools()) {
    warnings.length = 0;
    await client.callTool(tool.name);
    counts.push(Math.min(warnings.length, 1));
  }
  deepEqual(counts, [1, 0, 0, 0]);
});

verifies(
  ["elicitation:url:action:accept-no-content", "elicitation:url:decline", "elicitation:url:cancel"],
  "the handler sees the action alone",
  channelWires,
  async (world) => {
    for (const action of ["accept", "decline", "cancel"]) {
      const client = await AskedClient.open(world, sending("https://x.test/"), {
        capabilities: URL_MODE,
        answer: () => ({ action, content: { card: "4242" } }),
      });
      const { result } = await client.call("tools/call", { name: "go" });
      deepEqual(result?.content, [{ type: "text", text: JSON.stringify({ action }) }]);
    }
  },
);

verifies("elicitation:url:elicitation-id-legacy", legacyChannels, async (world) => {
  const answer = () => ({ action: "accept" });
  const client = await AskedClient.open(world, sending("https://x.test/"), { capabilities: URL_MODE, answer });
  await client.call("tools/call", { name: "go" });
  await client.call("tools/call", { name: "go" });
  const [first, second] = client.questions.map(({ params }) => params?.elicitationId);
  match(String(first), /^.{8,}$/);
  notEqual(first, second);
  const named = await AskedClient.open(world, sending("https://x.test/", { elicitationId: "mine" }), {
    capabilities: URL_MODE,
    answer,
  });
  await named.call("tools/call", { name: "go" });
  equal(named.questions[0]?.params?.elicitationId, "mine");
});

verifies("elicitation:url:no-elicitation-id-modern", modernChannels, async (world) => {
  const client = await AskedClient.open(world, sending("https://x.test/", { elicitationId: "mine" }), {
    capabilities: URL_MODE,
    answer: () => ({ action: "accept" }),
  });
  await client.call("tools/call", { name: "go" });
  deepEqual(client.questions, [
    { method: "elicitation/create", params: { mode: "url", message: "Please", url: "https://x.test/" } },
  ]);
});

verifies("elicitation:url:out-of-band-progress", modernWires, async ({ connect }) => {
  let visits = 0;
  const server = new McpServer(me).tool("pay", {}, (_, ctx) => {
    if (ctx.inputResponses !== undefined && ++visits === 3) return "paid";
    const params = { mode: "url", message: "Pay", url: "https://x.test/pay" } as const;
    return inputRequired({ inputRequests: { pay: { method: "elicitation/create", params } } });
  });
  const client = await connect(server, { onElicitUrl: () => ({ action: "accept" }) });
  equal((await client.callTool("pay")).text, "paid");
  equal(client.wire.requests("tools/call").length, 4);
});

verifies("elicitation:url:complete-notification", legacyChannels, async (world) => {
  const server = sending("https://x.test/", { elicitationId: "e-7" });
  const answer = () => ({ action: "accept" });
  const asked = await AskedClient.open(world, server, { capabilities: URL_MODE, answer });
  const other = await AskedClient.open(world, server, { capabilities: URL_MODE, answer });
  await asked.call("tools/call", { name: "go" });
  const method = "notifications/elicitation/complete";
  server.elicitationCompleted("e-7");
  await asked.until(() => asked.notifications(method).length > 0);
  deepEqual(asked.notifications(method)[0]?.params, { elicitationId: "e-7" });
  await other.request("ping");
  deepEqual(other.notifications(method), []);
  throws(() => server.elicitationCompleted("never"), /never/);
  throws(() => server.elicitationCompleted("e-7"), /e-7/);
});

verifies("elicitation:url:complete-removed-modern", modernChannels, async (world) => {
  const warnings: string[] = [];
  const server = new McpServer(me, { logger: { warn: (message) => warnings.push(message) } }).tool(
    "go",
    {},
    async (_, ctx) => (await ctx.elicitUrl("m", "https://x.test/", { elicitationId: "e-7" })).action,
  );
  const client = await AskedClient.open(world, server, {
    capabilities: URL_MODE,
    answer: () => ({ action: "accept" }),
  });
  await client.call("tools/call", { name: "go" });
  server.elicitationCompleted("e-7");
  equal(warnings.length, 1);
  await client.request("server/discover");
  deepEqual(client.notifications("notifications/elicitation/complete"), []);
});

const pages = [
  { message: "Log in", url: "https://x.test/login", elicitationId: "a" },
  { message: "Pay", url: "https://x.test/pay", elicitationId: "b" },
];

function requiring() {
  const fail = () => {
    throw new UrlElicitationRequiredError(pages);
  };
  return new McpServer(me).tool("t", {}, fail).prompt("p", {}, fail).resource("note:1", { name: "r" }, fail);
}

const requests = [
  ["tools/call", { name: "t" }],
  ["prompts/get", { name: "p" }],
  ["resources/read", { uri: "note:1" }],
] as const;

verifies("elicitation:url:required-error", legacyChannels, async (world) => {
  const client = await AskedClient.open(world, requiring(), { capabilities: URL_MODE });
  for (const [method, params] of requests) {
    const { error } = await client.call(method, params);
    equal(error?.code, -32042);
    deepEqual(error?.data, { elicitations: pages.map((page) => ({ ...page, mode: "url" })) });
  }
});

verifies("elicitation:url:required-error:only-url", legacyChannels, async (world) => {
  throws(() => new UrlElicitationRequiredError([]), /must be a non-empty array/);
  throws(
    () => new UrlElicitationRequiredError([{ ...pages[0], mode: "form" } as never]),
    /mode of each elicitation must be "url"/,
  );
  throws(() => new UrlElicitationRequiredError([{ message: "m", url: "https://x.test" } as never]), /elicitationId/);
  for (const url of ["javascript:alert(1)", "file:///etc/passwd", "/relative", "https://"])
    throws(
      () => new UrlElicitationRequiredError([{ message: "m", url, elicitationId: "e" }]),
      /url of each elicitation must be an absolute http or https URL/,
    );
  const client = await AskedClient.open(world, requiring(), { capabilities: { elicitation: { form: {} } } });
  for (const [method, params] of requests) {
    const { error } = await client.call(method, params);
    ok(error !== undefined && error.code !== -32042);
  }
});

verifies("elicitation:url:no-32042-modern", modernChannels, async (world) => {
  const client = await AskedClient.open(world, requiring(), { capabilities: URL_MODE });
  for (const [method, params] of requests) {
    const { result, error } = await client.request(method, params);
    equal(error, undefined);
    equal(result?.resultType, "input_required");
    const asked = pages.map(({ elicitationId, ...page }) => {
      return [elicitationId, { method: "elicitation/create", params: { mode: "url", ...page } }];
    });
    deepEqual(result?.inputRequests, Object.fromEntries(asked));
  }
});
