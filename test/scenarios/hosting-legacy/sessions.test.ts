import assert from "node:assert/strict";
import { toNodeListener } from "bowline/node";
import { McpServer } from "bowline/server";
import { MemoryEventLog } from "#src/store/event-log.js";
import { FakeClock } from "../../support/fake-clock.js";
import { gate } from "../../support/gate.js";
import {
  answer,
  isDone,
  LegacyEndpoint,
  messages,
  settle,
  status,
  textOf,
  until,
} from "../../support/legacy-endpoint.js";
import { askPort, initialize, listenOn, rawPost } from "../../support/plain-http.js";
import { proves } from "../../support/verifies.js";

const http = { wire: "legacy-http" };
const list = { jsonrpc: "2.0", id: 1, method: "tools/list" };

function createServer(...args: ConstructorParameters<typeof LegacyEndpoint>) {
  const endpoint = new LegacyEndpoint(...args);
  const release = gate();
  const started: AbortSignal[] = [];
  endpoint.server
    .tool("block", {}, async (_args, ctx) => {
      started.push(ctx.signal);
      await release.opened;
      return "released";
    })
    .tool("who", {}, (_args, ctx) => `${ctx.sessionId} ${ctx.client.version} ${Object.keys(ctx.client.capabilities)}`);
  return { endpoint, release, started };
}

