import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { once } from "node:events";
import { connect as connectSession, constants, createServer as createHttp2 } from "node:http2";
import { type AddressInfo, connect as connectSocket, createServer as createProxy, type Socket } from "node:net";
import { connect } from "bowline/client";
import { serveHttp, toNodeListener } from "bowline/node";
import { McpServer } from "bowline/server";
import { build } from "esbuild";
import { MemoryEventLog } from "#src/store/event-log.js";
import { createArrayExchange } from "#src/testing/array-exchange.js";
import { legacyHttp } from "../../support/each-wire.js";
import { FakeClock } from "../../support/fake-clock.js";
import { aborted, gate } from "../../support/gate.js";
import { blocks, LegacyEndpoint, settle, until } from "../../support/legacy-endpoint.js";
import { modernRequest } from "../../support/modern-request.js";
import { initialize, lastMessage, legacy, listenOn } from "../../support/plain-http.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "hosts", version: "1.0.0" };
const http = { wire: "http" };
const modernWire = { wire: "modern-http" };

function create() {
  const started = gate();
  const ended: unknown[] = [];
  const server = new McpServer(me)
    .tool("count", {}, async (_, ctx) => {
      for (let n = 1; n <= 3; n++) await ctx.progress(n, 3);
      return "counted";
    })
    .tool("wait", {}, async (_, ctx) => {
      ctx.progress(1);
      started.open();
      await aborted(ctx.signal);
      ended.push(ctx.signal.reason);
    });
  return { server, started, ended };
}

proves("hosting:node:basic-flow", http, "a plain listener, over HTTP/1.1", async (t) => {
  for (const era of ["modern", "legacy"] as const) {
    const { server, started, ended } = create();
    const port = await listenOn(t, toNodeListener(server));
    const client = await connect(`http://127.0.0.1:${port}/mcp`, { era });
    equal((await client.listTools()).tools.length, 2);
    const heard: number[] = [];
    equal((await client.callTool("count", {}, { onProgress: ({ progress }) => heard.push(progress) })).text, "counted");
    deepEqual(heard, [1, 2, 3]);
    const abort = new AbortController();
    const call = client.callTool("wait", {}, { signal: abort.signal });
    await started.opened;
    abort.abort("enough");
    await rejects(call, (reason) => reason === "enough");
    await until(() => ended.length === 1, "the handler is told");
    if (era === "legacy") {
      const watch = await client.watch({ toolsListChanged: true });
      server.changes.toolsChanged();
      deepEqual((await watch[Symbol.asyncIterator]().next()).value, { kind: "tools" });
    }
    await client.close();
    await server.close();
  }
});

proves("hosting:node:basic-flow", http, "the same listener over HTTP/2", async (t) => {
  const { server, started, ended } = create();
  const listener = toNodeListener(server) as unknown as Parameters<typeof createHttp2>[1];
  const host = createHttp2(listener as never);
  host.listen(0, "127.0.0.1");
  await once(host, "listening");
  const { port } = host.address() as AddressInfo;
  const session = connectSession(`http://127.0.0.1:${port}`);
  t.after(async () => {
    session.destroy();
    host.close();
    await server.close();
  });
  const send = (request: { headers?: object; body?: unknown }, authority = "localhost", method = "POST") => {
    const present = Object.entries(request.headers ?? {}).filter(([, value]) => value !== undefined);
    const stream = session.request({
      ":method": method,
      ":path": "/mcp",
      ":authority": authority,
      ...Object.fromEntries(present),
    });
    stream.end(request.body === undefined ? undefined : JSON.stringify(request.body));
    return stream;
  };
  const ask = async (...args: Parameters<typeof send>) => {
    const stream = send(...args);
    const [headers] = (await once(stream, "response")) as [Record<string, string | number>];
    let text = "";
    stream.setEncoding("utf8");
    for await (const chunk of stream) text += chunk;
    return { status: Number(headers[":status"]), headers: headers as Record<string, string>, text };
  };
  const call = (name: string) =>
    modernRequest("tools/call", { params: { name, arguments: {} }, meta: { progressToken: "p" } });
  const counted = await ask(call("count"));
  equal(counted.status, 200);
  equal(counted.text.match(/notifications\/progress/g)?.length, 3);
  equal((await ask(call("count"), "evil.example")).status, 403);
  const opened = await ask(initialize());
  const headers = { "mcp-session-id": opened.headers["mcp-session-id"] ?? "" };
  equal((await ask(legacy({ jsonrpc: "2.0", method: "notifications/initialized" }, { headers }))).status, 202);
  ok(lastMessage(await ask(legacy({ jsonrpc: "2.0", id: 1, method: "tools/list" }, { headers }))).result !== undefined);
  const own = send({ headers: { accept: "text/event-stream", ...headers } }, "localhost", "GET");
  equal(((await once(own, "response")) as [Record<string, number>])[0][":status"], 200);
  server.changes.toolsChanged();
  const [chunk] = (await once(own, "data")) as [Buffer];
  match(chunk.toString(), /notifications\/tools\/list_changed/);
  const waiting = send(call("wait"));
  await started.opened;
  waiting.close();
  await until(() => ended.length === 1, "the handler is told");
});

