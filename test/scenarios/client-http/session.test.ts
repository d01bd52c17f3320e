import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { execFile } from "node:child_process";
import { inspect, promisify } from "node:util";
import { bearer } from "bowline/auth/client";
import { connect } from "bowline/client";
import { CallLifetime } from "#src/call/lifetime.js";
import { LegacyHttpTransport } from "#src/era/legacy/client/http.js";
import { ModernHttpTransport } from "#src/era/modern/client/http.js";
import type { TransportRequest } from "#src/era/transport.js";
import type { Fetch } from "#src/http/client/send.js";
import { until } from "../../support/census.js";
import { FakeClock } from "../../support/fake-clock.js";
import { HttpScript, type Received, scripted } from "../../support/http-script.js";
import { createTarget, LEGACY, legacyWorld, SESSION, sessionWorld, settled } from "../../support/http-transports.js";
import { proves } from "../../support/verifies.js";

const wire = { wire: "legacy-http" };
const initialize: TransportRequest = { method: "initialize", params: { protocolVersion: LEGACY }, cancellable: false };
const MODERN_HEADERS = ["mcp-method", "mcp-name"];

proves(
  [
    "client-transport:http:session-stored",
    "typescript:client-transport:http:protocol-version-stored",
    "typescript:client-transport:http:session-id-property",
    "client-transport:http:protocol-version-header",
    "client-transport:http:unstamped-messages-carry-version",
    "client-transport:http:server-request-answered",
    "client-transport:http:accept-header-get",
    "client-transport:http:resume-headers",
    "client-transport:http:custom-headers",
    "client-transport:http:body-derived-headers",
  ],
  wire,
  "all that follows the handshake carries the session and the version agreed on",
  async (t) => {
    const clock = new FakeClock();
    const { script, link, told, call } = await sessionWorld(
      t,
      { clock, headers: { "X-Tenant": "me" } },
      {},
      "2025-06-18",
    );
    equal(link.version, "2025-06-18");
    equal(link.sessionId, SESSION);
    const own = (await script.next("GET")).stream();
    own.event({ jsonrpc: "2.0", id: "p", method: "ping" });
    await told.until(() => told.requests.length === 1);
    link.respond("p", "{}");
    (await script.next(({ message }) => message?.id === "p" && "result" in message)).status(202);

    const abort = new AbortController();
    const answered = call({}, { signal: abort.signal });
    const received = (await script.next("tools/call")).stream();
    received.event({ jsonrpc: "2.0", id: "q", method: "sampling/createMessage", params: {} }, "e1");
    await told.until(() => told.requests.length === 2);
    link.respondError("q", { code: -1, message: "no" });
    (await script.next(({ message }) => message?.id === "q" && "error" in message)).status(202);
    received.end();
    await clock.started(1);
    clock.advance(60_000);
    const resumed = await script.next("GET");
    equal(resumed.headers["last-event-id"], "e1");
    abort.abort("no");
    await rejects(answered, /^no$/);
    (await script.next("notifications/cancelled")).status(202);
    const closing = link.close();
    (await script.next("DELETE")).status(204);
    await closing;

    const [first, ...rest] = script.received as [(typeof script.received)[0], ...typeof script.received];
    equal(first.headers["mcp-session-id"], undefined);
    equal(first.headers["mcp-protocol-version"], undefined);
    equal(rest.length, 8);
    for (const { headers } of rest) {
      equal(headers["mcp-session-id"], SESSION);
      equal(headers["mcp-protocol-version"], "2025-06-18");
    }
    for (const { method, headers } of script.received) {
      equal(headers["x-tenant"], "me");
      for (const name of MODERN_HEADERS) equal(headers[name], undefined);
      if (method === "GET") equal(headers.accept, "text/event-stream");
      if (method === "POST") equal(headers.accept, "application/json, text/event-stream");
    }
    deepEqual(told.problems, []);
  },
);

