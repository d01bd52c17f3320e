import { deepEqual, equal, match, notEqual, ok, rejects } from "node:assert/strict";
import { once } from "node:events";
import type { TestContext } from "node:test";
import type { ProtocolVersion } from "bowline/client";
import { type ClientOptions, connect, retry } from "bowline/client";
import { serveHttp } from "bowline/node";
import { McpServer } from "bowline/server";
import { FakeClock } from "../../support/fake-clock.js";
import { gate } from "../../support/gate.js";
import { HttpScript, type Received } from "../../support/http-script.js";
import { settled } from "../../support/http-transports.js";
import { until } from "../../support/legacy-endpoint.js";
import { proves } from "../../support/verifies.js";

const legacy = { wire: "legacy-http" };
const modern = { wire: "modern-http" };
const CAPABILITIES = { tools: {}, logging: {}, resources: { subscribe: true } };
const HELLO = { protocolVersion: "2025-11-25", capabilities: CAPABILITIES, serverInfo: { name: "s", version: "1" } };

/** A server of sessions that forgets them when the test says so. */
async function forgetful(t: TestContext, options: ClientOptions = {}) {
  const script = await new HttpScript().start();
  t.after(() => script.stop());
  const state = { session: "", opened: 0, refused: 0 };
  script.onRequest = (r) => {
    if (r.rpcMethod === "initialize") {
      state.session = `session-${++state.opened}`;
      r.result(HELLO, { "mcp-session-id": state.session });
    } else if (r.method === "GET") r.status(405);
    else if (r.headers["mcp-session-id"] !== state.session) {
      state.refused++;
      r.status(404, "no such session");
    } else if (r.message?.id === undefined) r.status(202);
    else r.result({ content: [{ type: "text", text: state.session }] });
  };
  const client = await connect(script.url, { era: "legacy", ...options });
  t.after(() => client.close());
  return { script, state, client, forget: () => void Object.assign(state, { session: "gone" }) };
}

proves(
  "client-transport:http:session-404-reinitialize",
  legacy,
  "one handshake for all, and each call once more",
  async (t) => {
    const { script, state, client, forget } = await forgetful(t);
    forget();
    const calls = await Promise.all(["a", "b", "c"].map((name) => client.callTool(name)));
    deepEqual(
      calls.map(({ text }) => text),
      ["session-2", "session-2", "session-2"],
    );
    equal(state.opened, 2);
    equal(script.all("initialize")[1]?.headers["mcp-session-id"], undefined);
    equal(script.all("tools/call").length, 6);
    equal((await client.callTool("d")).text, "session-2");
    equal(state.opened, 2);
  },
);

proves(
  "client-transport:http:session-404-reinitialize",
  legacy,
  "log level and subscriptions come along",
  async (t) => {
    const { script, client, forget } = await forgetful(t);
    await client.setLogLevel("warning");
    const watch = await client.watch({ resources: ["note://1", "note://2"] });
    forget();
    equal((await client.callTool("a")).text, "session-2");
    const restored = script.received
      .filter((r) => r.message !== undefined && r.headers["mcp-session-id"] === "session-2")
      .map((r) => r.message);
    deepEqual(
      restored.map(({ method, params }) => [method, params?.level ?? params?.uri ?? params?.name]),
      [
        ["notifications/initialized", undefined],
        ["logging/setLevel", "warning"],
        ["resources/subscribe", "note://1"],
        ["resources/subscribe", "note://2"],
        ["tools/call", "a"],
      ],
    );
    await watch.close();
  },
);

proves(
  "client-transport:http:session-404-reinitialize",
  legacy,
  "no more than once for a call, and not for one that is over",
  async (t) => {
    const { script, state, client } = await forgetful(t);
    const answer = script.onRequest;
    script.onRequest = (r) => (r.rpcMethod === "tools/call" ? r.status(404) : answer(r));
    await rejects(client.callTool("a"), { name: "ConnectionError", status: 404 });
    equal(script.all("tools/call").length, 2);
    equal(state.opened, 2);
    const abort = new AbortController();
    const held = gate<Received>();
    script.onRequest = (r) => (r.rpcMethod === "initialize" ? held.open(r) : r.status(404));
    const other = rejects(client.callTool("c"), { name: "ConnectionError" });
    const call = rejects(client.callTool("b", {}, { signal: abort.signal }), (reason) => reason === "enough");
    const handshake = await held.opened;
    abort.abort("enough");
    await call;
    handshake.status(500);
    await other;
    // What failed to open is tried again by the next call.
    script.onRequest = answer;
    equal((await client.callTool("d")).text, "session-3");
  },
);