proves("hosting:web:basic-flow", http, "a function of Request and Response that needs nothing else", async () => {
  const { server } = create();
  const { fetch: handle } = server;
  for (const era of ["modern", "legacy"] as const) {
    const client = await connect("http://localhost/mcp", { era, fetch: (url, init) => handle(new Request(url, init)) });
    equal((await client.callTool("count")).text, "counted");
    const watch = await client.watch({ toolsListChanged: true });
    server.changes.toolsChanged();
    deepEqual((await watch[Symbol.asyncIterator]().next()).value, { kind: "tools" });
    await client.close();
  }
  equal((await handle(new Request("http://localhost/mcp", { method: "PUT" }))).status, 405);
  await server.close();
  for (const entry of ["bowline/server", "bowline/server/modern"]) {
    const contents = `import { McpServer } from "${entry}"; export default { fetch: new McpServer({ name: "a", version: "1" }).fetch };`;
    const { outputFiles, metafile } = await build({
      stdin: { contents, resolveDir: process.cwd() },
      bundle: true,
      format: "esm",
      platform: "neutral",
      conditions: ["worker"],
      metafile: true,
      write: false,
    });
    ok(!(outputFiles[0]?.text ?? "node:").includes('"node:'));
    deepEqual(
      Object.values(metafile.outputs).flatMap(({ imports }) => imports.filter(({ external }) => external)),
      [],
    );
  }
});

proves("hosting:web:stream-cancel", modernWire, "to stop reading, or to abort, is to leave", async () => {
  for (const how of ["cancel", "abort"]) {
    const { server, ended, started } = create();
    const abort = new AbortController();
    const { headers, body } = modernRequest("tools/call", {
      params: { name: "wait", arguments: {} },
      meta: { progressToken: "p" },
    });
    const init = { method: "POST", headers: headers as Record<string, string>, body: JSON.stringify(body) };
    const response = await server.fetch(new Request("http://localhost/mcp", { ...init, signal: abort.signal }));
    equal(response.headers.get("content-type"), "text/event-stream");
    await started.opened;
    if (how === "cancel") await response.body?.cancel();
    else abort.abort();
    await until(() => ended.length === 1, "the handler is told");
    abort.abort();
    await settle();
    equal(ended.length, 1);
    const late = create();
    const gone = new Request("http://localhost/mcp", { ...init, signal: AbortSignal.abort() });
    await late.server.fetch(gone).catch(() => {});
    await settle();
    equal(late.server.stats().openRequests, 0);
    deepEqual(late.ended, []);
  }
});

verifies("hosting:http:events-flushed", legacyHttp, async ({ connect }) => {
  const heard = gate();
  const server = new McpServer(me).tool("tell", {}, async (_, ctx) => {
    ctx.progress(1);
    await heard.opened;
    return "told";
  });
  const client = await connect(server);
  equal((await client.callTool("tell", {}, { onProgress: () => heard.open() })).text, "told");
});

proves(
  "hosting:resume:event-id-names-stream",
  { wire: "legacy-http" },
  "an id is enough to find its stream",
  async () => {
    const release = gate();
    const endpoint = new LegacyEndpoint({ resumable: new MemoryEventLog() });
    endpoint.server.tool("tell", { input: { type: "object" } }, async (args: Record<string, unknown>, ctx) => {
      ctx.progress(1, 2, `${args.who} began`);
      await release.opened;
      ctx.progress(2, 2, `${args.who} went on`);
      return `${args.who} is done`;
    });
    const client = await endpoint.open();
    const calls = ["a", "b", "c"].map((who) => client.call(who, "tell", { who }));
    const own = client.get();
    await settle();
    const ids = calls.map((call) => blocks(call).at(-1)?.id);
    equal(new Set(ids).size, 3);
    for (const call of calls) call.disconnect();
    const resumed = ids.map((id) => client.get(id));
    await settle();
    release.open();
    await Promise.all(resumed.map(({ done }) => done));
    for (const [at, who] of ["a", "b", "c"].entries()) {
      const text = resumed[at]?.body() ?? "";
      ok(text.includes(`${who} went on`) && text.includes(`${who} is done`) && !text.includes("began"));
      for (const other of ["a", "b", "c"]) if (other !== who) ok(!text.includes(`${other} went on`));
    }
    own.disconnect();
    await endpoint.server.close();
  },
);

