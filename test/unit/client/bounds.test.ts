import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import type { Tool } from "bowline";
import { type ClientLimits, connect, TimeoutError } from "bowline/client";
import { serveHttp } from "bowline/node";
import { McpServer } from "bowline/server";
import { MemoryCacheStore } from "#src/client/cache/store.js";
import { KnownTools } from "#src/client/known-tools.js";
import type { ClientRuntime } from "#src/era/client-era.js";
import { CLIENT_LIMITS } from "#src/era/client-limits.js";
import { ServerRequests } from "#src/era/legacy/client/server-requests.js";
import { withDefaults } from "#src/protocol/known-options.js";
import { defaultValidator } from "#src/schema/json-schema/validator.js";
import { FakeClock } from "../../support/fake-clock.js";
import { gate } from "../../support/gate.js";
import type { Received } from "../../support/http-script.js";
import { LEGACY, modernWorld, sessionWorld, settled } from "../../support/http-transports.js";
import { AskingServer, RawServer } from "../../support/server-script.js";

test("a limit that is none is refused by its name, and what is not given has its default", async () => {
  const server = new McpServer({ name: "s", version: "1" });
  await rejects(
    connect(server, { limits: { maxPage: 1 } as object }),
    /limits: unknown option maxPage; did you mean maxPages/,
  );
  await rejects(connect(server, { limits: { maxTools: -1 } }), /limits.maxTools must be a whole number/);
  await rejects(connect(server, { limits: { maxTools: Number.NaN } }), /limits.maxTools must be a whole number/);
  deepEqual(withDefaults({ maxTools: undefined as unknown as number }, CLIENT_LIMITS), CLIENT_LIMITS);
  equal(withDefaults({ maxTools: 7 }, CLIENT_LIMITS).maxTools, 7);
});

for (const open of [modernWorld, sessionWorld]) {
  test(`calls beyond the bound wait their turn, in order, and can be given up meanwhile [${open.name}]`, async (t) => {
    const { script, link, call } = await open(t, { limits: { maxConnections: 2 } });
    const clock = new FakeClock();
    const abort = new AbortController();
    const named = (name: string) => ({ params: { name } });
    const calls = ["a", "b", "c"].map((name) => call(named(name)));
    const late = call(named("late"), { timeoutMs: 100 }, clock);
    const unwanted = call(named("unwanted"), { signal: abort.signal });
    const last = call(named("last"));
    const first = await script.next("tools/call");
    const second = await script.next("tools/call");
    deepEqual([first, second].map(({ message }) => message.params.name).sort(), ["a", "b"]);
    await settled();
    equal(script.all("tools/call").length, 2);
    equal(link.pending, 6);
    clock.advance(100);
    await rejects(late, TimeoutError);
    abort.abort("enough");
    await rejects(unwanted, (reason) => reason === "enough");
    first.result({});
    const third = await script.next("tools/call");
    equal(third.message.params.name, "c");
    second.result({});
    const fourth = await script.next("tools/call");
    equal(fourth.message.params.name, "last");
    third.result({});
    fourth.result({});
    await Promise.all([...calls, last]);
    equal(script.all("tools/call").length, 4);
    equal(script.all("notifications/cancelled").length, 0);
    equal(link.pending, 0);
  });
}

test("what answers the server, and the end of a call, take nobody's turn", async (t) => {
  const { script, link, call } = await sessionWorld(t, { limits: { maxConnections: 1 } });
  const abort = new AbortController();
  const held = call({}, { signal: abort.signal });
  await script.next("tools/call");
  void link.respond(1, "{}");
  (await script.next((received) => received.message?.id === 1)).status(202);
  void call({ method: "ping", params: {}, waitsTurn: false });
  (await script.next("ping")).result({});
  abort.abort("enough");
  await rejects(held, (reason) => reason === "enough");
  (await script.next("notifications/cancelled")).status(202);
  const next = call();
  (await script.next("tools/call")).result({});
  await next;
});