proves(
  ["hosting:session:create", "hosting:session:id-charset", "hosting:session:id-secure"],
  http,
  "by default",
  async (t) => {
    const COUNT = 10_000;
    const source = t.mock.method(globalThis.crypto, "randomUUID");
    const { endpoint } = createServer({}, { limits: { maxSessions: COUNT } });
    const ids = new Set<string>();
    for (let count = 0; count < COUNT; count++) {
      const opened = endpoint.initialize();
      await opened.done;
      ids.add(opened.headers["mcp-session-id"] ?? "");
    }
    assert.equal(ids.size, COUNT);
    for (const id of ids) assert.match(id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    const drawn = new Set(source.mock.calls.map(({ result }) => result as string));
    for (const id of ids) assert.ok(drawn.has(id), "every id is drawn from the platform's source");
    assert.equal(endpoint.stats.sessions, COUNT);
    await endpoint.server.close();
  },
);

proves("hosting:session:reuse", http, "calls reach the session they name", async () => {
  const { endpoint } = createServer();
  const [a, b] = [await endpoint.open("2025-11-25", { roots: {} }), await endpoint.open("2025-06-18")];
  assert.equal(textOf(await answer(a.call(1, "who"))), `${a.id} 2025-11-25 roots`);
  assert.equal(textOf(await answer(b.call(1, "who"))), `${b.id} 2025-06-18 `);
});

proves("hosting:session:missing-id", http, "on each method", async () => {
  const { endpoint } = createServer();
  for (let sessions = 0; sessions < 2; sessions++) {
    for (const method of ["POST", "GET", "DELETE"]) {
      const refused = await status(endpoint.send(method, method === "POST" ? list : undefined), 400);
      assert.equal(messages(refused)[0]?.error?.code, -32600);
    }
    await endpoint.open();
  }
  assert.equal(endpoint.reports.length, 6);
  assert.equal(endpoint.stats.sessions, 2);
});

proves("hosting:session:unknown-id", http, "on each method", async () => {
  const { endpoint } = createServer();
  const session = crypto.randomUUID();
  for (const method of ["POST", "GET", "DELETE"]) {
    const refused = await status(endpoint.send(method, method === "POST" ? list : undefined, { session }), 404);
    assert.ok(messages(refused)[0]?.error !== undefined);
  }
  await status(endpoint.post({ jsonrpc: "2.0", method: "notifications/initialized" }, { session }), 404);
});

proves("hosting:session:delete", http, "ends the session and its stream", async () => {
  const { endpoint } = createServer();
  const client = await endpoint.open();
  const listener = client.get();
  await until(() => listener.status === 200);
  await status(client.delete(), 200);
  await listener.done;
  assert.deepEqual(endpoint.stats, { sessions: 0, streams: 0, running: 0 });
});

proves("hosting:session:post-termination-404", http, "after DELETE, expiry and eviction", async () => {
  const clock = new FakeClock();
  const { endpoint } = createServer({}, { clock, limits: { sessionIdleMs: 1000, maxSessions: 1 } });
  const deleted = await endpoint.open();
  await status(deleted.delete(), 200);
  const expired = await endpoint.open();
  clock.advance(1000);
  const evicted = await endpoint.open();
  const last = await endpoint.open();
  await answer(last.request(1, "ping"));
  for (const client of [deleted, expired, evicted]) {
    for (const exchange of [client.post(list), client.get(), client.delete()]) await status(exchange, 404);
  }
});

proves("hosting:session:delete-cancels-inflight", http, "without a response, and in that session alone", async () => {
  const { endpoint, release, started } = createServer();
  const [a, b] = [await endpoint.open(), await endpoint.open()];
  const calls = [a.call(1, "block"), a.call(2, "block"), b.call(1, "block")] as const;
  await until(() => started.length === 3);
  await status(a.delete(), 200);
  await Promise.all([calls[0].done, calls[1].done]);
  assert.deepEqual([...messages(calls[0]), ...messages(calls[1])], []);
  assert.deepEqual(
    started.map(({ aborted }) => aborted),
    [true, true, false],
  );
  release.open();
  assert.equal(textOf(await answer(calls[2])), "released");
});

proves("hosting:session:teardown-json-error", http, "by DELETE, expiry and shutdown", async () => {
  const clock = new FakeClock();
  const { endpoint, release, started } = createServer(
    { responseMode: "prefer-json" },
    { clock, limits: { sessionIdleMs: 1000 } },
  );
  const deleted = await endpoint.open();
  const first = deleted.call(1, "block");
  await until(() => started.length === 1);
  await status(deleted.delete(), 200);
  await status(first, 503);
  assert.equal(first.headers["retry-after"], undefined);
  assert.equal(messages(first)[0]?.id, 1);
  assert.ok(messages(first)[0]?.error !== undefined);
  const closed = await endpoint.open();
  const second = closed.call("x", "block");
  await until(() => started.length === 2);
  await endpoint.server.close();
  await status(second, 503);
  assert.equal(messages(second)[0]?.id, "x");
  assert.deepEqual(
    started.map(({ aborted }) => aborted),
    [true, true],
  );
  release.open();
  await until(() => endpoint.stats.running === 0);
  assert.deepEqual(endpoint.stats, { sessions: 0, streams: 0, running: 0 });
  assert.equal(clock.pending, 0);
});

proves(["hosting:session:isolation", "flow:multi-client:stateful-isolation"], http, "each hears its own", async () => {
  const { endpoint } = createServer();
  endpoint.server.tool("tell", {}, async (_args, ctx) => {
    await ctx.progress(1, 2, ctx.sessionId);
    return "told";
  });
  endpoint.server.resource("note://{id}", { name: "note" }, () => "text");
  const [a, b] = [await endpoint.open(), await endpoint.open()];
  const listeners = [a.get(), b.get()];
  await until(() => listeners.every((listener) => listener.status === 200));
  for (const [client, uri] of [
    [a, "note://a"],
    [b, "note://b"],
  ] as const) {
    await answer(client.request("s", "resources/subscribe", { uri }));
  }
  const calls = [a.call(1, "tell"), b.call(1, "tell")];
  await Promise.all(calls.map((call) => call.done));
  assert.deepEqual(
    calls.map((call) => messages(call).map(({ params, id }) => params?.message ?? id)),
    [
      [a.id, 1],
      [b.id, 1],
    ],
  );
  for (const uri of ["note://b", "note://a", "note://c"]) endpoint.server.changes.resourceUpdated(uri);
  endpoint.server.changes.toolsChanged();
  assert.deepEqual(
    listeners.map((listener) => messages(listener).map(({ method, params }) => params?.uri ?? method)),
    [
      ["note://a", "notifications/tools/list_changed"],
      ["note://b", "notifications/tools/list_changed"],
    ],
  );
  await status(a.delete(), 200);
  assert.equal(textOf(messages(await status(b.call(2, "tell"), 200)).at(-1)), "told");
});

proves("hosting:session:reinitialize", http, "is refused on a session and opens another without one", async () => {
  const { endpoint } = createServer();
  const client = await endpoint.open("2025-11-25", { roots: {} });
  const again = await status(endpoint.initialize("2025-06-18", { session: client.id }, { sampling: {} }), 400);
  assert.equal(messages(again)[0]?.error?.code, -32600);
  assert.equal(again.headers["mcp-session-id"], undefined);
  assert.equal(textOf(await answer(client.call(1, "who"))), `${client.id} 2025-11-25 roots`);
  assert.notEqual((await endpoint.open()).id, client.id);
});

proves("hosting:session:failed-init-no-session", http, "by its params and by an interceptor", async () => {
  const { endpoint } = createServer();
  const bad = endpoint.post({ jsonrpc: "2.0", id: 1, method: "initialize", params: { protocolVersion: 7 } });
  await status(bad, 400);
  assert.equal(messages(bad)[0]?.error?.code, -32602);
  endpoint.server.use((call, next) => {
    if (call.method === "initialize") throw new Error("not today");
    return next(call);
  });
  const thrown = endpoint.initialize();
  await thrown.done;
  assert.ok(messages(thrown)[0]?.error !== undefined);
  for (const exchange of [bad, thrown]) assert.equal(exchange.headers["mcp-session-id"], undefined);
  assert.deepEqual(endpoint.stats, { sessions: 0, streams: 0, running: 0 });
});

proves("hosting:session:failed-init-no-session", http, "by a guard and by a gate", async () => {
  const opened: string[] = [];
  const sessions = { onOpen: (id: string) => void opened.push(id) };
  const gate = () => ({ status: 401, headers: { "www-authenticate": "Bearer" } });
  for (const [options, headers, code] of [
    [{ sessions }, { host: "evil.example" }, 403],
    [{ sessions }, { origin: "https://evil.example" }, 403],
    [{ sessions, gate }, {}, 401],
  ] as const) {
    const { endpoint } = createServer(options);
    const refused = await status(endpoint.initialize("2025-11-25", { headers }), code);
    assert.equal(refused.headers["mcp-session-id"], undefined);
    assert.deepEqual([endpoint.stats.sessions, opened], [0, []]);
  }
  await createServer({ sessions }).endpoint.open();
  assert.equal(opened.length, 1);
});

proves("hosting:session:idle-timeout", http, "each request restarts the clock", async () => {
  const clock = new FakeClock();
  const log = new MemoryEventLog();
  const { endpoint } = createServer({ resumable: log, keepAliveMs: 0 }, { clock, limits: { sessionIdleMs: 1000 } });
  const client = await endpoint.open();
  clock.advance(900);
  await answer(client.request(1, "ping"));
  clock.advance(900);
  assert.equal(endpoint.stats.sessions, 1);
  assert.ok(log.size() > 0);
  clock.advance(100);
  assert.equal(endpoint.stats.sessions, 0);
  assert.equal(log.size(), 0);
  assert.equal(clock.pending, 0);
  await status(client.request(2, "ping"), 404);
});

proves("hosting:session:idle-timeout-inflight", http, "neither a call nor a stream is idle", async () => {
  const clock = new FakeClock();
  const { endpoint, release, started } = createServer({ keepAliveMs: 0 }, { clock, limits: { sessionIdleMs: 100 } });
  const client = await endpoint.open();
  const call = client.call(1, "block");
  await until(() => started.length === 1);
  // Neither is a multiple of the limit: the time starts anew when it is over, not at the next turn of a round.
  clock.advance(450);
  release.open();
  assert.equal(textOf(await answer(call)), "released");
  clock.advance(99);
  assert.equal(endpoint.stats.sessions, 1);
  const listener = client.get();
  await until(() => listener.status === 200);
  clock.advance(430);
  assert.equal(endpoint.stats.sessions, 1);
  listener.disconnect();
  clock.advance(99);
  assert.equal(endpoint.stats.sessions, 1);
  clock.advance(1);
  assert.equal(endpoint.stats.sessions, 0);
});

proves("hosting:session:close-race", http, "a handshake that outlasts its endpoint", async () => {
  const { endpoint } = createServer();
  const [entered, release] = [gate(), gate()];
  endpoint.server.use(async (call, next) => {
    entered.open();
    await release.opened;
    return next(call);
  });
  const opening = endpoint.initialize();
  await entered.opened;
  await endpoint.server.close();
  release.open();
  await status(opening, 503);
  assert.equal(opening.headers["mcp-session-id"], undefined);
  await until(() => endpoint.stats.running === 0);
  assert.deepEqual(endpoint.stats, { sessions: 0, streams: 0, running: 0 });
});

proves(
  ["hosting:session:principal-bound", "hosting:auth:session-principal"],
  http,
  "to others it does not exist",
  async () => {
    const { endpoint, started, release } = createServer({ resumable: true });
    const owner = await endpoint.open("2025-11-25", {}, { principal: "a" });
    const call = owner.call(1, "block");
    await until(() => started.length === 1);
    const session = owner.id;
    for (const principal of ["b", undefined]) {
      const cancel = { jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } };
      const lastEvent = { "last-event-id": "p1-0000000000" };
      await status(endpoint.post(list, { session, principal }), 404);
      await status(endpoint.post(cancel, { session, principal }), 404);
      await status(endpoint.send("GET", undefined, { session, principal, headers: lastEvent }), 404);
      await status(endpoint.send("DELETE", undefined, { session, principal }), 404);
    }
    assert.equal(started[0]?.aborted, false);
    release.open();
    await call.done;
    assert.equal(textOf(messages(call).at(-1)), "released");
  },
);