proves(
  "hosting:http:modern:disconnect-detected-while-idle",
  modernWire,
  "a connection that a proxy drops without a word of farewell is missed at once, with nothing to write",
  async (t) => {
    const server = new McpServer(me, { clock: new FakeClock() }).resource("note://1", { name: "n" }, () => "");
    const running = await serveHttp(server);
    t.after(() => running.close());
    const upstream: Socket[] = [];
    const proxy = createProxy((downstream) => {
      const socket = connectSocket({ port: Number(new URL(running.url).port), host: "127.0.0.1" });
      upstream.push(socket);
      downstream.pipe(socket).pipe(downstream);
      for (const end of [socket, downstream]) end.on("error", () => {});
      t.after(() => downstream.destroy());
    });
    await new Promise<void>((resolve) => proxy.listen(0, "127.0.0.1", resolve));
    t.after(() => proxy.close());
    const { headers, body } = modernRequest("subscriptions/listen", {
      params: { notifications: { resourceSubscriptions: ["note://1"] } },
    }) as { headers: Record<string, string>; body: unknown };
    const { port } = proxy.address() as AddressInfo;
    const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
    const reader = (response.body as ReadableStream<Uint8Array>).getReader();
    match(new TextDecoder().decode((await reader.read()).value), /acknowledged/);
    equal(server.stats().openRequests, 1);
    // A reset carries no FIN: what the server's side sees of a peer that vanished.
    for (const socket of upstream) socket.resetAndDestroy();
    await until(() => server.stats().openRequests === 0, "the subscription is released");
    await reader.cancel().catch(() => {});
  },
);

proves(
  "hosting:http:modern:disconnect-detected-while-idle",
  modernWire,
  "who left without a word is missed at the next sign of life (the socket whose write fails is simulated)",
  async () => {
    const clock = new FakeClock();
    const server = new McpServer(me, { clock, http: { keepAliveMs: 15_000 } }).resource(
      "note://1",
      { name: "n" },
      () => "",
    );
    const request = modernRequest("subscriptions/listen", {
      params: { notifications: { resourceSubscriptions: ["note://1"] } },
    });
    const exchange = createArrayExchange(request as { headers: Record<string, string>; body: unknown });
    let unplugged = false;
    const stream = exchange.stream.bind(exchange);
    exchange.stream = (status, headers) => {
      const inner = stream(status, headers);
      return {
        ...inner,
        // As a socket does whose other side is gone: it is the write that fails.
        write: (text) => {
          if (unplugged) exchange.disconnect();
          return inner.write(text);
        },
      };
    };
    server.handle(exchange);
    await settle();
    match(exchange.body(), /acknowledged/);
    unplugged = true;
    equal(server.stats().openRequests, 1);
    clock.advance(15_000);
    await settle();
    equal(server.stats().openRequests, 0);
    await server.close();
  },
);

proves("hosting:http:modern:disconnect-scoped", modernWire, "of three calls on one HTTP/2 connection", async (t) => {
  const release = gate();
  const full = gate();
  const aborted: unknown[] = [];
  let running = 0;
  const server = new McpServer(me).tool("wait", { input: { type: "object" } }, async (args, ctx) => {
    const { n } = args as { n: number };
    ctx.signal.addEventListener("abort", () => aborted.push(n));
    if (++running === 3) full.open();
    await release.opened;
    return `call ${n}`;
  });
  const host = createHttp2(toNodeListener(server) as never);
  host.listen(0, "127.0.0.1");
  await once(host, "listening");
  const session = connectSession(`http://127.0.0.1:${(host.address() as AddressInfo).port}`);
  t.after(async () => {
    session.destroy();
    host.close();
    await server.close();
  });
  const streams = [0, 1, 2].map((n) => {
    const { headers, body } = modernRequest("tools/call", { id: n, params: { name: "wait", arguments: { n } } });
    const present = Object.entries(headers).filter(([, value]) => value !== undefined);
    const pseudo = { ":method": "POST", ":path": "/mcp", ":authority": "localhost" };
    const stream = session.request({ ...pseudo, ...Object.fromEntries(present) });
    stream.end(JSON.stringify(body));
    return stream.setEncoding("utf8");
  });
  await full.opened;
  streams[1]?.close(constants.NGHTTP2_CANCEL);
  await until(() => aborted.length === 1, "the handler is told");
  release.open();
  for (const n of [0, 2]) match((await streams[n]?.toArray())?.join("") ?? "", new RegExp(`call ${n}`));
  deepEqual(aborted, [1]);
});