proves(
  [
    "client-transport:http:protocol-version-cleared-at-initialize",
    "client-transport:http:session-from-initialize-only",
  ],
  wire,
  "a handshake starts from nothing, and only its success brings a session",
  async (t) => {
    const { script, link, call } = await sessionWorld(t);
    const failing = call(initialize);
    const first = await script.next("initialize");
    equal(first.headers["mcp-session-id"], undefined);
    equal(first.headers["mcp-protocol-version"], undefined);
    const error = { code: -32000, message: "no" };
    first.json({ jsonrpc: "2.0", id: first.message.id, error }, 200, { "mcp-session-id": "wrong" });
    await failing;
    equal(link.sessionId, undefined);
    const again = call(initialize);
    (await script.next("initialize")).result({ protocolVersion: "2025-03-26" });
    await again;
    const answered = call();
    const received = await script.next("tools/call");
    received.result({}, { "mcp-session-id": "wrong" });
    await answered;
    equal(received.headers["mcp-session-id"], undefined);
    equal(received.headers["mcp-protocol-version"], "2025-03-26");
    equal(link.sessionId, undefined);
  },
);

proves(
  "client-transport:http:protocol-version-wire-order",
  wire,
  "headers follow the order in which messages were handed over",
  async () => {
    const seen: [method: string, version: string | undefined][] = [];
    const held: (() => void)[] = [];
    const fetch: Fetch = async (_url, init) => {
      const { id, method } = JSON.parse(String(init.body));
      await new Promise<void>((go) => held.push(go));
      seen.push([method, (init.headers as Record<string, string>)["mcp-protocol-version"]]);
      return id === undefined ? new Response(null, { status: 202 }) : Response.json({ jsonrpc: "2.0", id, result: {} });
    };
    const target = createTarget(new URL("http://127.0.0.1/mcp"), { fetch });
    const link = new LegacyHttpTransport(target, { session: { id: "s", version: LEGACY } });
    const before = link.request({ method: "ping", params: undefined, cancellable: true }, new CallLifetime("ping", {}));
    const handshake = link.request(initialize, new CallLifetime("initialize", {}));
    const after = link.notify("notifications/x", undefined);
    await settled();
    for (const go of held.reverse()) go();
    await Promise.all([before, handshake, after]);
    deepEqual(seen, [
      ["notifications/x", undefined],
      ["initialize", undefined],
      ["ping", LEGACY],
    ]);
  },
);

proves(
  "client-transport:http:protocol-version-wire-order",
  { wire: "modern-http" },
  "a message goes out under the version of the moment at which it was handed over",
  async () => {
    const seen: [method: string, version: string | undefined][] = [];
    const held: (() => void)[] = [];
    const fetch: Fetch = async (_url, init) => {
      const { id, method } = JSON.parse(String(init.body));
      await new Promise<void>((go) => held.push(go));
      seen.push([method, (init.headers as Record<string, string>)["mcp-protocol-version"]]);
      return id === undefined ? new Response(null, { status: 202 }) : Response.json({ jsonrpc: "2.0", id, result: {} });
    };
    const link = new ModernHttpTransport(createTarget(new URL("http://127.0.0.1/mcp"), { fetch }), "2026-07-28");
    const stamp = { _meta: { "io.modelcontextprotocol/protocolVersion": "2099-09-09" } };
    const stamped = link.request(
      { method: "stamped", params: stamp, cancellable: true },
      new CallLifetime("stamped", {}),
    );
    const before = link.notify("notifications/before", undefined);
    link.version = "2099-01-01";
    const after = link.notify("notifications/after", undefined);
    await settled();
    for (const go of held.reverse()) go();
    await Promise.all([stamped, before, after]);
    deepEqual(seen, [
      ["notifications/after", "2099-01-01"],
      ["notifications/before", "2026-07-28"],
      ["stamped", "2099-09-09"],
    ]);
  },
);

