import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { connect } from "bowline/client";
import { serveHttp } from "bowline/node";
import { McpServer } from "bowline/server";
import { decodeHeaderValue } from "#src/http/headers.js";
import { findParamHeaders, type ParamHeader } from "#src/http/param-headers.js";
import { modernHttp } from "../../support/each-wire.js";
import { answerAll, scripted } from "../../support/http-script.js";
import { MODERN, modernWorld } from "../../support/http-transports.js";
import { proves, verifies } from "../../support/verifies.js";

const wire = { wire: "modern-http" };
const VERSION_KEY = "io.modelcontextprotocol/protocolVersion";

function headersOf(properties: object): readonly ParamHeader[] {
  const found = findParamHeaders({ type: "object", properties });
  ok(found.ok);
  return found.headers;
}

verifies(
  "client-transport:http:single-message-body",
  "no body is a response",
  modernHttp,
  async ({ connect: dial }) => {
    const server = new McpServer({ name: "asking", version: "1" }).tool("ask", {}, async (_, ctx) => {
      const { action } = await ctx.elicit("Sure?", { type: "object", properties: {} });
      return `${action} ${(await ctx.listRoots()).length}`;
    });
    const client = await dial(server, { roots: [], onElicit: () => ({ action: "decline" }) });
    const answers = await Promise.all([client.callTool("ask"), client.callTool("ask")]);
    deepEqual(
      answers.map(({ text }) => text),
      ["decline 0", "decline 0"],
    );
    await client.notify("vendor/hello", {});
    const bodies = client.wire.exchanges.map(({ body }) => JSON.parse(String(body)) as Record<string, unknown>);
    ok(bodies.length >= 7);
    for (const body of bodies) {
      equal(typeof body.method, "string");
      equal("result" in body || "error" in body, false);
    }
  },
);

proves(
  ["client-transport:http:body-derived-headers", "client-transport:http:mcp-name-source"],
  wire,
  "every POST repeats version, method and name of its own body",
  async (t) => {
    const { script, call } = await modernWorld(t);
    script.onRequest = (received) => received.result({});
    const cases: [method: string, params: object, name: string | undefined][] = [
      ["server/discover", {}, undefined],
      ["tools/list", {}, undefined],
      ["tools/call", { name: "add" }, "add"],
      ["prompts/get", { name: "review" }, "review"],
      ["resources/read", { uri: "file:///a%20b?c=d", name: "decoy" }, "file:///a%20b?c=d"],
      ["subscriptions/listen", { notifications: {} }, undefined],
      ["completion/complete", { name: "x" }, undefined],
    ];
    for (const [method, params, name] of cases) {
      await call({ method, params: { ...params, _meta: { [VERSION_KEY]: "2027-01-01" } } });
      const { headers, message } = script.received.at(-1) as (typeof script.received)[0];
      equal(headers["mcp-protocol-version"], message.params._meta[VERSION_KEY]);
      equal(headers["mcp-method"], method);
      equal(headers["mcp-name"], name);
    }
    await call({ method: "tools/list", params: undefined });
    equal(script.received.at(-1)?.headers["mcp-protocol-version"], MODERN);
  },
);

proves(
  "client-transport:http:mcp-name-encoding",
  wire,
  "unsafe names travel encoded and decode to themselves",
  async (t) => {
    const { script, call } = await modernWorld(t);
    script.onRequest = (received) => received.result({});
    for (const name of ["größe", " led", "a\nb", "=?base64?literal?=", "日本"]) {
      await call({ params: { name } });
      const sent = String(script.received.at(-1)?.headers["mcp-name"]);
      match(sent, /^=\?base64\?.+\?=$/);
      equal(decodeHeaderValue(sent), name);
    }
    for (const name of ["a-b_c", "file:///x%20y?q=1&r", "two words"]) {
      await call({ params: { name } });
      equal(script.received.at(-1)?.headers["mcp-name"], name);
    }
  },
);

proves(
  "client-transport:http:vendor-name-param-header",
  wire,
  "a method of an extension names its parameter",
  async (t) => {
    const nameFrom = (method: string) => (method === "tasks/get" ? "taskId" : undefined);
    const { script, call } = await modernWorld(t, { nameFrom });
    script.onRequest = (received) => received.result({});
    await call({ method: "tasks/get", params: { taskId: "täsk" } });
    equal(decodeHeaderValue(String(script.received[0]?.headers["mcp-name"])), "täsk");
  },
);

