import { deepEqual, equal, match, ok } from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect as connectSocket } from "node:net";
import { serveHttp, toNodeListener } from "bowline/node";
import { McpServer } from "bowline/server";
import { modernRequest } from "../../support/modern-request.js";
import { askPort, initialize, listenOn, onEachHost, type PlainRequest } from "../../support/plain-http.js";
import { proves } from "../../support/verifies.js";

const http = { wire: "http" };
const me = { name: "guarded", version: "1.0.0" };
const call = modernRequest("tools/call", { params: { name: "echo", arguments: {} } });

function createGuarded(options: ConstructorParameters<typeof McpServer>[1] = {}) {
  const ran: string[] = [];
  const opened: string[] = [];
  const sessions = { onOpen: (id: string) => void opened.push(id) };
  const make = () =>
    new McpServer(me, { ...options, http: { sessions, ...options.http } }).tool("echo", {}, (_, ctx) => {
      ran.push(ctx.method);
      return "hi";
    });
  return { make, ran, opened };
}

proves(
  ["hosting:http:dns-rebinding", "hosting:http:origin-403-body"],
  http,
  "a foreign origin is refused whatever it asks for",
  async (t) => {
    const { make, ran, opened } = createGuarded();
    await onEachHost(t, make, async (ask) => {
      for (const origin of ["https://evil.example", "http://localhost.evil.example", "http://127.0.0.1.evil.example"]) {
        const from = (request: PlainRequest): PlainRequest => ({ ...request, headers: { ...request.headers, origin } });
        const bodiless = ["GET", "DELETE", "OPTIONS"].map((method) => ({ method, headers: {} }));
        for (const request of [initialize(), call, ...bodiless]) {
          const answer = await ask(from(request));
          equal(answer.status, 403, `${origin} ${answer.text}`);
          equal(answer.headers["content-type"], "application/json");
          const { id = null, jsonrpc, error } = JSON.parse(answer.text) as Record<string, unknown>;
          deepEqual([id, jsonrpc, typeof error], [null, "2.0", "object"]);
        }
      }
      for (const origin of ["http://localhost", "http://localhost:5173", "https://127.0.0.1:8443", "http://[::1]:1"]) {
        equal((await ask({ ...call, headers: { ...call.headers, origin } })).status, 200, origin);
        equal((await ask(initialize({ headers: { origin } }))).status, 200, origin);
      }
    });
    equal(ran.length, 8);
    equal(opened.length, 8);
  },
);

proves(
  "transport:streamable-http:origin-validation",
  http,
  "before the body, a session or a handler is looked at",
  async (t) => {
    const { make, ran, opened } = createGuarded();
    await onEachHost(t, make, async (ask) => {
      const headers = { origin: "https://evil.example" };
      equal((await ask(initialize({ headers }))).status, 403);
      equal((await ask({ ...call, headers: { ...call.headers, ...headers } })).status, 403);
      equal((await ask({ ...call, headers: { ...call.headers, ...headers }, body: "{ not json" })).status, 403);
    });
    deepEqual([ran, opened], [[], []]);
    const port = await listenOn(t, toNodeListener(make()));
    const socket = connectSocket(port, "127.0.0.1");
    t.after(() => socket.destroy());
    // Of the announced gigabyte not one byte is sent.
    socket.write(
      "POST /mcp HTTP/1.1\r\nHost: localhost\r\nOrigin: https://evil.example\r\nContent-Type: application/json\r\n" +
        "Content-Length: 1000000000\r\n\r\n",
    );
    const [chunk] = (await once(socket, "data")) as [Buffer];
    match(chunk.toString(), /^HTTP\/1\.1 403 /);
  },
);

proves("hosting:http:origin-absent-accepted", http, "who sends no Origin is no web page", async (t) => {
  await onEachHost(t, createGuarded().make, async (ask) => {
    equal((await ask(call)).status, 200);
    equal((await ask(initialize())).status, 200);
  });
});