proves(
  "client-transport:http:404-surfaces",
  wire,
  "a session that is gone fails the call and is told once per call",
  async (t) => {
    const { script, link, call } = await sessionWorld(t);
    let lost = 0;
    link.onSessionLost = () => lost++;
    const answered = call();
    const received = await script.next("tools/call");
    received.json({ jsonrpc: "2.0", id: null, error: { code: -32001, message: "Session not found" } }, 404);
    await rejects(answered, { code: "connection_error", status: 404, retrySafe: true, delivery: "refused" });
    equal(lost, 1);
    equal(link.pending, 0);
  },
);

proves(
  "client-transport:http:404-surfaces",
  wire,
  "where no new session can be had, the caller is told, and nothing is tried for ever",
  async (t) => {
    const script = await new HttpScript().start();
    t.after(() => script.stop());
    let open = true;
    script.onRequest = (received) => {
      if (!open) received.status(404, "no such session");
      else if (received.method === "GET") received.status(405);
      else if (received.rpcMethod === "initialize") {
        const serverInfo = { name: "s", version: "1" };
        const result = { protocolVersion: LEGACY, capabilities: { tools: {} }, serverInfo };
        received.result(result, { "mcp-session-id": SESSION });
      } else received.status(202);
    };
    const client = await connect(script.url, { era: "legacy" });
    t.after(() => client.close());
    open = false;
    script.received.length = 0;
    const calls = ["a", "b"].map((name) => rejects(client.callTool(name), { name: "ConnectionError", status: 404 }));
    await Promise.all(calls);
    deepEqual(script.received.map(({ rpcMethod }) => rpcMethod).sort(), ["initialize", "tools/call", "tools/call"]);
  },
);

proves("client-transport:http:session-id-secrecy", wire, "an error never repeats the session id", async (t) => {
  const { script, told, link, call } = await sessionWorld(t);
  for (const status of [400, 404, 500]) {
    const answered = call();
    (await script.next("tools/call")).status(status, `bad session ${SESSION}`);
    await rejects(answered, (error) => error instanceof Error && !error.message.includes(SESSION));
  }
  const sent = link.notify("notifications/x", undefined);
  (await script.next("notifications/x")).status(400, `bad session ${SESSION}`);
  await sent;
  equal(told.problems.length, 1);
  equal(told.problems[0]?.message.includes(SESSION), false);
});

proves(
  ["typescript:client-transport:http:session-id-property", "typescript:client-transport:http:protocol-version-stored"],
  wire,
  "readable while there is one",
  async (t) => {
    const { script, link, call } = await legacyWorld(t);
    deepEqual([link.sessionId, link.version], [undefined, undefined]);
    const opened = call(initialize);
    (await script.next("initialize")).result({ protocolVersion: LEGACY }, { "mcp-session-id": SESSION });
    await opened;
    deepEqual([link.sessionId, link.version], [SESSION, LEGACY]);
    const ended = link.terminate();
    (await script.next("DELETE")).status(204);
    await ended;
    equal(link.sessionId, undefined);
  },
);

proves("client-transport:http:resume-headers", wire, "a stream is read on with the token of the moment", async (t) => {
  const clock = new FakeClock();
  let token = "first";
  const { fetch } = bearer({ token: () => token });
  const { script, call } = await sessionWorld(t, { clock, fetch, headers: { "X-Tenant": "me" } });
  (await script.next("GET")).status(405);
  const answered = call();
  const received = await script.next("tools/call");
  equal(received.headers.authorization, "Bearer first");
  received.stream().raw("id: e1\ndata:\n\n").end();
  let waits = 0;
  for (token of ["first", "second"]) {
    await clock.started(++waits);
    clock.advance(60_000);
    const resumed = await script.next("GET");
    deepEqual(
      ["authorization", "mcp-session-id", "mcp-protocol-version", "x-tenant", "last-event-id"].map(
        (name) => resumed.headers[name],
      ),
      [`Bearer ${token}`, SESSION, LEGACY, "me", `e${waits}`],
    );
    if (token === "second") resumed.stream().event({ jsonrpc: "2.0", id: received.message.id, result: {} }).end();
    else resumed.stream().raw("id: e2\ndata:\n\n").end();
  }
  await answered;
});