for (const era of ["modern", "legacy"] as const) {
  test(`ten times as many calls as connections are answered, beside streams that stay open [${era}]`, async (t) => {
    let [running, most] = [0, 0];
    const server = new McpServer({ name: "s", version: "1" }).tool("t", {}, async () => {
      most = Math.max(most, ++running);
      await new Promise(setImmediate);
      running--;
      return "";
    });
    const http = await serveHttp(server);
    t.after(() => http.close());
    const client = await connect(http.url, { era, limits: { maxConnections: 3 } });
    t.after(() => client.close());
    // Each holds a stream open as long as it lasts.
    const watches = await Promise.all(Array.from({ length: 5 }, () => client.watch({ toolsListChanged: true })));
    await Promise.all(Array.from({ length: 30 }, () => client.callTool("t")));
    ok(most <= 3, `${most} calls ran at once`);
    server.changes.toolsChanged();
    for (const watch of watches) deepEqual((await watch[Symbol.asyncIterator]().next()).value, { kind: "tools" });
  });
}

test("questions beyond the bound are refused with an answer that says so", async (t) => {
  const release = gate();
  let open = 0;
  const server = new AskingServer("legacy", t);
  const hold = async () => {
    open++;
    await release.opened;
    return {};
  };
  await server.connect({ limits: { maxQuestions: 2 }, methods: { "x/ask": hold } });
  const asked = [1, 2, 3].map(() => server.ask("x/ask"));
  const refusal = await asked[2];
  equal(open, 2);
  const message = "This client answers at most 2 requests of a server at once (limits.maxQuestions)";
  deepEqual(refusal, { code: -32603, message });
  release.open();
  deepEqual(await asked[0], { answer: {} });
  deepEqual(await server.ask("x/ask"), { answer: {} });
});

test("a server that asks faster than its answers can be posted is not answered without end", async (t) => {
  const { script, link } = await sessionWorld(t);
  const problems: Error[] = [];
  const runtime = {
    limits: { ...CLIENT_LIMITS, maxQuestions: 2 },
    onProblem: (problem: Error) => void problems.push(problem),
  } as unknown as ClientRuntime;
  const requests = new ServerRequests(link, runtime, () => LEGACY);
  for (let id = 0; id < 100; id++) void requests.serve({ jsonrpc: "2.0", id, method: "ping" }, undefined);
  const isAnswer = (received: Received) => received.message !== undefined && received.rpcMethod === undefined;
  const answers = [];
  for (let n = 0; n < 4; n++) answers.push(await script.next(isAnswer));
  equal(answers.filter(({ message }) => "error" in message).length, 2);
  equal(script.received.filter(isAnswer).length, 4);
  match(problems[0]?.message ?? "", /ping was dropped: 4 requests of the server are open, twice limits\.maxQuestions/);
  equal(problems.length, 1);
  for (const answer of answers) answer.status(202);
});

test("a result that asks more questions than the bound is no question at all", async (t) => {
  let asked = 0;
  const question = {
    method: "elicitation/create",
    params: { message: "m", requestedSchema: { type: "object", properties: {} } },
  };
  const inputRequests = Object.fromEntries(Array.from({ length: 4 }, (_, n) => [`q${n}`, question]));
  const server = new RawServer({
    era: "modern",
    handlers: { "tools/call": () => ({ resultType: "input_required", inputRequests, requestState: "s" }) },
  });
  const client = await server.connect(t, {
    limits: { maxQuestions: 3 },
    onElicit: () => {
      asked++;
      return { action: "decline" };
    },
  });
  await rejects(client.callTool("t"), { code: "too_many_questions", message: /limits\.maxQuestions/ });
  equal(asked, 0);
});

test("a list of more items than the bound, or more than a call takes arguments, breaks nothing", async (t) => {
  const server = new RawServer({
    era: "modern",
    capabilities: { prompts: {} },
    handlers: { "prompts/list": () => ({ prompts: Array.from({ length: 150_000 }, (_, n) => ({ name: `p${n}` })) }) },
  });
  const few = await server.connect(t);
  await rejects(few.prompts().all(), { code: "too_many_items", message: /100000 prompts \(limits\.maxItems\)/ });
  const many = await server.connect(t, { limits: { maxItems: 150_000 } });
  equal((await many.prompts().all()).length, 150_000);
});

test("the cache of a client is bounded by the size of what it keeps, lists last", () => {
  const store = new MemoryCacheStore(100, 1100);
  const record = (chars: number) => [["", { result: { text: "x".repeat(chars) }, storedAt: 0, ttlMs: 1 }]] as const;
  store.set("list", record(300), "list");
  store.set("a", record(250), "read");
  store.set("b", record(250), "read");
  store.get("a");
  store.set("c", record(250), "read");
  deepEqual(
    ["list", "a", "b", "c"].filter((key) => store.get(key) !== undefined),
    ["list", "a", "c"],
  );
  store.set("a", record(10), "read");
  store.set("d", record(250), "read");
  equal(store.size, 4);
  store.set("huge", record(5000), "read");
  equal(store.get("huge"), undefined);
  equal(store.size, 4);
});

