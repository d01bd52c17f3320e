import { deepEqual, equal, rejects } from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { type ClientOptions, connect } from "bowline/client";
import { McpServer } from "bowline/server";
import { aborted, gate } from "../../support/gate.js";
import { until } from "../../support/legacy-endpoint.js";
import { modernRequest } from "../../support/modern-request.js";
import { askPort, initialize, legacy, listenOn } from "../../support/plain-http.js";
import { SseStream } from "../../support/sse-stream.js";
import { proves } from "../../support/verifies.js";

const http = { wire: "http" };
const example = (name: string) =>
  import(new URL(`../../../../examples/dist/mounting/${name}.js`, import.meta.url).href);

function create(options: ConstructorParameters<typeof McpServer>[1] = {}) {
  const ended: unknown[] = [];
  const server = new McpServer({ name: "mounted", version: "1.0.0" }, options)
    .tool("count", {}, async (_, ctx) => {
      for (let n = 1; n <= 3; n++) await ctx.progress(n, 3);
      return `${ctx.url} ${ctx.header("x-tenant")}`;
    })
    .tool("echo", { input: { type: "object" } }, (args: Record<string, unknown>) => String(args.text))
    .tool("wait", {}, async (_, ctx) => {
      ctx.progress(1);
      await aborted(ctx.signal);
      ended.push(ctx.signal.reason);
    });
  return { server, ended };
}

/** A full exchange of each era: listing, progress, a large body, cancellation, changes. */
async function exercise({ server, ended }: ReturnType<typeof create>, url: string, more: ClientOptions = {}) {
  for (const era of ["modern", "legacy"] as const) {
    ended.length = 0;
    const client = await connect(url, { era, headers: { "x-tenant": "7" }, ...more });
    equal((await client.listTools()).tools.length, 3);
    const heard: number[] = [];
    const counted = await client.callTool("count", {}, { onProgress: ({ progress }) => heard.push(progress) });
    equal(counted.text, "/api/mcp 7");
    deepEqual(heard, [1, 2, 3]);
    const text = "é".repeat(200_000);
    equal((await client.callTool("echo", { text })).text, text);
    // The handler goes on only when it is left, which it is when its first event has been read.
    const read = gate();
    const abort = new AbortController();
    const call = client.callTool("wait", {}, { signal: abort.signal, onProgress: () => read.open() });
    await read.opened;
    abort.abort("enough");
    await rejects(call, (reason) => reason === "enough");
    await until(() => ended.length === 1, `the handler is told (${era})`);
    const watch = await client.watch({ toolsListChanged: true });
    server.changes.toolsChanged();
    deepEqual((await watch[Symbol.asyncIterator]().next()).value, { kind: "tools" });
    await watch.close();
    await client.close();
  }
}

async function refusesStrangers(port: number): Promise<void> {
  const call = modernRequest("tools/call", { params: { name: "echo", arguments: {} } });
  for (const request of [call, initialize()]) {
    const send = (headers: object) =>
      askPort(port, { ...request, path: "/api/mcp", headers: { ...request.headers, ...headers } });
    equal((await send({ host: "evil.example" })).status, 403);
    equal((await send({ origin: "https://evil.example" })).status, 403);
    equal((await send({ origin: "http://localhost:5173" })).status, 200);
    equal((await send({})).status, 200);
  }
}

/** What every adapter owes to requests that name a session which is not there. */
async function refusesLostSessions(port: number): Promise<void> {
  const headers = { "mcp-session-id": "00000000-0000-4000-8000-000000000000", accept: "text/event-stream" };
  const listing = legacy({ jsonrpc: "2.0", id: 1, method: "tools/list" }, { headers });
  for (const request of [listing, { method: "GET", headers }, { method: "DELETE", headers }]) {
    equal((await askPort(port, { ...request, path: "/api/mcp" })).status, 404, request.method ?? "POST");
  }
}

/** Proved by the exchange of each adapter, beside what is its own. */
const everywhere = [
  "hosting:http:events-flushed",
  "hosting:http:modern:disconnect-cancels",
  "hosting:session:unknown-id",
] as const;

const urlOf = (port: number) => `http://127.0.0.1:${port}/api/mcp`;

proves(
  ["hosting:express:adapter-basic-flow", "hosting:express:adapter-host-header-validation", ...everywhere],
  http,
  "with and without a body parser",
  async (t) => {
    const { createExpressApp } = await example("express");
    for (const parseBodies of [true, false]) {
      const made = create();
      t.after(() => made.server.close());
      const port = await listenOn(t, createExpressApp(made.server, { parseBodies }) as RequestListener);
      await exercise(made, urlOf(port));
      await refusesStrangers(port);
      await refusesLostSessions(port);
    }
  },
);