proves("client-transport:http:terminate-delete", wire, "a session is ended once", async (t) => {
  const { script, link } = await sessionWorld(t);
  const ended = link.terminate();
  const received = await script.next("DELETE");
  equal(received.headers["mcp-session-id"], SESSION);
  equal(received.headers["mcp-protocol-version"], LEGACY);
  received.status(200);
  await ended;
  equal(link.sessionId, undefined);
  await link.close();
  equal(script.all("DELETE").length, 1);

  const without = await legacyWorld(t);
  await without.link.close();
  equal(without.script.received.length, 0);
});

proves(
  "client-transport:http:terminate-405-ok",
  wire,
  "a server may keep its sessions; none can hold up close",
  async (t) => {
    for (const status of [405, 404, 204]) {
      const { script, link } = await sessionWorld(t);
      const ended = link.terminate();
      (await script.next("DELETE")).status(status);
      await ended;
    }
    const refusing = await sessionWorld(t);
    const ended = refusing.link.terminate();
    (await refusing.script.next("DELETE")).status(500, "no");
    await rejects(ended, { code: "connection_error", status: 500 });

    const clock = new FakeClock();
    const hanging = await sessionWorld(t, { clock });
    const closing = hanging.link.close();
    const received = await hanging.script.next("DELETE");
    clock.advance(1000);
    await closing;
    await received.gone;
    equal(clock.pending, 0);
  },
);

proves(
  "client-transport:http:get-after-initialized",
  wire,
  "the server's stream is asked for once, after the handshake",
  async (t) => {
    const { script, link, told } = await sessionWorld(t);
    const own = (await script.next("GET")).stream();
    equal(own.headers["last-event-id"], undefined);
    own.notify("notifications/tools/list_changed", {}).event({ jsonrpc: "2.0", id: 1, method: "ping" });
    await told.until(() => told.requests.length === 1);
    deepEqual(
      told.notifications.map(([{ method }, call]) => [method, call]),
      [["notifications/tools/list_changed", undefined]],
    );
    const again = link.notify("notifications/initialized", undefined);
    (await script.next("notifications/initialized")).status(202);
    await again;
    deepEqual(
      script.received.map(({ method, rpcMethod }) => rpcMethod ?? method),
      ["initialize", "notifications/initialized", "GET", "notifications/initialized"],
    );
  },
);

proves(
  "client-transport:http:get-after-initialized",
  wire,
  "no stream where the handshake's end was refused",
  async (t) => {
    const { script, link, told, call } = await legacyWorld(t);
    const opened = call(initialize);
    (await script.next("initialize")).result({ protocolVersion: LEGACY });
    await opened;
    const ready = link.notify("notifications/initialized", undefined);
    (await script.next("notifications/initialized")).status(500);
    await ready;
    equal(told.problems.length, 1);
    const answered = call();
    (await script.next("tools/call")).result({});
    await answered;
    equal(script.all("GET").length, 0);
  },
);

const TOOLS_HELLO = {
  protocolVersion: LEGACY,
  capabilities: { tools: { listChanged: true } },
  serverInfo: { name: "s", version: "1" },
};

/** Answers of servers that have no stream for changes. With 404 the session may also be lost, so it is asked twice. */
const NO_STREAM: Readonly<Record<string, (received: Received) => void>> = {
  "405": (received) => received.status(405),
  "404": (received) => received.status(404, "Cannot GET /mcp"),
  "501": (received) => received.status(501, "Unsupported method"),
  "400": (received) => received.status(400),
  "406": (received) => received.status(406),
  "204": (received) => received.status(204),
  "text/html": (received) => received.status(200, "<p>MCP server</p>", "text/html"),
};