for (const era of ["modern", "legacy"] as const) {
  test(`a server that describes itself at length is not connected to [${era}]`, async (t) => {
    const server = new AskingServer(era, t);
    server.capabilities = { tools: {}, experimental: { x: { text: "x".repeat(1000) } } };
    await rejects(server.connect({ limits: { maxDescriptionChars: 1000 } }), {
      code: "invalid_result",
      message: /limits\.maxDescriptionChars/,
    });
  });
}

test("notifications of an extension whose handler is slow wait in a bounded number", async (t) => {
  const [begun, release] = [gate(), gate()];
  let handled = 0;
  const problems: string[] = [];
  const handler = async () => {
    begun.open();
    await release.opened;
    handled++;
  };
  const server = new AskingServer("modern", t);
  const client = await server.connect({
    limits: { maxWaitingNotifications: 3 },
    extensions: [{ id: "com.example/x", notifications: { "x/note": handler } }],
    onError: (error) => void problems.push(error.message),
  });
  for (let n = 0; n < 5; n++) server.notify("x/note");
  await begun.opened;
  await client.ping();
  equal(problems.length, 2);
  match(problems[0] ?? "", /x\/note was dropped: .*limits\.maxWaitingNotifications/);
  release.open();
  while (handled < 3) await settled();
  server.notify("x/note");
  while (handled < 4) await settled();
});

test("a watch hears of no resource that it did not ask for, whatever the server acknowledges", async (t) => {
  const uris = ["note://1", "note://2"];
  const server = new RawServer({
    era: "modern",
    capabilities: { resources: { subscribe: true } },
    handlers: {
      "subscriptions/listen": (_, id) => {
        const _meta = { "io.modelcontextprotocol/subscriptionId": id };
        const notifications = { resourceSubscriptions: uris };
        server.notify("notifications/subscriptions/acknowledged", { notifications, _meta });
        for (const uri of [...uris].reverse()) server.notify("notifications/resources/updated", { uri, _meta });
        return new Promise(() => {});
      },
    },
  });
  const client = await server.connect(t);
  const watch = await client.watch({ resources: ["note://1"] });
  deepEqual(watch.honoured, { resources: ["note://1"] });
  deepEqual((await watch[Symbol.asyncIterator]().next()).value, { kind: "resource", uri: "note://1" });
});

test("remembered tools are bounded in number and in size, the longest unlisted go first", async () => {
  const tool = (name: string, text = "") => ({
    name,
    inputSchema: { type: "object", properties: { a: { type: "string", "x-mcp-header": "A" } } },
    outputSchema: { type: "object", required: ["n"], description: text },
  });
  const known = (limits: Partial<ClientLimits>) =>
    new KnownTools(
      { ...CLIENT_LIMITS, ...limits },
      () => defaultValidator,
      () => {},
    );
  const checked = async (tools: KnownTools, names: readonly string[]) => {
    const found: string[] = [];
    for (const name of names) {
      const check = tools.assertFits(name, { content: [], structuredContent: {} });
      await Promise.resolve(check).catch(() => found.push(name));
    }
    return found;
  };
  const few = known({ maxTools: 2 });
  for (const name of ["a", "b", "c", "b", "d"]) few.learn(tool(name) as unknown as Tool, true);
  deepEqual(await checked(few, ["a", "b", "c", "d"]), ["b", "d"]);
  deepEqual(
    ["a", "b", "c", "d"].filter((name) => few.paramHeaders(name) !== undefined),
    ["b", "d"],
  );
  const small = known({ maxSchemaChars: 1000 });
  for (const name of ["a", "b", "c"]) small.learn(tool(name, "x".repeat(400)) as unknown as Tool, false);
  deepEqual(await checked(small, ["a", "b", "c"]), ["b", "c"]);
  small.learn({ ...tool("b"), outputSchema: undefined } as unknown as Tool, false);
  small.learn(tool("a", "x".repeat(400)) as unknown as Tool, false);
  deepEqual(await checked(small, ["a", "b", "c"]), ["a", "c"]);
});