proves("flow:session:terminate-then-reconnect", legacy, "a fresh connection has a session of its own", async (t) => {
  const ids: string[] = [];
  const server = new McpServer(
    { name: "s", version: "1" },
    { http: { sessions: { onOpen: (id) => void ids.push(id) } } },
  );
  const running = await serveHttp(server.tool("who", {}, (_, ctx) => String(ctx.sessionId)));
  t.after(() => running.close());
  for (const at of [0, 1]) {
    const client = await connect(running.url, { era: "legacy" });
    equal((await client.callTool("who")).text, ids[at]);
    await client.close();
    await until(() => server.stats().sessions === 0, "the session is over");
  }
  notEqual(ids[0], ids[1]);
});

const MISMATCH = { code: -32020, message: "Header mismatch" };
const tool = (name: string, header: string) => ({
  name,
  inputSchema: { type: "object", properties: { region: { type: "string", "x-mcp-header": header } } },
});

async function annotated(t: TestContext, listings: object[][], refuse: (r: Received) => boolean) {
  const script = await new HttpScript().start();
  t.after(() => script.stop());
  let page = 0;
  script.onRequest = (r) => {
    if (r.rpcMethod === "server/discover") {
      return r.result({
        resultType: "complete",
        supportedVersions: ["2026-07-28"],
        capabilities: CAPABILITIES,
        ttlMs: 0,
        cacheScope: "private",
      });
    }
    if (refuse(r)) return r.json({ jsonrpc: "2.0", id: r.message.id, error: MISMATCH }, 400);
    if (r.rpcMethod !== "tools/list") return r.result({ resultType: "complete", content: [], messages: [] });
    const tools = listings[Math.min(page++, listings.length - 1)];
    const more = page < listings.length ? { nextCursor: String(page) } : {};
    r.result({ resultType: "complete", tools, ttlMs: 0, cacheScope: "private", ...more });
  };
  const client = await connect(script.url, { era: "modern" });
  t.after(() => client.close());
  script.received.length = 0;
  return { script, client };
}

proves("client-transport:x-mcp-header:mismatch-refresh", modern, "call, list, call", async (t) => {
  const { script, client } = await annotated(
    t,
    [[tool("other", "Other")], [tool("query", "Region")]],
    (r) => r.rpcMethod === "tools/call" && r.headers["mcp-param-region"] !== "eu",
  );
  await client.callTool("query", { region: "eu" });
  deepEqual(
    script.received.map((r) => r.rpcMethod),
    ["tools/call", "tools/list", "tools/list", "tools/call"],
  );
  deepEqual(
    script.all("tools/list").map((r) => r.message.params.cursor),
    [undefined, "1"],
  );
  const [first, second] = script.all("tools/call");
  notEqual(first?.message.id, second?.message.id);
});

proves("client-transport:x-mcp-header:mismatch-refresh", modern, "once, and for tools alone", async (t) => {
  const { script, client } = await annotated(t, [[tool("query", "Region")]], (r) => r.rpcMethod !== "tools/list");
  await rejects(client.callTool("query", { region: "eu" }), { rpcCode: -32020 });
  deepEqual(
    script.received.map((r) => r.rpcMethod),
    ["tools/call", "tools/list", "tools/call"],
  );
  script.received.length = 0;
  await rejects(client.getPrompt("p"), { rpcCode: -32020 });
  deepEqual(
    script.received.map((r) => r.rpcMethod),
    ["prompts/get"],
  );
});

proves(
  "tools:annotations:untrusted",
  { wire: "legacy-http" },
  "no hint makes a client call again what may have been done",
  async (t) => {
    const { script, client } = await forgetful(t);
    const answer = script.onRequest;
    const annotations = { readOnlyHint: true, idempotentHint: true };
    script.onRequest = (r) => {
      const tools = [{ name: "read", inputSchema: { type: "object" }, annotations }];
      if (r.rpcMethod === "tools/list") r.result({ tools });
      else if (r.rpcMethod === "tools/call") r.stream().raw(": here\n\n").cut();
      else answer(r);
    };
    await client.listTools();
    await rejects(client.callTool("read"), { name: "ConnectionError", delivery: "answer_lost" });
    equal(script.all("tools/call").length, 1);
  },
);