proves("hosting:http:shutdown-inflight-error", http, "new requests are refused, streams end", async () => {
  const { endpoint, release, started } = createServer();
  const client = await endpoint.open();
  const listener = client.get();
  const call = client.call(1, "block");
  await until(() => started.length === 1);
  await endpoint.server.close();
  await Promise.all([call.done, listener.done]);
  assert.deepEqual(messages(call), []);
  await status(client.request(2, "ping"), 503);
  release.open();
  await until(() => endpoint.stats.running === 0);
  assert.deepEqual(endpoint.stats, { sessions: 0, streams: 0, running: 0 });
});

proves("hosting:session:create", http, "up to the limit", async () => {
  const { endpoint } = createServer({}, { limits: { maxSessions: 2 } });
  const first = await endpoint.open();
  const listeners = [first.get(), (await endpoint.open()).get()];
  await until(() => listeners.every((listener) => listener.status === 200));
  const refused = await status(endpoint.initialize(), 503);
  assert.equal(refused.headers["mcp-session-id"], undefined);
  await status(first.delete(), 200);
  await endpoint.open();
  assert.equal(await isDone(refused), true);
});

proves("hosting:session:id-charset", http, "a generator of anything else is refused", async () => {
  const ids = ["a b", "", "line\n", "é"];
  const { endpoint } = createServer({ sessions: { createId: () => ids.pop() ?? "own" } });
  for (let left = ids.length; left > 0; left--) {
    const refused = await status(endpoint.initialize(), 500);
    assert.equal(refused.headers["mcp-session-id"], undefined);
  }
  assert.equal((await endpoint.open()).id, "own");
  await status(endpoint.initialize(), 500);
  assert.equal(endpoint.stats.sessions, 1);
});

