import { deepEqual, equal, ok } from "node:assert/strict";
import { McpServer } from "bowline/server";
import { modernRequest } from "../../support/modern-request.js";
import { initialize, legacy, onEachHost, openSession } from "../../support/plain-http.js";
import { proves } from "../../support/verifies.js";

const http = { wire: "http" };
const ORIGIN = "https://app.example";
const WANTED = [
  "authorization",
  "content-type",
  "last-event-id",
  "mcp-method",
  "mcp-name",
  "mcp-param-region",
  "mcp-protocol-version",
  "mcp-session-id",
];

const create = (options: object) => () =>
  new McpServer({ name: "cors", version: "1.0.0" }, { http: options }).tool("echo", {}, () => "hi");
const corsOf = (headers: object) => Object.keys(headers).filter((name) => name.startsWith("access-control-"));
const list = (value: string | undefined) => (value ?? "").split(",").map((item) => item.trim());

const preflight = (origin: string) => ({
  method: "OPTIONS",
  headers: {
    origin,
    "access-control-request-method": "POST",
    "access-control-request-headers": [...WANTED, "x-other"].join(","),
  },
});

proves("hosting:http:cors-headers", http, "preflights of allowed origins are answered, before any gate", async (t) => {
  const gate = () => ({ status: 401 });
  await onEachHost(t, create({ cors: true, allowedOrigins: [ORIGIN], gate }), async (ask) => {
    const answer = await ask(preflight(ORIGIN));
    equal(answer.status, 204);
    equal(answer.headers["access-control-allow-origin"], ORIGIN);
    const allowed = list(answer.headers["access-control-allow-headers"]);
    deepEqual(
      WANTED.filter((name) => !allowed.includes(name)),
      [],
    );
    ok(!allowed.includes("x-other"));
    for (const method of ["POST", "GET", "DELETE"]) {
      ok(list(answer.headers["access-control-allow-methods"]).includes(method), method);
    }
    // What only looks like one has to pass the gate.
    for (const request of [
      { ...preflight(ORIGIN), method: "POST" },
      { ...preflight(ORIGIN), method: "GET" },
      { method: "OPTIONS", headers: { origin: ORIGIN } },
    ]) {
      equal((await ask(request)).status, 401, request.method);
    }
    const foreign = await ask(preflight("https://evil.example"));
    equal(foreign.status, 403);
    deepEqual(corsOf(foreign.headers), []);
  });
});

proves(
  "hosting:http:cors-headers",
  http,
  "every answer to an allowed origin can be read, and no header goes out unasked",
  async (t) => {
    const call = modernRequest("tools/call", { params: { name: "echo", arguments: {} } });
    await onEachHost(t, create({ cors: true, allowedOrigins: [ORIGIN] }), async (ask) => {
      const headers = { origin: ORIGIN };
      for (const [request, status] of [
        [call, 200],
        [modernRequest("made/up"), 404],
        [initialize(), 200],
        [{ method: "PUT" }, 405],
        [legacy("{"), 400],
      ] as const) {
        const answer = await ask({ ...request, headers: { ...(request as { headers?: object }).headers, ...headers } });
        equal(answer.status, status);
        equal(answer.headers["access-control-allow-origin"], ORIGIN);
        equal(answer.headers.vary, "Origin");
        // It tells when to try again, and that nothing ran.
        ok(list(answer.headers["access-control-expose-headers"]).includes("retry-after"));
      }
      deepEqual(corsOf((await ask(call)).headers), []);
    });
    await onEachHost(t, create({ allowedOrigins: [ORIGIN] }), async (ask) => {
      deepEqual(corsOf((await ask({ ...call, headers: { ...call.headers, origin: ORIGIN } })).headers), []);
      const refused = await ask(preflight(ORIGIN));
      deepEqual([refused.status, corsOf(refused.headers)], [405, []]);
    });
  },
);

proves("hosting:session:cors-expose", http, "scripts may read the session id", async (t) => {
  await onEachHost(t, create({ cors: true, allowedOrigins: [ORIGIN] }), async (ask) => {
    const opened = await ask(initialize({ headers: { origin: ORIGIN } }));
    ok(list(opened.headers["access-control-expose-headers"]).includes("mcp-session-id"));
    const session = await openSession(ask, { headers: { origin: ORIGIN } });
    const pinged = await ask(legacy({ jsonrpc: "2.0", id: 1, method: "ping" }, { headers: session }));
    ok(list(pinged.headers["access-control-expose-headers"]).includes("mcp-session-id"));
  });
});
