import assert from "node:assert/strict";
import { McpServer } from "bowline/server";
import { gate } from "../../support/gate.js";
import { answer, blocks, LegacyEndpoint, messages, status, textOf, until } from "../../support/legacy-endpoint.js";
import { proves } from "../../support/verifies.js";

const http = { wire: "legacy-http" };

function createServer(...args: ConstructorParameters<typeof LegacyEndpoint>) {
  const endpoint = new LegacyEndpoint(...args);
  const calls: string[] = [];
  endpoint.server.tool("version", {}, (_args, ctx) => {
    calls.push(ctx.client.version);
    return ctx.client.version;
  });
  return { endpoint, calls };
}

const call = (id: number) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "version" } });
const note = { jsonrpc: "2.0", method: "notifications/roots/list_changed" };

proves(
  ["hosting:http:protocol-version-400", "hosting:http:protocol-version-rejection-literal"],
  http,
  "on each method, and the session survives",
  async () => {
    const { endpoint } = createServer();
    const client = await endpoint.open();
    for (const version of ["1999-01-01", "", "garbage"]) {
      const headers = { "mcp-protocol-version": version };
      for (const exchange of [
        client.request(1, "ping", {}, headers),
        client.get(undefined, headers),
        client.delete(headers),
      ]) {
        await status(exchange, 400);
        assert.match(messages(exchange)[0]?.error?.message ?? "", /Unsupported protocol version/);
        assert.match(exchange.body(), /2025-11-25/);
      }
    }
    assert.equal(textOf(await answer(client.post(call(2)))), "2025-11-25");
  },
);

proves(
  ["hosting:http:protocol-version-400", "hosting:http:protocol-version-rejection-literal"],
  http,
  "also where there is no session to compare with, and where newer versions are served beside",
  async (t) => {
    const { endpoint, calls } = createServer({ sessions: false });
    const server = new McpServer({ name: "both", version: "1" }).tool("quick", {}, () => "done");
    t.after(() => server.close());
    for (const version of ["1999-01-01", "", "garbage"]) {
      const headers = { "mcp-protocol-version": version };
      for (const body of [call(1), initialize]) {
        const exchange = await status(endpoint.post(body, { headers }), 400);
        assert.match(messages(exchange)[0]?.error?.message ?? "", /Unsupported protocol version/);
        assert.match(exchange.body(), /2025-11-25/);
        const { status: code, text } = await post(server, body, headers);
        assert.equal(code, 400);
        assert.match(text, /Unsupported protocol version/);
        assert.equal(text.includes("2026-07-28"), version === "garbage", "told to clients of earlier versions");
      }
    }
    const { text } = await post(server, call(1), { "mcp-protocol-version": "2027-01-01" });
    assert.match(text, /\(supported versions: 2026-07-28, 2025-11-25, 2025-06-18, 2025-03-26, 2024-11-05\)/);
    assert.deepEqual(calls, []);
    assert.equal(server.stats().sessions, 0);
  },
);

const initialize = {
  jsonrpc: "2.0",
  id: 0,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "c", version: "1" } },
};

async function post(server: McpServer, body: object, more: Record<string, string>) {
  const headers = { "content-type": "application/json", accept: "application/json, text/event-stream", ...more };
  const request = new Request("http://localhost/mcp", { method: "POST", headers, body: JSON.stringify(body) });
  const response = await server.fetch(request);
  return { status: response.status, text: await response.text() };
}

proves("hosting:http:protocol-version-default", http, "where no session knows better", async () => {
  const { endpoint } = createServer({ sessions: false });
  assert.equal(textOf(await answer(endpoint.post(call(1)))), "2025-03-26");
  const named = endpoint.post(call(1), { headers: { "mcp-protocol-version": "2025-06-18" } });
  assert.equal(textOf(await answer(named)), "2025-06-18");
  const batch = await status(endpoint.post([call(1), call(2)]), 200);
  assert.deepEqual(
    messages(batch)
      .map(({ id }) => id)
      .sort(),
    [1, 2],
  );
});

proves("hosting:http:protocol-version-session", http, "a missing header means the negotiated one", async () => {
  const { endpoint } = createServer({ resumable: true });
  const client = await endpoint.open("2025-11-25");
  const exchange = await status(client.post(call(1)), 200);
  assert.equal(blocks(exchange)[0]?.data, "");
  assert.equal(textOf(messages(exchange)[0]), "2025-11-25");
});

proves("hosting:http:protocol-version-other", http, "the session keeps the version of its handshake", async () => {
  const { endpoint, calls } = createServer();
  const client = await endpoint.open("2025-06-18");
  const versions = ["2026-07-28", "2025-11-25", "2025-03-26", "2024-11-05"];
  for (const version of versions) {
    const headers = { "mcp-protocol-version": version };
    assert.equal(textOf(await answer(client.post(call(1), headers))), "2025-06-18");
    await status(client.post([call(2)], headers), 400);
    await status(client.notify("notifications/roots/list_changed"), 202);
    const listening = client.get(undefined, headers);
    await until(() => listening.status === 200);
    listening.disconnect();
  }
  assert.equal(calls.length, versions.length);
  for (const version of ["2025-11-25", "2026-07-28"]) {
    const ending = await endpoint.open("2025-06-18");
    await status(ending.delete({ "mcp-protocol-version": version }), 200);
  }
});