proves("client-transport:http:notification-headers", wire, "a notification carries version and method", async (t) => {
  const { script, link, told } = await modernWorld(t);
  script.onRequest = (received) => received.status(202);
  await link.notify("notifications/vendor/thing", { a: 1 });
  const [{ headers, message }] = script.received as [(typeof script.received)[0]];
  equal(headers["mcp-method"], "notifications/vendor/thing");
  equal(headers["mcp-protocol-version"], MODERN);
  equal("id" in message, false);
  deepEqual(told.problems, []);
});

proves(
  [
    "client-transport:http:custom-param-headers",
    "client-transport:http:param-encoding:types",
    "client-transport:http:param-encoding:empty-string",
    "client-transport:http:param-omit-null",
    "client-transport:http:param-nested-path",
  ],
  wire,
  "annotated arguments, and only they, are mirrored",
  async (t) => {
    const annotated = headersOf({
      region: { type: "string", "x-mcp-header": "Region" },
      count: { type: "integer", "x-mcp-header": "Count" },
      dry: { type: "boolean", "x-mcp-header": "Method" },
      query: { type: "string" },
      a: {
        type: "object",
        properties: { b: { type: "object", properties: { c: { type: "string", "x-mcp-header": "Deep" } } } },
      },
    });
    const { script, call } = await modernWorld(t, { paramHeaders: (tool) => (tool === "sql" ? annotated : undefined) });
    script.onRequest = (received) => received.result({});
    const mirrored = async (args: object, name = "sql") => {
      await call({ params: { name, arguments: args } });
      const entries = Object.entries(script.received.at(-1)?.headers ?? {});
      return Object.fromEntries(entries.filter(([header]) => header.startsWith("mcp-param-")));
    };
    deepEqual(await mirrored({ region: "us-west1", count: 42, dry: true, query: "q" }), {
      "mcp-param-region": "us-west1",
      "mcp-param-count": "42",
      "mcp-param-method": "true",
    });
    equal(script.received.at(-1)?.headers["mcp-method"], "tools/call");
    deepEqual(await mirrored({ count: -7, dry: false, region: "" }), {
      "mcp-param-region": "",
      "mcp-param-count": "-7",
      "mcp-param-method": "false",
    });
    deepEqual(await mirrored({ count: 0 }), { "mcp-param-count": "0" });
    deepEqual(await mirrored({ count: 9007199254740991 }), { "mcp-param-count": "9007199254740991" });
    deepEqual(await mirrored({ region: null, count: undefined, a: { b: "no" }, c: "decoy" }), {});
    deepEqual(await mirrored({ a: { c: "decoy", b: { c: "deep" } } }), { "mcp-param-deep": "deep" });
    const inherited = Object.create({ b: { c: "inherited" }, region: "inherited" }) as object;
    for (const args of [
      inherited,
      { a: inherited },
      { a: { b: inherited } },
      { a: { b: Object.create({ c: "x" }) } },
    ]) {
      deepEqual(await mirrored(args), {});
    }
    deepEqual(await mirrored({ region: "us" }, "other"), {});
  },
);

proves(
  ["client-transport:http:param-nested-path", "client-transport:http:param-omit-null"],
  wire,
  "what every object, text or list has of its own is no argument",
  async (t) => {
    const typed = (name: string, type: string) => ({ [name]: { type, "x-mcp-header": name } });
    const annotated = headersOf({
      ...typed("constructor", "string"),
      ...typed("toString", "string"),
      o: { type: "object", properties: typed("length", "integer") },
    });
    const { script, call } = await modernWorld(t, { paramHeaders: () => annotated });
    script.onRequest = (received) => received.result({});
    for (const args of [{}, { o: "text" }, { o: [1, 2] }, { o: {} }]) {
      await call({ params: { name: "t", arguments: args } });
      const names = Object.keys(script.received.at(-1)?.headers ?? {});
      deepEqual(
        names.filter((name) => name.startsWith("mcp-param-")),
        [],
      );
    }
    await call({ params: { name: "t", arguments: { constructor: "c", o: { length: 3 } } } });
    equal(script.received.at(-1)?.headers["mcp-param-constructor"], "c");
    equal(script.received.at(-1)?.headers["mcp-param-length"], "3");
  },
);