proves("hosting:session:lifecycle-callbacks", http, "opening is awaited, the end comes once", async () => {
  const clock = new FakeClock();
  const log: string[] = [];
  const admitted = gate();
  const { endpoint } = createServer(
    {
      sessions: {
        onOpen: async (id) => {
          await admitted.opened;
          log.push(`open ${id}`);
        },
        onEnd: (id) => {
          log.push(`end ${id}`);
          throw new Error("callback");
        },
      },
    },
    { clock, limits: { sessionIdleMs: 1000 } },
  );
  const opening = endpoint.initialize();
  await settle();
  assert.equal(opening.status, undefined);
  admitted.open();
  const first = opening.done.then(() => opening.headers["mcp-session-id"]);
  const clients = [await endpoint.open(), await endpoint.open()];
  const ids = [await first, ...clients.map(({ id }) => id)];
  assert.deepEqual(
    log.splice(0),
    ids.map((id) => `open ${id}`),
  );
  await status(clients[0]?.delete() as typeof opening, 200);
  await status(clients[0]?.delete() as typeof opening, 404);
  assert.deepEqual(log.splice(0), [`end ${ids[1]}`]);
  clock.advance(1000);
  assert.deepEqual(log.splice(0), [`end ${ids[0]}`, `end ${ids[2]}`]);
  const last = await endpoint.open();
  await endpoint.server.close();
  assert.deepEqual(log, [`open ${last.id}`, `end ${last.id}`]);
  await settle();
  assert.equal(endpoint.reports.filter(({ where }) => where === "sessions.onEnd").length, 4);
});

