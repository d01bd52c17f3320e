import assert from "node:assert/strict";
import { connect } from "bowline/client";
import { McpServer } from "bowline/server";
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
import { proves } from "../../support/verifies.js";

const http = { wire: "legacy-http" };

function createServer(options: ConstructorParameters<typeof LegacyEndpoint>[0] = {}) {
  const endpoint = new LegacyEndpoint({ sessions: false, ...options });
  const release = gate();
  const started: AbortSignal[] = [];
  endpoint.server
    .tool("echo", { input: { type: "object" } }, ({ text }: Record<string, unknown>) => String(text))
    .tool("tell", {}, async (_args, ctx) => {
      await ctx.progress(1);
      return "told";
    })
    .tool("hold", {}, async (_args, ctx) => {
      started.push(ctx.signal);
      await release.opened;
      return "held";
    })
    .tool("ask", {}, async (_args, ctx) => {
      await ctx.listRoots();
      return "answered";
    });
  return { endpoint, release, started };
}

const call = (id: number, name: string, args: object = {}) => ({
  jsonrpc: "2.0",
  id,
  method: "tools/call",
  params: { name, arguments: args, _meta: { progressToken: id } },
});

proves(
  ["hosting:stateless:no-session-id", "transport:streamable-http:stateless"],
  http,
  "none is given, any is ignored",
  async () => {
    const { endpoint } = createServer();
    const opened = await status(endpoint.initialize("2025-06-18"), 200);
    assert.equal(messages(opened)[0]?.result?.protocolVersion, "2025-06-18");
    const exchanges = [opened, endpoint.post(call(1, "echo", { text: "a" }), { session: "whatever" })];
    exchanges.push(endpoint.post({ jsonrpc: "2.0", method: "notifications/initialized" }));
    for (const exchange of exchanges) {
      await exchange.done;
      assert.equal(exchange.headers["mcp-session-id"], undefined);
    }
    assert.equal(textOf(messages(exchanges[1] as typeof opened)[0]), "a");
    assert.equal(exchanges[2]?.status, 202);
  },
);

for (const [what, sessions] of Object.entries({ off: false, "not listening": { clientMayListen: false } } as const)) {
  proves("hosting:stateless:announces-no-changes", http, `sessions ${what}`, async () => {
    const { endpoint } = createServer({ sessions });
    endpoint.server.resource("note://1", { name: "note" }, () => "").prompt("p", {}, () => "");
    const opened = await status(endpoint.initialize("2025-06-18"), 200);
    assert.deepEqual(messages(opened)[0]?.result?.capabilities, {
      logging: {},
      prompts: { listChanged: false },
      resources: { listChanged: false, subscribe: false },
      tools: { listChanged: false },
    });
    const session = opened.headers["mcp-session-id"];
    const subscribe = { jsonrpc: "2.0", id: 1, method: "resources/subscribe", params: { uri: "note://1" } };
    assert.equal((await answer(endpoint.post(subscribe, { session }))).error?.code, -32601);
    // What the server declares is unchanged: clients of 2026-07-28 can subscribe.
    assert.equal(endpoint.server.capabilities.tools?.listChanged, true);
  });
}

proves("hosting:stateless:concurrent-clients", http, "equal ids do not mix", async () => {
  const { endpoint } = createServer();
  const calls = Array.from({ length: 10 }, (_, at) => endpoint.post(call(1, "echo", { text: at })));
  for (const [at, exchange] of calls.entries()) assert.equal(textOf(await answer(exchange)), String(at));
});

proves("hosting:stateless:get-delete-405", http, "with and without a session header", async () => {
  const { endpoint } = createServer();
  for (const method of ["GET", "DELETE"]) {
    for (const session of [undefined, "x"]) {
      const refused = await status(endpoint.send(method, undefined, { session }), 405);
      assert.equal(refused.headers.allow, "POST");
    }
  }
});