proves(
  "client-transport:http:param-encoding:empty-string",
  wire,
  "a server of this package takes it for what it is",
  async (t) => {
    const input = { type: "object", properties: { region: { type: "string", "x-mcp-header": "Region" } } } as const;
    const server = new McpServer({ name: "s", version: "1" }).tool("t", { input }, (args) => JSON.stringify(args));
    const running = await serveHttp(server);
    t.after(() => running.close());
    const sent: unknown[] = [];
    const client = await connect(running.url, {
      era: "modern",
      fetch: (url, init) => {
        if (String(init.body).includes("tools/call")) sent.push(new Headers(init.headers).get("mcp-param-region"));
        return fetch(url, init);
      },
    });
    t.after(() => client.close());
    await client.listTools();
    equal((await client.callTool("t", { region: "" })).text, '{"region":""}');
    deepEqual(sent, [""]);
  },
);

proves("client-transport:http:custom-headers", { wire: "http" }, "in any form that fetch takes", async (t) => {
  const forms = [{ "X-Tenant": "me" }, [["X-Tenant", "me"]], new Headers({ "x-tenant": "me" })] as HeadersInit[];
  for (const era of ["modern", "legacy"] as const) {
    for (const headers of forms) {
      const { script, connectTo } = await scripted(
        t,
        answerAll((received) =>
          received.result({ resultType: "complete", tools: [], ttlMs: 0, cacheScope: "private" }),
        ),
      );
      const client = await connectTo({ era, headers });
      await client.listTools();
      await client.close();
      const kinds = script.received.map(({ method, rpcMethod }) => rpcMethod ?? method);
      ok(kinds.includes("tools/list"));
      equal(kinds.includes("DELETE") && kinds.includes("GET"), era === "legacy");
      for (const received of script.received) equal(received.headers["x-tenant"], "me", kinds.join());
    }
  }
});

proves("client-transport:http:header-too-large", wire, "so does what the server finds too large", async (t) => {
  const { script, call } = await modernWorld(t);
  for (const status of [413, 431]) {
    script.onRequest = (received) => received.status(status);
    await rejects(call(), { code: "connection_error", status });
    script.onRequest = (received) => received.result({});
    await call();
  }
});

proves("client-transport:http:param-encoding:no-injection", wire, "no value can add a header", async (t) => {
  const annotated = headersOf({ region: { type: "string", "x-mcp-header": "Region" } });
  const { script, call } = await modernWorld(t, { paramHeaders: () => annotated });
  script.onRequest = (received) => received.result({});
  const evil = "x\r\nInjected: yes\r\n\r\n{}";
  await call({ params: { name: evil, arguments: { region: evil } } });
  const { headers } = script.received[0] as (typeof script.received)[0];
  equal(headers.injected, undefined);
  equal(decodeHeaderValue(String(headers["mcp-param-region"])), evil);
  equal(decodeHeaderValue(String(headers["mcp-name"])), evil);
});

proves(
  "client-transport:http:param-unsafe-integer",
  wire,
  "an integer that a header would alter fails locally",
  async (t) => {
    const annotated = headersOf({ count: { type: "integer", "x-mcp-header": "Count" } });
    const { script, link, call } = await modernWorld(t, { paramHeaders: () => annotated });
    for (const count of [2 ** 53, -(2 ** 53)]) {
      await rejects(call({ params: { name: "t", arguments: { count } } }), /safe integer/);
    }
    equal(script.received.length, 0);
    equal(link.pending, 0);
    const safe = call({ params: { name: "t", arguments: { count: 2 ** 53 - 1 } } });
    const received = await script.next("tools/call");
    equal(received.headers["mcp-param-count"], String(2 ** 53 - 1));
    received.result({});
    await safe;
  },
);

proves(
  [
    "client-transport:http:post-per-message",
    "client-transport:http:single-message-body",
    "client-transport:http:accept-header-post",
  ],
  wire,
  "calls made in one turn are as many POSTs to the very URL, one message each",
  async (t) => {
    const { script, call } = await modernWorld(t);
    script.onRequest = (received) => received.result({});
    await Promise.all(Array.from({ length: 10 }, () => call()));
    equal(script.received.length, 10);
    for (const { method, path, headers, message } of script.received) {
      equal(method, "POST");
      equal(path, "/mcp?key=1");
      equal(headers["content-type"], "application/json");
      equal(headers.accept, "application/json, text/event-stream");
      equal(message.method, "tools/call");
    }
    equal(new Set(script.received.map(({ message }) => message.id)).size, 10);
  },
);