proves("hosting:session:failed-init-no-session", http, "by the opening callback", async () => {
  const { endpoint } = createServer({ sessions: { onOpen: () => Promise.reject(new Error("no")) } });
  const refused = await status(endpoint.initialize(), 500);
  assert.equal(refused.headers["mcp-session-id"], undefined);
  assert.equal(endpoint.stats.sessions, 0);
});

proves("hosting:session:close-race", http, "an opening callback that outlasts its endpoint", async () => {
  const [entered, release] = [gate(), gate()];
  const ended: string[] = [];
  const { endpoint } = createServer({
    sessions: {
      onOpen: () => {
        entered.open();
        return release.opened;
      },
      onEnd: (id) => {
        ended.push(id);
      },
    },
  });
  const opening = endpoint.initialize();
  await entered.opened;
  await endpoint.server.close();
  release.open();
  await status(opening, 503);
  await settle();
  assert.deepEqual([endpoint.stats.sessions, ended.length], [0, 0]);
});

proves(
  ["hosting:session:delete-405", "hosting:http:get-405", "hosting:http:allow-header"],
  http,
  "where the host says so",
  async () => {
    const { endpoint } = createServer({ sessions: { clientMayEnd: false, clientMayListen: false } });
    const client = await endpoint.open();
    for (const exchange of [client.delete(), client.get()]) {
      assert.equal((await status(exchange, 405)).headers.allow, "POST");
    }
    await answer(client.request(1, "ping"));
  },
);

proves("hosting:session:reuse", http, "over another connection, whatever the case of the header's name", async (t) => {
  const served: (string | undefined)[] = [];
  const server = new McpServer({ name: "s", version: "1" }, { http: { responseMode: "prefer-json" } }).tool(
    "who",
    {},
    (_, ctx) => {
      served.push(ctx.sessionId);
      return `${ctx.client.version} ${served.length}`;
    },
  );
  t.after(() => server.close());
  const port = await listenOn(t, toNodeListener(server));
  const opened = await askPort(port, initialize());
  const id = opened.headers["mcp-session-id"] ?? "";
  const lines = ["Content-Type: application/json", "Accept: application/json, text/event-stream"];
  const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "who", arguments: {} } };
  for (const [at, name] of ["mcp-session-id", "MCP-SESSION-ID", "mCp-SeSsIoN-iD"].entries()) {
    const answered = await rawPost(port, [...lines, `${name}: ${id}`], body);
    assert.equal(answered.status, 200);
    assert.ok(answered.body.includes(`2025-11-25 ${at + 1}`), answered.body);
  }
  assert.deepEqual(served, [id, id, id]);
});