for (const [answer, refuse] of Object.entries(NO_STREAM)) {
  for (const late of [false, true]) {
    const title = `what is honoured says that nothing arrives (${answer}, ${late ? "after" : "before"} the watch)`;
    proves("client-transport:http:no-stream-told", wire, title, async (t) => {
      const told: string[] = [];
      const onError = ({ message }: Error) => void (message.includes("honoured") && told.push(message));
      let sessions = 0;
      const { script, connectTo } = await scripted(t, (received) => {
        if (received.rpcMethod === "initialize")
          received.result(TOOLS_HELLO, { "mcp-session-id": `${SESSION}-${++sessions}` });
        else if (received.rpcMethod === "ping") received.result({});
        else if (received.rpcMethod?.startsWith("notifications/")) received.status(202);
        else if (received.method === "DELETE") received.status(204);
        else if (received.method === "GET" && (!late || sessions > 1)) refuse(received);
      });
      const client = await connectTo({ era: "legacy", onError, ...(late && { limits: { streamOpenMs: 0 } }) });
      const listening = await script.next("GET");
      const watch = await client.watch({ toolsListChanged: true });
      if (late) {
        deepEqual(watch.honoured, { toolsListChanged: true });
        refuse(listening);
        await until("the refusal", () => told.length > 0);
      }
      deepEqual(watch.honoured, {});
      await client.watch({ toolsListChanged: true });
      equal(told.length, 1);
      match(told[0] ?? "", /watch.honoured is empty: the server has no stream .*The GET stream of the session/);
      equal(script.all("GET").length, answer === "404" ? 2 : 1);
      // A change that comes with the response to a call is reported all the same.
      const called = client.callTool("t");
      const received = await script.next("tools/call");
      received.stream();
      received.event({ jsonrpc: "2.0", method: "notifications/tools/list_changed" });
      for await (const change of watch) {
        if (answer === "404" && late && change.kind === "resync") continue; // of the new session
        deepEqual(change, { kind: "tools" });
        break;
      }
      received.event({ jsonrpc: "2.0", id: received.message.id, result: { content: [] } });
      received.end();
      await called;
    });
  }
}

proves("client-transport:http:sse-405-tolerated", wire, "405 means that there is no such stream", async (t) => {
  const clock = new FakeClock();
  const { script, told, call } = await sessionWorld(t, { clock });
  (await script.next("GET")).status(405, "no");
  const answered = call();
  (await script.next("tools/call")).result({});
  await answered;
  clock.advance(600_000);
  equal(clock.pending, 0);
  equal(script.all("GET").length, 1);
  deepEqual(told.problems, []);
});

proves(
  "client-transport:http:get-failure-nonfatal",
  wire,
  "a stream that cannot be had is reported and hurts no call",
  async (t) => {
    for (const [status, type] of [
      [400, "text/plain"],
      [404, "text/plain"],
      [200, "text/html"],
    ] as const) {
      const { script, told, call } = await sessionWorld(t);
      (await script.next("GET")).status(status, "no", type);
      await told.until(() => told.problems.length === 1);
      match(told.problems[0]?.message ?? "", /The GET stream of the session/);
      const answered = call();
      (await script.next("tools/call")).result({});
      await answered;
    }
  },
);

proves(
  "client-transport:http:get-failure-nonfatal",
  wire,
  "neither does one that breaks off again and again",
  async (t) => {
    for (const fail of [(r: Received) => r.status(500), (r: Received) => r.cut()]) {
      const clock = new FakeClock();
      const { script, told, call } = await sessionWorld(t, { clock }, { reconnect: { maxFruitless: 2 } });
      fail(await script.next("GET"));
      await clock.started(1);
      const answered = call();
      (await script.next("tools/call")).result({});
      await answered;
      clock.advance(60_000);
      fail(await script.next("GET"));
      await told.until(() => told.problems.length === 1);
      match(told.problems[0]?.message ?? "", /The GET stream of the session/);
      const again = call();
      (await script.next("tools/call")).result({});
      await again;
      equal(clock.pending, 0);
    }
  },
);