proves("hosting:http:origin-malformed-rejected", http, "what cannot be read is refused", async (t) => {
  await onEachHost(t, createGuarded().make, async (ask) => {
    for (const origin of [
      "null",
      "",
      "localhost",
      "127.0.0.1",
      "://",
      "http:/localhost",
      "http://localhost/path",
      "\u00ff",
    ]) {
      equal((await ask({ ...call, headers: { ...call.headers, origin } })).status, 403, JSON.stringify(origin));
      equal((await ask(initialize({ headers: { origin } }))).status, 403, JSON.stringify(origin));
    }
  });
  const { make } = createGuarded({ http: { allowedOrigins: ["null"] } });
  await onEachHost(t, make, async (ask) => {
    equal((await ask({ ...call, headers: { ...call.headers, origin: "null" } })).status, 200);
    equal((await ask({ ...call, headers: { ...call.headers, origin: "http://localhost" } })).status, 403);
  });
});

proves(
  "hosting:http:host-validation-middleware",
  http,
  "only names of this machine, unless told otherwise",
  async (t) => {
    const withHost = (host: string) => ({ ...call, headers: { ...call.headers, host } });
    await onEachHost(t, createGuarded().make, async (ask) => {
      for (const host of [
        "localhost",
        "localhost:1",
        "127.0.0.1",
        "127.0.0.1:65535",
        "[::1]",
        "[::1]:80",
        "LOCALHOST",
      ]) {
        equal((await ask(withHost(host))).status, 200, host);
        equal((await ask(initialize({ headers: { host } }))).status, 200, host);
      }
      for (const host of ["evil.example", "localhost.evil.example", "evil.example:80", "[::2]"]) {
        equal((await ask(withHost(host))).status, 403, host);
        equal((await ask(initialize({ headers: { host } }))).status, 403, host);
      }
    });
    const { make } = createGuarded({ http: { allowedHosts: ["mcp.example"] } });
    await onEachHost(t, make, async (ask) => {
      equal((await ask(withHost("mcp.example:8080"))).status, 200);
      equal((await ask(withHost("localhost"))).status, 403);
    });
    const port = await listenOn(t, toNodeListener(createGuarded().make()));
    const socket = connectSocket(port, "127.0.0.1");
    socket.write("POST /mcp HTTP/1.0\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}");
    const [chunk] = (await once(socket, "data")) as [Buffer];
    match(chunk.toString(), /^HTTP\/1\.[01] 403 /);
    socket.destroy();
  },
);

for (const wire of ["http", "sse"]) {
  proves("hosting:http:localhost-bind", { wire }, "this machine only, and a warning for all interfaces", async () => {
    const options = wire === "sse" ? { sse: true } : {};
    const warnings: string[] = [];
    const logger = { warn: (message: string) => void warnings.push(message) };
    const create = (more: object) => new McpServer(me, { logger, http: { ...options, ...more } });
    const asked: string[] = [];
    const server = create({});
    const told = {
      handle: (...args: Parameters<typeof server.handle>) => server.handle(...args),
      close: () => server.close(),
      onListening: (host: string) => {
        asked.push(host);
        return server.onListening(host);
      },
    };
    await using running = await serveHttp(told);
    equal((running.server.address() as AddressInfo).address, "127.0.0.1");
    if (wire === "sse") {
      const stream = await fetch(new URL("/sse", running.url), { headers: { accept: "text/event-stream" } });
      equal(stream.status, 200);
      await stream.body?.cancel();
    } else {
      const { port } = new URL(running.url);
      for (const request of [modernRequest("server/discover"), initialize()])
        equal((await askPort(Number(port), request)).status, 200);
    }
    deepEqual([asked, warnings], [["127.0.0.1"], []]);
    for (const host of ["0.0.0.0", "::"]) {
      create({}).onListening(host);
      match(String(warnings.pop()), /all interfaces.*allowedHosts/);
      deepEqual(warnings, []);
      create({ allowedHosts: ["mcp.example"] }).onListening(host);
      deepEqual(warnings, []);
    }
  });
}

proves("hosting:http:no-global-patching", http, "what is global stays what it was", async (t) => {
  const names = ["Request", "Response", "Headers", "fetch", "ReadableStream", "AbortController"] as const;
  const before = names.map((name) => globalThis[name]);
  await import("bowline/client");
  const port = await listenOn(t, toNodeListener(createGuarded().make()));
  equal((await askPort(port, call)).status, 200);
  await onEachHost(t, createGuarded({ http: { sse: true } }).make, async (ask) => {
    equal((await ask(call)).status, 200);
    equal((await ask(initialize())).status, 200);
  });
  ok(names.every((name, at) => globalThis[name] === before[at]));
});