proves("hosting:stateless:progress-in-post-stream", http, "before the result", async () => {
  const { endpoint } = createServer();
  const exchange = await status(endpoint.post(call(1, "tell")), 200);
  assert.deepEqual(
    messages(exchange).map(({ method }) => method),
    ["notifications/progress", undefined],
  );
});

proves("transport:streamable-http:stateless-restrictions", http, "a question fails at once", async () => {
  const { endpoint } = createServer();
  const message = await answer(endpoint.post(call(1, "ask")));
  assert.equal(message.result?.isError, true);
});

proves("hosting:stateless:cancel-ignored", http, "202, and the call goes on", async () => {
  const { endpoint, release, started } = createServer();
  const held = endpoint.post(call(1, "hold"));
  await until(() => started.length === 1);
  await status(endpoint.post({ jsonrpc: "2.0", method: "notifications/cancelled", params: { requestId: 1 } }), 202);
  assert.equal(started[0]?.aborted, false);
  assert.equal(await isDone(held), false);
  release.open();
  assert.equal(textOf(await answer(held)), "held");
});

for (const preferJson of [false, true]) {
  proves("hosting:stateless:teardown", http, `nothing is left, json ${preferJson}`, async () => {
    const { endpoint, release, started } = createServer({ responseMode: preferJson ? "prefer-json" : "auto" });
    const exchanges = Array.from({ length: 100 }, (_, at) => {
      const exchange = endpoint.post(call(at, at % 3 === 0 ? "hold" : at % 3 === 1 ? "tell" : "none"));
      return exchange;
    });
    await until(() => started.length === 34);
    await settle();
    assert.equal(endpoint.stats.running, 34);
    for (const [at, exchange] of exchanges.entries()) if (at % 6 === 0) exchange.disconnect();
    assert.ok(started.every(({ aborted }) => !aborted));
    release.open();
    await Promise.all(exchanges.map(({ done }) => done));
    await until(() => endpoint.stats.running === 0);
    assert.deepEqual(endpoint.stats, { sessions: 0, streams: 0, running: 0 });
    assert.equal(endpoint.reports.filter(({ where }) => where === "http").length, 17);
  });
}

proves("hosting:http:shutdown-inflight-error", http, "single requests are told", async () => {
  const { endpoint, started } = createServer({ responseMode: "prefer-json" });
  const held = endpoint.post(call(1, "hold"));
  await until(() => started.length === 1);
  await endpoint.server.close();
  await status(held, 503);
  assert.equal(messages(held)[0]?.id, 1);
  assert.equal(started[0]?.aborted, true);
});

proves(
  "transport:streamable-http:stateless",
  http,
  "a client whose every request meets another instance",
  async (t) => {
    const create = () =>
      new McpServer({ name: "s", version: "1" }, { http: { sessions: false } }).tool("tell", {}, async (_, ctx) => {
        await ctx.progress(1);
        return String(ctx.sessionId);
      });
    const instances = [create(), create()];
    const seen: number[] = [0, 0];
    const sessions: (string | null)[] = [];
    let turn = 0;
    const client = await connect("http://localhost/mcp", {
      era: "legacy",
      fetch: async (url, init) => {
        const at = turn++ % 2;
        seen[at] = (seen[at] ?? 0) + 1;
        sessions.push(new Headers(init.headers).get("mcp-session-id"));
        return (instances[at] as McpServer).fetch(new Request(url, init));
      },
    });
    t.after(() => client.close());
    assert.deepEqual(
      (await client.listTools()).tools.map(({ name }) => name),
      ["tell"],
    );
    for (let call = 0; call < 4; call++) {
      const heard: number[] = [];
      const { text } = await client.callTool("tell", {}, { onProgress: ({ progress }) => heard.push(progress) });
      assert.deepEqual([text, heard], ["undefined", [1]]);
    }
    assert.ok(seen.every((count) => count >= 3));
    assert.ok(sessions.every((session) => session === null));
  },
);