proves(
  [
    "client-transport:http:accept-header-post",
    "client-transport:http:custom-headers",
    "client-transport:http:reserved-headers",
  ],
  wire,
  "the caller's headers come along and override nothing",
  async (t) => {
    const own = {
      Accept: "application/json;q=0.5, text/plain",
      "CONTENT-TYPE": "text/plain",
      "Mcp-METHOD": "evil",
      "mcp-Name": "evil",
      "MCP-Protocol-Version": "1",
      "Mcp-Session-Id": "evil",
      "Mcp-Param-Region": "evil",
      "X-Tenant": "me",
    };
    const { script, call } = await modernWorld(t, { headers: own });
    script.onRequest = (received) => received.result({});
    await call();
    const { headers } = script.received[0] as (typeof script.received)[0];
    equal(headers.accept, "application/json, text/event-stream, text/plain");
    equal(headers["content-type"], "application/json");
    equal(headers["mcp-method"], "tools/call");
    equal(headers["mcp-name"], "t");
    equal(headers["mcp-protocol-version"], MODERN);
    equal(headers["mcp-session-id"], undefined);
    equal(headers["mcp-param-region"], undefined);
    equal(headers["x-tenant"], "me");
  },
);

proves("client-transport:http:header-too-large", wire, "headers above the limit fail their call alone", async (t) => {
  const annotated = headersOf({ region: { type: "string", "x-mcp-header": "Region" } });
  const { script, call } = await modernWorld(t, { paramHeaders: () => annotated });
  script.onRequest = (received) => received.result({});
  const params = { name: "t", arguments: { region: "x".repeat(40_000) } };
  await rejects(call({ params }), { code: "connection_error", status: 431 });
  await call();
  equal(script.received.length, 1);
});

proves(
  ["client-transport:http:param-encoding:unsafe-base64", "client-transport:http:param-encoding:sentinel-literal"],
  wire,
  "values that a header cannot carry travel encoded",
  async (t) => {
    const annotated = headersOf({ v: { type: "string", "x-mcp-header": "V" } });
    const { script, call } = await modernWorld(t, { paramHeaders: () => annotated });
    script.onRequest = (received) => received.result({});
    const sent = async (v: string) => {
      await call({ params: { name: "t", arguments: { v } } });
      return script.received.at(-1)?.headers["mcp-param-v"];
    };
    equal(await sent("us-west1"), "us-west1");
    equal(await sent("inner  space"), "inner  space");
    equal(await sent("Hello, 世界"), "=?base64?SGVsbG8sIOS4lueVjA==?=");
    equal(await sent(" padded "), "=?base64?IHBhZGRlZCA=?=");
    equal(await sent("line1\nline2"), "=?base64?bGluZTEKbGluZTI=?=");
    equal(await sent("=?base64?literal?="), "=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=");
    equal(decodeHeaderValue(String(await sent("a\tb"))), "a\tb");
    equal(decodeHeaderValue(String(await sent("\ud800"))), "\ufffd");
  },
);

proves(
  "client-transport:http:cross-origin-redirect",
  wire,
  "nothing follows a redirect to another origin",
  async (t) => {
    const { script, call } = await modernWorld(t);
    const other = await modernWorld(t);
    for (const status of [301, 302, 303, 307, 308]) {
      script.onRequest = ({ response }) => response.writeHead(status, { location: other.script.url.href }).end();
      await rejects(call(), { code: "connection_error", status });
    }
    equal(other.script.received.length, 0);
    script.onRequest = (received) => {
      if (received.path === "/moved") received.result({ moved: true });
      else received.response.writeHead(308, { location: "/moved" }).end();
    };
    const moved = await call();
    deepEqual("result" in moved && moved.result, { moved: true });
    equal(script.received.at(-1)?.method, "POST");
    equal(script.received.at(-1)?.headers["mcp-name"], "t");
  },
);

proves(
  ["client-transport:http:stateless-ignores-session-id", "client-transport:http:modern-no-resume"],
  wire,
  "session ids, event ids and retry fields change nothing: only POSTs, and a broken stream is lost",
  async (t) => {
    const { script, link, told, call } = await modernWorld(t);
    const lost = call();
    const first = await script.next("POST");
    first.stream({ "mcp-session-id": "s" }).raw("id: 1\nretry: 1\ndata:\n\n").notify("notifications/message", {}, "2");
    await told.until(() => told.notifications.length === 1);
    first.cut();
    await rejects(lost, { code: "connection_error", delivery: "answer_lost", retrySafe: false });
    const next = call();
    (await script.next("POST")).result({}, { "mcp-session-id": "s" });
    await next;
    await link.close();
    deepEqual(
      script.received.map(({ method }) => method),
      ["POST", "POST"],
    );
    equal(script.received[1]?.headers["mcp-session-id"], undefined);
    equal(script.received[1]?.headers["last-event-id"], undefined);
    ok(script.received[0]?.message.id !== script.received[1]?.message.id);
  },
);