proves("transport:sse:server-transport", { wire: "sse" }, "below a router of Express too", async (t) => {
  const { createExpressApp } = await example("express");
  const { server } = create({ http: { sse: true } });
  t.after(() => server.close());
  const port = await listenOn(t, createExpressApp(server) as RequestListener);
  const stream = await SseStream.open(t, `http://127.0.0.1:${port}/api/sse`);
  equal(stream.address.pathname, "/api/messages");
  await stream.initialize();
  const answer = await stream.request(1, "tools/call", { name: "echo", arguments: { text: "through a router" } });
  equal(answer.result.content[0].text, "through a router");
});

proves(
  ["hosting:fastify:basic-flow", "hosting:fastify:host-header-validation", ...everywhere],
  http,
  "with its parser and hooks",
  async (t) => {
    const { createFastifyApp } = await example("fastify");
    const made = create();
    t.after(() => made.server.close());
    const app = createFastifyApp(made.server);
    let hooked = 0;
    const problems: unknown[] = [];
    app.addHook("onRequest", async () => void hooked++);
    app.addHook("onError", async (_request: unknown, _reply: unknown, error: unknown) => void problems.push(error));
    const onWarning = (warning: Error) => void problems.push(warning);
    process.on("warning", onWarning);
    t.after(() => process.off("warning", onWarning));
    await app.listen({ port: 0, host: "127.0.0.1" });
    t.after(() => app.close());
    const { port } = app.server.address() as AddressInfo;
    await exercise(made, urlOf(port));
    await refusesStrangers(port);
    await refusesLostSessions(port);
    equal(hooked > 10, true);
    deepEqual(problems, []);
  },
);

proves(
  ["hosting:hono:basic-flow", "hosting:hono:host-header-validation", ...everywhere],
  http,
  "over a socket and in process",
  async (t) => {
    const { createHonoApp } = await example("hono");
    const { getRequestListener } = await import(
      import.meta.resolve("@hono/node-server", new URL("../../../../examples/package.json", import.meta.url).href)
    );
    const made = create();
    t.after(() => made.server.close());
    const app = createHonoApp(made.server);
    const port = await listen(t, getRequestListener(app.fetch));
    await exercise(made, urlOf(port));
    await refusesStrangers(port);
    await refusesLostSessions(port);
    await exercise(made, "http://localhost/api/mcp", { fetch: (url, init) => app.request(String(url), init) });
  },
);

proves("hosting:hono:basic-flow", http, "a client that leaves leaves no words", async (t) => {
  const { createHonoApp } = await example("hono");
  const { getRequestListener } = await import(
    import.meta.resolve("@hono/node-server", new URL("../../../../examples/package.json", import.meta.url).href)
  );
  const printed = t.mock.method(console, "error", () => {});
  const made = create();
  t.after(() => made.server.close());
  const bodies: Promise<unknown>[] = [];
  const app = createHonoApp(made.server);
  const fetch = async (request: Request, ...more: unknown[]) => {
    const response: Response = await app.fetch(request, ...more);
    if (response.body === null) return response;
    const through = new TransformStream<Uint8Array, Uint8Array>();
    bodies.push(response.body.pipeTo(through.writable).catch((error: unknown) => error));
    return new Response(through.readable, response);
  };
  const ports = [await listen(t, getRequestListener(app.fetch)), await listen(t, getRequestListener(fetch))];
  for (const port of ports)
    for (const era of ["modern", "legacy"] as const) {
      const client = await connect(urlOf(port), { era });
      await client.watch({ toolsListChanged: true });
      await client.close();
    }
  await until(() => Object.values(made.server.stats()).every((count) => count === 0), "all clients have left");
  deepEqual(
    (await Promise.all(bodies)).filter((end) => end !== undefined),
    [],
  );
  equal(printed.mock.callCount(), 0);
});

async function listen(t: TestContext, listener: RequestListener): Promise<number> {
  const host = createServer(listener);
  host.listen(0, "127.0.0.1");
  await once(host, "listening");
  t.after(() => {
    host.closeAllConnections();
    host.close();
  });
  return (host.address() as AddressInfo).port;
}

proves("hosting:web:basic-flow", http, "as the route of a framework that routes by method", async () => {
  const route = await example("next-route");
  for (const era of ["modern", "legacy"] as const) {
    const client = await connect("http://localhost/api/mcp", {
      era,
      fetch: (url, init) => route[init.method ?? "GET"](new Request(url, init)),
    });
    const heard: unknown[] = [];
    const greeted = await client.callTool(
      "greet",
      { name: "Ann" },
      { onProgress: ({ message }) => heard.push(message) },
    );
    deepEqual([greeted.text, heard], ["Hello Ann", ["waving"]]);
    await client.close();
  }
});