proves("hosting:http:protocol-version-other", http, "a version without sessions opens and needs none", async () => {
  const modern = { "mcp-protocol-version": "2026-07-28" };
  const told =
    /^Unsupported protocol version: "2026-07-28" is served for POST with its _meta only \(others: 2025-11-25, /;
  for (const sessions of [{}, false] as const) {
    const { endpoint, calls } = createServer({ sessions });
    for (const method of sessions === false ? ["POST"] : ["GET", "DELETE"]) {
      const session = sessions === false ? "any" : undefined;
      const refused = await status(endpoint.send(method, call(1), { headers: modern, session }), 400);
      assert.match(messages(refused)[0]?.error?.message ?? "", told);
    }
    assert.deepEqual(calls, []);
  }
  const { endpoint } = createServer({}, { versions: ["2025-06-18"] });
  const client = await endpoint.open("2025-06-18");
  const refused = await status(client.post(call(1), modern), 400);
  assert.match(messages(refused)[0]?.error?.message ?? "", /"2026-07-28" \(supported versions: 2025-06-18\)/);
});

proves("hosting:http:protocol-version-future-initialize", http, "grants nothing of that version", async () => {
  const { endpoint } = createServer({ resumable: true }, { versions: ["2025-06-18"] });
  for (const version of ["2026-07-28", "2099-01-01"]) {
    const exchange = await status(endpoint.initialize(version), 200);
    assert.equal(messages(exchange)[0]?.result?.protocolVersion, "2025-06-18");
    assert.notEqual(blocks(exchange)[0]?.data, "");
  }
});

proves("hosting:http:batch", http, "is refused whole after 2025-03-26", async () => {
  const { endpoint, calls } = createServer();
  for (const version of ["2025-06-18", "2025-11-25"]) {
    const client = await endpoint.open(version);
    for (const body of [[], [call(1)], [call(1), call(2)], [note]]) {
      const refused = await status(client.post(body), 400);
      assert.equal(messages(refused)[0]?.error?.code, -32600);
    }
  }
  assert.deepEqual(calls, []);
});

for (const preferJson of [false, true]) {
  proves("hosting:http:batch-2025-03-26", http, preferJson ? "as one JSON array" : "as a stream", async () => {
    const { endpoint, calls } = createServer({ responseMode: preferJson ? "prefer-json" : "auto" });
    const client = await endpoint.open("2025-03-26");
    const mixed = await status(client.post([call(1), note, call(2)]), 200);
    assert.deepEqual(
      messages(mixed)
        .map(({ id }) => id)
        .sort(),
      [1, 2],
    );
    assert.equal(mixed.body().startsWith("["), preferJson);
    assert.equal((await status(client.post([note, note]), 202)).body(), "");
    assert.equal((await status(client.post([{ jsonrpc: "2.0", id: 0, result: {} }]), 202)).body(), "");
    const opening = { jsonrpc: "2.0", id: 3, method: "initialize", params: {} };
    await status(client.post([opening, call(4)]), 400);
    await status(client.post([call(5), call(5)]), 400);
    await status(client.post([]), 400);
    assert.equal(calls.length, 2);
    assert.deepEqual(endpoint.stats, { sessions: 1, streams: 0, running: 0 });
  });

  proves("hosting:http:batch-2025-03-26", http, `one of its calls is cancelled, json ${preferJson}`, async () => {
    const { endpoint } = createServer({ responseMode: preferJson ? "prefer-json" : "auto" });
    const started = gate();
    endpoint.server.tool("hang", {}, () => {
      started.open();
      return new Promise<string>(() => {});
    });
    const client = await endpoint.open("2025-03-26");
    const hang = { ...call(1), params: { name: "hang" } };
    const batch = client.post([hang, call(2)]);
    await started.opened;
    await until(() => endpoint.stats.running === 1);
    client.cancel(1);
    await status(batch, 200);
    assert.deepEqual(
      messages(batch).map(({ id }) => id),
      [2],
    );
    const cancelled = client.post([hang]);
    await until(() => endpoint.stats.running === 1);
    client.cancel(1);
    await status(cancelled, preferJson ? 204 : 200);
    assert.deepEqual(preferJson ? cancelled.body() : messages(cancelled), preferJson ? "" : []);
  });
}

proves("hosting:http:notification-error-status", http, "never 2xx, and no id", async () => {
  const { endpoint } = createServer();
  const client = await endpoint.open();
  const refused = [
    await status(endpoint.post(note, { session: crypto.randomUUID() }), 404),
    await status(client.post(note, { "mcp-protocol-version": "1999-01-01" }), 400),
    await status(client.post({ jsonrpc: "2.0", method: 7 }), 400),
    await status(client.post({ jsonrpc: "2.0", id: 3, result: "text" }), 400),
  ];
  for (const exchange of refused) assert.equal("id" in (messages(exchange)[0] ?? {}), false);
});

proves("hosting:http:accept-406", http, "what the client rules out is not sent", async () => {
  const { endpoint } = createServer();
  const client = await endpoint.open();
  const jsonOnly = { accept: "application/json" };
  await status(client.request(1, "ping", {}, jsonOnly), 406);
  await status(client.get(undefined, jsonOnly), 406);
  await status(client.post(note, jsonOnly), 202);
  const { endpoint: json } = createServer({ responseMode: "prefer-json" });
  const other = await json.open("2025-11-25", {}, { headers: jsonOnly });
  assert.deepEqual((await answer(other.request(1, "ping", {}, jsonOnly))).result, {});
});

proves("hosting:http:content-type-415", http, "only JSON bodies are served", async () => {
  const { endpoint, calls } = createServer();
  const client = await endpoint.open();
  for (const type of ["text/plain", undefined, "text/plain;a=application/json", "application/json, text/plain"]) {
    await status(client.post(call(1), { "content-type": type }), 415);
  }
  assert.deepEqual(calls, []);
  for (const type of ["application/json;charset=utf-8", "APPLICATION/JSON"]) {
    await status(client.post(call(1), { "content-type": type }), 200);
  }
});