proves(
  ["client-transport:http:modern-reissue-new-id", "tools:annotations:untrusted"],
  modern,
  "what may be repeated is a new request",
  async (t) => {
    const script = await new HttpScript().start();
    t.after(() => script.stop());
    const tools = [
      { name: "read", inputSchema: { type: "object" }, annotations: { readOnlyHint: true } },
      { name: "put", inputSchema: { type: "object" }, annotations: { idempotentHint: true } },
      { name: "pay", inputSchema: { type: "object" } },
    ];
    const seen = new Set<string>();
    script.onRequest = (r) => {
      const { name } = r.message.params;
      if (r.rpcMethod === "tools/list")
        return r.result({ resultType: "complete", tools, ttlMs: 0, cacheScope: "private" });
      if (seen.has(name)) return r.result({ resultType: "complete", content: [{ type: "text", text: name }] });
      seen.add(name);
      r.stream().raw(": here\n\n").cut();
    };
    const open = (options: ClientOptions) => connect(script.url, { versions: ["2026-07-28"], ...options });
    const plain = await open({});
    await plain.listTools();
    await rejects(plain.callTool("read"), { delivery: "answer_lost", retrySafe: false });
    equal(script.all("tools/call").length, 1);
    seen.clear();
    const client = await open({ interceptors: [retry({ delayMs: 0 })] });
    await rejects(client.callTool("read"), { delivery: "answer_lost" });
    seen.clear();
    await client.listTools();
    for (const name of ["read", "put"]) {
      script.received.length = 0;
      equal((await client.callTool(name)).text, name);
      const ids = script.all("tools/call").map((r) => r.message.id);
      equal(ids.length, 2);
      notEqual(ids[0], ids[1]);
    }
    script.received.length = 0;
    await rejects(client.callTool("pay"), { delivery: "answer_lost" });
    equal(script.all("tools/call").length, 1);
    await Promise.all([plain.close(), client.close()]);
  },
);

proves(
  "client-transport:http:modern-listen-stream",
  modern,
  "a quiet subscription lives while it shows that it does",
  async (t) => {
    const script = await new HttpScript().start();
    t.after(() => script.stop());
    const clock = new FakeClock();
    const client = await connect(script.url, { versions: ["2026-07-28"], clock });
    t.after(() => client.close());
    const open = async () => {
      const watching = client.watch({ toolsListChanged: true }, { resubscribe: false });
      const listen = await script.next("subscriptions/listen");
      const tag = { _meta: { "io.modelcontextprotocol/subscriptionId": listen.message.id } };
      listen
        .stream()
        .notify("notifications/subscriptions/acknowledged", { notifications: { toolsListChanged: true }, ...tag });
      return { watch: await watching, listen, tag };
    };
    const { watch, listen, tag } = await open();
    for (let n = 0; n < 40; n++) {
      listen.raw(":\n\n");
      await settled();
      clock.advance(15_000);
    }
    listen.notify("notifications/tools/list_changed", tag);
    const changes = watch[Symbol.asyncIterator]();
    deepEqual((await changes.next()).value, { kind: "tools" });
    equal(watch.ended, undefined);
    // Behind a proxy that has lost the server, the signs of life stop and nothing else happens.
    const lost = rejects(changes.next(), { name: "ConnectionError" });
    clock.advance(61_000);
    clock.advance(61_000);
    await lost;
    await listen.gone;
    // A server that writes no such signs is never given up for its silence.
    const silent = await open();
    clock.advance(24 * 3_600_000);
    silent.listen.notify("notifications/tools/list_changed", silent.tag);
    deepEqual((await silent.watch[Symbol.asyncIterator]().next()).value, { kind: "tools" });
  },
);

proves(
  "client-transport:http:era-cached",
  modern,
  "a verdict is handed on, and corrected when it is wrong",
  async (t) => {
    const make = (versions?: readonly ProtocolVersion[]) =>
      new McpServer({ name: "s", version: "1" }, versions === undefined ? {} : { versions }).tool("hi", {}, () => "hi");
    const asked: string[] = [];
    const spy: NonNullable<ClientOptions["fetch"]> = (url, init) => {
      if (typeof init.body === "string") asked.push(JSON.parse(init.body).method);
      return fetch(url, init);
    };
    const both = await serveHttp(make());
    t.after(() => both.close());
    const first = await connect(both.url);
    const prior = JSON.parse(JSON.stringify(first.prior));
    await first.close();
    const second = await connect(both.url, { prior, fetch: spy });
    equal((await second.callTool("hi")).text, "hi");
    deepEqual(asked.splice(0), ["tools/call"]);
    await second.close();
    const old = await serveHttp(make(["2025-11-25"]));
    t.after(() => old.close());
    const misled = await connect(old.url, { prior, fetch: spy });
    equal((await misled.callTool("hi")).text, "hi");
    deepEqual([misled.era, misled.version], ["legacy", "2025-11-25"]);
    deepEqual(asked.splice(0), [
      "tools/call",
      "server/discover",
      "initialize",
      "notifications/initialized",
      "tools/call",
    ]);
    await misled.close();
    // The verdict of the origin is remembered: the next client begins with what was found.
    const third = await connect(old.url, { fetch: spy });
    equal((await third.callTool("hi")).text, "hi");
    deepEqual(asked.splice(0), ["initialize", "notifications/initialized", "tools/call"]);
    await third.close();
    // An established connection stays what it is, whatever goes wrong later.
    const steady = await connect(both.url, { prior, fetch: spy });
    await steady.callTool("hi");
    asked.length = 0;
    await rejects(steady.request("made/up"), { rpcCode: -32601 });
    await rejects(steady.callTool("missing"), { rpcCode: -32602 });
    deepEqual([steady.era, asked], ["modern", ["made/up", "tools/call"]]);
    await steady.close();
  },
);