proves("client-transport:http:close-aborts", wire, "a program whose client is closed ends by itself", async (t) => {
  const script = await new HttpScript().start();
  t.after(() => script.stop());
  script.onRequest = (received) => {
    const serverInfo = { name: "s", version: "1" };
    const hello = { protocolVersion: LEGACY, capabilities: { tools: {} }, serverInfo };
    if (received.rpcMethod === "initialize") received.result(hello, { "mcp-session-id": SESSION });
    else if (received.method === "GET") received.stream().raw("id: g\nretry: 3600000\ndata:\n\n").end();
    else if (received.method === "DELETE") received.status(204);
    else if (received.message.params?.name === "open") received.stream();
    else if (received.message.params?.name === "cut") received.stream().raw("id: e\nretry: 3600000\ndata:\n\n").end();
    else if (received.message.id === undefined) received.status(202);
    else received.result({ content: [] });
  };
  const program = `
    import { connect } from "bowline/client";
    const client = await connect(process.argv[1], { era: "legacy" });
    const ends = Promise.allSettled(["open", "cut"].map((name) => client.callTool(name)));
    await client.callTool("any");
    await client.close();
    console.log((await ends).map(({ status }) => status).join());
  `;
  const run = promisify(execFile);
  const { stdout } = await run(process.execPath, ["--input-type=module", "--eval", program, script.url.href]);
  equal(stdout.trim(), "rejected,rejected");
});

proves("client-transport:http:close-aborts", wire, "closing ends calls, streams and waits", async (t) => {
  const clock = new FakeClock();
  const { script, link, told, call } = await sessionWorld(t, { clock });
  const own = (await script.next("GET")).stream();
  const waiting = call();
  const one = await script.next("tools/call");
  const resuming = call();
  (await script.next("tools/call")).stream().raw("id: 1\ndata:\n\n").end();
  await clock.started(1);
  let again: Promise<void> | undefined;
  told.onClose = () => {
    told.closes++;
    again = link.close();
  };
  const closing = link.close();
  await rejects(waiting, { code: "connection_error", delivery: "sent" });
  await rejects(resuming, { code: "connection_error" });
  (await script.next("DELETE")).status(204);
  await Promise.all([closing, again]);
  await Promise.all([own.gone, one.gone]);
  equal(clock.pending, 0);
  equal(told.closes, 1);
  equal(script.all("GET").length, 1);
  deepEqual(told.problems, []);
  ok(link.open === 0);
});

proves("typescript:client-transport:http:session-id-option", wire, "a known session is gone on with", async (t) => {
  const { script, call } = await legacyWorld(t, {}, { session: { id: SESSION, version: LEGACY } });
  const answered = call();
  const received = await script.next("tools/call");
  received.result({});
  await answered;
  equal(received.headers["mcp-session-id"], SESSION);
  equal(received.headers["mcp-protocol-version"], LEGACY);
});

proves("client-transport:http:session-id-secrecy", wire, "neither does what is logged, nor an address", async (t) => {
  const script = await new HttpScript().start();
  t.after(() => script.stop());
  const said: unknown[] = [];
  const say = (...words: unknown[]) => void said.push(...words);
  const serverInfo = { name: "s", version: "1" };
  const answers = [400, 404, 409, 500, 503];
  script.onRequest = (received) => {
    if (received.rpcMethod === "initialize") {
      const result = { protocolVersion: LEGACY, capabilities: { tools: {} }, serverInfo };
      return received.result(result, { "mcp-session-id": SESSION });
    }
    if (received.message?.id === undefined && received.method === "POST") return received.status(202);
    if (received.method === "GET") return received.status(400, `no stream for ${SESSION}`);
    received.status(answers.shift() ?? 502, `no session ${SESSION}`);
  };
  const logger = { debug: say, info: say, warn: say, error: say };
  const client = await connect(script.url, { era: "legacy", logger, onError: say, onClose: say });
  for (let call = 0; call < 5; call++) await client.callTool("t").catch(say);
  const abort = new AbortController();
  const given = client.callTool("t", {}, { signal: abort.signal }).catch(say);
  abort.abort("enough");
  await given;
  await client.close();
  ok(said.length >= 6, "the failures are told");
  const text = said
    .map((each) => `${inspect(each, { depth: 12, showHidden: true })} ${JSON.stringify(each)}`)
    .join("\n");
  equal(text.includes(SESSION), false, text);
  for (const { path } of script.received) equal(path.includes(SESSION), false, path);
});
