import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it, type TestContext } from "node:test";
import { bearer, clientCredentials, oauth } from "bowline/auth/client";
import { type ClientOptions, connect } from "bowline/client";
import { serveHttp, toNodeListener } from "bowline/node";
import { McpServer } from "bowline/server";
import { until } from "../../../support/census.js";
import { openSockets } from "../../../support/open-sockets.js";

async function createWorld(t: TestContext) {
  let waiting: (() => void)[] = [];
  const server = new McpServer({ name: "idle", version: "1.0.0" })
    .tool("wait", {}, () => new Promise<string>((resolve) => waiting.push(() => resolve("done"))))
    .tool("hold", {}, (_args, ctx) => {
      waiting.push(() => {});
      return new Promise<string>((_resolve, reject) =>
        ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason)),
      );
    });
  const running = await serveHttp(server);
  t.after(() => running.close());
  return {
    running,
    begun: (count: number) => until(`${count} calls`, () => waiting.length >= count),
    release: () => {
      for (const end of waiting) end();
      waiting = [];
    },
  };
}

for (const era of ["legacy", "modern"] as const) {
  // A session of an earlier version has a stream, with a connection of its own.
  const streams = era === "legacy" ? 1 : 0;

  describe(`idle connections of a client [${era}]`, () => {
    it("keeps at most maxIdleConnections of them, and none after close", async (t) => {
      const { running, begun, release } = await createWorld(t);
      await openSockets.down(0);
      const client = await connect(running.url, { era, limits: { maxIdleConnections: 3 } });
      t.after(() => client.close());
      const calls = Array.from({ length: 40 }, () => client.callTool("wait"));
      await begun(40);
      ok(openSockets.count >= 80, "each connection counts on both sides");
      release();
      await Promise.all(calls);
      await openSockets.down(2 * (3 + streams));
      await client.listTools();
      equal(openSockets.count, 2 * (3 + streams), "an idle connection is used again");
      await client.close();
      await openSockets.down(0);
    });

    it("keeps few of cancelled calls", async (t) => {
      const { running, begun } = await createWorld(t);
      await openSockets.down(0);
      const client = await connect(running.url, { era });
      t.after(() => client.close());
      const abort = new AbortController();
      const calls = Array.from({ length: 60 }, () => client.callTool("hold", {}, { signal: abort.signal }));
      await begun(60);
      abort.abort();
      const outcomes = await Promise.allSettled(calls);
      deepEqual(new Set(outcomes.map(({ status }) => status)), new Set(["rejected"]));
      await openSockets.down(2 * (8 + streams));
    });
  });
}

/** Opens a server that wants the token "good", and issues it. Its documents close their connections, as clients share those. */
async function openProtected(t: TestContext): Promise<string> {
  const mcp = toNodeListener(
    new McpServer({ name: "idle", version: "1.0.0" })
      .tool("echo", () => "x".repeat(200_000))
      .tool("fail", () => {
        throw new Error("no");
      }),
  );
  const http = createServer({ keepAliveTimeout: 75_000 }, (request, response) => {
    const { port } = http.address() as AddressInfo;
    const base = `http://127.0.0.1:${port}`;
    const documents: Readonly<Record<string, object>> = {
      "/.well-known/oauth-protected-resource/mcp": { resource: `${base}/mcp`, authorization_servers: [base] },
      "/.well-known/oauth-authorization-server": { issuer: base, token_endpoint: `${base}/token` },
      "/token": { access_token: "good", token_type: "Bearer" },
    };
    const document = documents[request.url ?? ""];
    if (document !== undefined) {
      response.writeHead(200, { "content-type": "application/json", connection: "close" });
      response.end(JSON.stringify(document));
    } else if (request.headers.authorization === "Bearer good") mcp(request, response);
    else response.writeHead(401).end();
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    http.closeAllConnections();
    http.close();
  });
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`;
}

/** Ways to authorize the requests of a client. Each ends at the `fetch` of the platform. */
const AUTHORIZED: Readonly<Record<string, (url: string) => ClientOptions>> = {
  bearer: () => bearer({ token: () => "good" }),
  oauth: (url) =>
    oauth({
      issuer: new URL(url).origin,
      grant: clientCredentials(),
      client: { id: "harbour", secret: "between us" },
      allowInsecure: true,
    }),
  "a function around the fetch of bearer": () => {
    const { fetch } = bearer({ token: () => "good" });
    return { fetch: (url, init) => fetch(url, init) };
  },
};

for (const [way, optionsFor] of Object.entries(AUTHORIZED))
  for (const era of ["legacy", "modern"] as const)
    it(`a client with ${way} keeps few idle connections, and none after close [${era}]`, async (t) => {
      const url = await openProtected(t);
      await openSockets.down(0);
      const client = await connect(url, { ...optionsFor(url), era, limits: { maxIdleConnections: 2 } });
      t.after(() => client.close());
      const calls = await Promise.all(Array.from({ length: 20 }, () => client.callTool("echo")));
      for (const { text } of calls) equal(text.length, 200_000);
      equal((await client.callTool("fail")).isError, true);
      await openSockets.down(2 * (2 + (era === "legacy" ? 1 : 0)));
      await client.close();
      await openSockets.down(0);
    });

for (const era of ["legacy", "modern"] as const)
  it(`a client that cannot connect leaves no connection [${era}]`, async (t) => {
    const http = createServer({ keepAliveTimeout: 75_000 }, (_request, response) => {
      response.writeHead(200, { "content-type": "application/json" }).end("no message");
    });
    await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
    t.after(() => {
      http.closeAllConnections();
      http.close();
    });
    const { port } = http.address() as AddressInfo;
    await openSockets.down(0);
    await rejects(connect(`http://127.0.0.1:${port}/mcp`, { era }), /the server's response is malformed/);
    await openSockets.down(0);
  });

it("keeps a further connection for the next call that comes soon", async (t) => {
  const { running, begun, release } = await createWorld(t);
  let opened = 0;
  running.server.on("connection", () => opened++);
  const client = await connect(running.url, { era: "modern", limits: { maxIdleConnections: 0 } });
  t.after(() => client.close());
  for (let round = 0; round < 5; round++) {
    const calls = Array.from({ length: 4 }, () => client.callTool("wait"));
    await begun(4);
    release();
    await Promise.all(calls);
  }
  ok(opened < 20, `${opened} connections were opened`);
});

it("leaves connections to a dispatcher that the program has set", async (t) => {
  const key = Symbol.for("undici.globalDispatcher.1");
  const holder = globalThis as unknown as Record<symbol, { dispatch(...given: unknown[]): unknown }>;
  void globalThis.Response;
  const own = holder[key] as { dispatch(...given: unknown[]): unknown };
  t.after(() => {
    holder[key] = own;
  });
  let dispatched = 0;
  const composed = Object.create(own) as typeof own;
  composed.dispatch = (...given) => {
    dispatched++;
    return own.dispatch(...given);
  };
  holder[key] = composed;
  const http = createServer((_request, response) => response.writeHead(500).end());
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    http.closeAllConnections();
    http.close();
  });
  const { port } = http.address() as AddressInfo;
  await connect(`http://127.0.0.1:${port}/mcp`, { era: "legacy" }).catch(() => {});
  ok(dispatched > 0);
});