proves(
  "typescript:client-transport:http:protocol-version-stored",
  modern,
  "the version in use, while there is one",
  async (t) => {
    const running = await serveHttp(new McpServer({ name: "s", version: "1" }));
    t.after(() => running.close());
    const client = await connect(running.url);
    equal(client.version, "2026-07-28");
    await client.close();
    equal(client.version, undefined);
  },
);

proves("client-transport:http:unassociated-server-request", legacy, "refused only where that is wanted", async (t) => {
  for (const answerDuringCallsOnly of [true, false]) {
    const script = await new HttpScript().start();
    t.after(() => script.stop());
    script.onRequest = (r) => {
      if (r.rpcMethod === "initialize") r.result(HELLO, { "mcp-session-id": "s" });
      else if (r.method === "POST" && r.message.id === undefined) r.status(202);
    };
    const connecting = connect(script.url, { era: "legacy", answerDuringCallsOnly, roots: [] });
    const own = (await script.next("GET")).stream();
    const client = await connecting;
    t.after(() => client.close());
    own.event({ jsonrpc: "2.0", id: "r", method: "roots/list" });
    const answered = await script.next((r) => r.message?.id === "r");
    answered.status(202);
    equal(answered.message.error?.code, answerDuringCallsOnly ? -32602 : undefined);
    own.event({ jsonrpc: "2.0", id: "p", method: "ping" });
    const pong = await script.next((r) => r.message?.id === "p");
    pong.status(202);
    deepEqual(pong.message.result, {});
    const call = client.callTool("t");
    const pending = await script.next("tools/call");
    pending.stream().event({ jsonrpc: "2.0", id: "during", method: "roots/list" });
    const during = await script.next((r) => r.message?.id === "during");
    during.status(202);
    deepEqual(during.message.result, { roots: [] });
    pending.resultEvent({ content: [] }).end();
    await call;
  }
});

proves(
  "client-transport:http:reconnection-scheduler",
  legacy,
  "the caller says when, and is told when not any more",
  async (t) => {
    const script = await new HttpScript().start();
    t.after(() => script.stop());
    script.onRequest = (r) => {
      if (r.rpcMethod === "initialize") r.result(HELLO, { "mcp-session-id": "s" });
      else if (r.method === "POST") r.status(202);
    };
    const asked: [delayMs: number, attempt: number][] = [];
    let fire: () => void = () => {};
    let calledOff = 0;
    let scheduled = gate();
    const schedule = (reconnect: () => void, delayMs: number, attempt: number) => {
      asked.push([delayMs, attempt]);
      fire = reconnect;
      scheduled.open();
      return () => void calledOff++;
    };
    const connecting = connect(script.url, { era: "legacy", reconnect: { schedule, firstDelayMs: 70 } });
    (await script.next("GET")).stream().notify("notifications/message", { level: "info", data: 1 }, "e1").end();
    const client = await connecting;
    await scheduled.opened;
    deepEqual(asked, [[70, 0]]);
    scheduled = gate();
    fire();
    const second = await script.next("GET");
    equal(second.headers["last-event-id"], "e1");
    second.status(503);
    await scheduled.opened;
    deepEqual(asked[1], [105, 1]);
    equal(calledOff, 0);
    await client.close();
    equal(calledOff, 1);
    fire();
    await settled();
    equal(script.all("GET").length, 2);
  },
);

proves("protocol:cancel:abort-signal", modern, "one signal serves any number of calls without a warning", async (t) => {
  const started = gate();
  let running = 0;
  const server = new McpServer({ name: "s", version: "1" }).tool("wait", {}, async (_, ctx) => {
    if (++running === 50) started.open();
    await once(ctx.signal, "abort");
  });
  const http = await serveHttp(server);
  t.after(() => http.close());
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => void warnings.push(warning);
  process.on("warning", onWarning);
  t.after(() => process.off("warning", onWarning));
  const client = await connect(http.url);
  t.after(() => client.close());
  const abort = new AbortController();
  const calls = Array.from({ length: 50 }, () => client.callTool("wait", {}, { signal: abort.signal }));
  const ended = calls.map((call) => rejects(call, (reason) => reason === "enough"));
  await started.opened;
  abort.abort("enough");
  await Promise.all(ended);
  await settled();
  deepEqual(warnings, []);
  ok(!abort.signal.onabort);
  match(String(abort.signal.reason), /enough/);
});
