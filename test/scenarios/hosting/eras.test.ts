import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { type ClientOptions, connect } from "bowline/client";
import { serveHttp, toNodeListener } from "bowline/node";
import { isLegacyRequest, McpServer, type ServerOptions } from "bowline/server";
import { httpWires } from "../../support/each-wire.js";
import { modernRequest, VERSION } from "../../support/modern-request.js";
import {
  askPort,
  initialize,
  lastMessage,
  legacy,
  listenOn,
  onEachHost,
  openSession,
  type PlainAnswer,
  type PlainRequest,
} from "../../support/plain-http.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "eras", version: "1.0.0" };
const http = { wire: "http" };
const legacyWire = { wire: "legacy-http" };
const modernWire = { wire: "modern-http" };
const annotated = {
  type: "object",
  properties: { region: { type: "string", "x-mcp-header": "Region" } },
} as const;

function create(options: ServerOptions = {}) {
  return new McpServer(me, options)
    .tool("echo", { input: { type: "object" } }, (args: Record<string, unknown>) => String(args.text ?? "hi"))
    .tool("query", { input: annotated }, ({ region }: { region?: string }) => String(region))
    .tool("fail", {}, () => {
      throw new Error("no luck");
    })
    .resource("note://1", { name: "note" }, () => "text")
    .prompt("p", {}, () => "text");
}

const echo = modernRequest("tools/call", { params: { name: "echo", arguments: {} } });
const legacyCall = (name: string, headers: Record<string, string>, args: object = {}, id = 5) =>
  legacy({ jsonrpc: "2.0", id, method: "tools/call", params: { name, arguments: args } }, { headers });

proves("hosting:http:endpoint-post-get", legacyWire, "one address for everything", async (t) => {
  const running = await serveHttp(create());
  t.after(() => running.close());
  const opened = await fetch(running.url, init(initialize()));
  const session = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" };
  equal((await fetch(running.url, init(legacyCall("echo", session)))).status, 200);
  const stream = await fetch(running.url, { headers: { accept: "text/event-stream", ...session } });
  deepEqual([stream.status, stream.headers.get("content-type")], [200, "text/event-stream"]);
  const ended = await fetch(running.url, { method: "DELETE", headers: session });
  equal(ended.status, 200);
  equal(await stream.text(), "");
  equal((await fetch(running.url, init(legacyCall("echo", session)))).status, 404);
});

function init(request: PlainRequest): RequestInit {
  return { method: "POST", headers: request.headers as Record<string, string>, body: JSON.stringify(request.body) };
}

proves(
  "typescript:hosting:entry:dual-era-one-factory",
  modernWire,
  "clients of both eras at one address",
  async (t) => {
    const running = await serveHttp(create());
    t.after(() => running.close());
    const methods: string[] = [];
    const spy: NonNullable<ClientOptions["fetch"]> = (url, sent) => {
      methods.push(JSON.parse(String(sent.body)).method);
      return fetch(url, sent);
    };
    const [young, old] = await Promise.all([
      connect(running.url, { fetch: spy }),
      connect(running.url, { era: "legacy" }),
    ]);
    const work = [young, old].map(async (client) => {
      const { tools } = await client.listTools();
      return [tools.length, (await client.callTool("echo", { text: client.era })).text];
    });
    deepEqual(await Promise.all(work), [
      [3, "modern"],
      [3, "legacy"],
    ]);
    ok(!methods.includes("initialize"));
    await Promise.all([young.close(), old.close()]);
  },
);

/** A session with everything in it, as its client sees it; ids that are made up are masked. */
async function legacyLife(ask: (request?: PlainRequest) => Promise<{ status: number; headers: object; text: string }>) {
  const seen: unknown[] = [];
  const mask = (text: string) => text.replace(/[0-9a-f]{8}-[0-9a-f-]{27}/g, "<id>");
  const look = async (request: PlainRequest) => {
    const { status, headers, text } = await ask(request);
    const { date, connection, ...rest } = headers as Record<string, string>;
    seen.push([status, JSON.parse(mask(JSON.stringify(rest))), mask(text)]);
    return headers as Record<string, string>;
  };
  const session = { "mcp-session-id": (await look(initialize()))["mcp-session-id"] ?? "" };
  const send = (body: object, headers: object = {}) =>
    look(legacy({ jsonrpc: "2.0", ...body }, { headers: { ...session, ...headers } }));
  await send({ method: "notifications/initialized" });
  for (const method of [
    "ping",
    "tools/list",
    "prompts/list",
    "resources/list",
    "resources/templates/list",
    "made/up",
  ]) {
    await send({ id: method, method });
  }
  for (const name of ["echo", "fail", "query", "missing"])
    await send({ id: 1, method: "tools/call", params: { name, arguments: {} } });
  await send({ id: 2, method: "resources/read", params: { uri: "note://1" } });
  await send({ id: 3, method: "resources/read", params: { uri: "note://none" } });
  await send({ id: 4, method: "prompts/get", params: { name: "p" } });
  await send({ id: 5, method: "ping" }, { "mcp-protocol-version": "1999-01-01" });
  await send({ id: 6, method: "ping" }, { "mcp-session-id": "unknown" });
  await look({ method: "DELETE", headers: { ...session } });
  await look({ method: "GET", headers: { accept: "text/event-stream", ...session } });
  return seen;
}

proves(
  "hosting:http:modern:legacy-fallthrough",
  modernWire,
  "a dual endpoint answers older clients as one of theirs",
  async (t) => {
    const only = { versions: ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] };
    const lives: unknown[][] = [];
    for (const options of [{}, only]) {
      await onEachHost(
        t,
        () => create(options),
        async (ask) => {
          lives.push(await legacyLife(ask));
          equal((await ask(echo)).status, options === only ? 400 : 200);
        },
      );
    }
    const [node, web, nodeOnly, webOnly] = lives;
    equal(node?.length, 19);
    deepEqual(node, nodeOnly);
    deepEqual(web, webOnly);
  },
);

proves(
  "hosting:http:legacy-no-modern-vocabulary",
  legacyWire,
  "older clients see nothing of what is newer",
  async (t) => {
    await onEachHost(
      t,
      () => create(),
      async (ask) => {
        const text = JSON.stringify(await legacyLife(ask));
        ok(text.includes("2025-11-25"));
        for (const word of [
          "resultType",
          "ttlMs",
          "cacheScope",
          "io.modelcontextprotocol",
          VERSION,
          "mcp-method",
          "mcp-name",
        ]) {
          ok(!text.includes(word), word);
        }
      },
    );
  },
);

proves("hosting:http:legacy-only:modern-rejected", legacyWire, "clients of both eras fall back", async (t) => {
  const running = await serveHttp(create({ versions: ["2025-11-25", "2025-06-18"] }));
  t.after(() => running.close());
  const answers: [method: string, status: number, code: number | undefined][] = [];
  const client = await connect(running.url, {
    fetch: async (url, sent) => {
      const response = await fetch(url, sent);
      const { method } = JSON.parse(String(sent.body ?? "{}"));
      const body = response.ok ? undefined : await response.clone().json();
      answers.push([method, response.status, body?.error?.code]);
      return response;
    },
  });
  t.after(() => client.close());
  equal(client.version, "2025-11-25");
  const [probe] = answers;
  equal(probe?.[0], "server/discover");
  ok(probe?.[1] === 400 || probe?.[1] === 404);
  ok(![-32020, -32021, -32022].includes(probe?.[2] ?? 0));
});

const CLAIMS: [title: string, request: PlainRequest, legacy: boolean][] = [
  ["a modern call", echo, false],
  ["a modern call without headers", { ...echo, headers: legacy({}).headers ?? {} }, false],
  ["a handshake", initialize(), true],
  ["a plain call", legacyCall("echo", {}), true],
  ["a modern version header alone", legacyCall("echo", { "mcp-protocol-version": VERSION }), false],
  ["an older version header", legacyCall("echo", { "mcp-protocol-version": "2025-06-18" }), true],
  ["a notification", legacy({ jsonrpc: "2.0", method: "notifications/x" }), true],
  ["a response", legacy({ jsonrpc: "2.0", id: 1, result: {} }), true],
  ["a batch", legacy([{ jsonrpc: "2.0", id: 1, method: "ping" }]), true],
  ["no JSON", { ...legacy({}), body: "{" }, true],
];

proves(
  "typescript:hosting:entry:byo-sessionful-legacy",
  modernWire,
  "requests can be told apart before they are served",
  async () => {
    const opened: string[] = [];
    const old = create({ versions: ["2025-11-25"], http: { sessions: { onOpen: (id) => void opened.push(id) } } });
    const { McpServer: ModernServer } = await import("bowline/server/modern");
    const young = new ModernServer(me).tool("echo", {}, () => "hi");
    const route = async (request: Request) =>
      (await isLegacyRequest(request)) ? old.fetch(request) : young.fetch(request);
    const ask = async ({ method = "POST", headers = {}, body }: PlainRequest = {}) => {
      const sent = body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) };
      const response = await route(
        new Request("http://localhost/mcp", { method, headers: headers as Record<string, string>, ...sent }),
      );
      return { status: response.status, headers: Object.fromEntries(response.headers), text: await response.text() };
    };
    const session = await openSession(ask);
    equal(opened.length, 1);
    equal(lastMessage(await ask(legacyCall("echo", session, { text: "old" }))).id, 5);
    equal(lastMessage(await ask(echo)).result?.resultType, "complete");
    equal((await ask({ method: "DELETE", headers: session })).status, 200);
    equal((await ask(legacyCall("echo", session))).status, 404);
    await Promise.all([old.close(), young.close()]);
    for (const [title, { headers, body }, expected] of CLAIMS) {
      const text = typeof body === "string" ? body : JSON.stringify(body);
      const request = () =>
        new Request("http://localhost/mcp", { method: "POST", headers: headers as Record<string, string>, body: text });
      equal(await isLegacyRequest(request()), expected, title);
      if (typeof body === "object") equal(await isLegacyRequest(request(), body), expected, `${title}, parsed`);
      // The endpoint itself judges alike: only one era answers in these words.
      const both = create();
      const answer = await both.fetch(request());
      const said = await answer.text();
      const servedAsModern = said.includes("resultType") || said.includes("-32020") || said.includes("_meta");
      if (title.includes("modern")) ok(servedAsModern, `${title}: ${said}`);
      else ok(!servedAsModern, `${title}: ${said}`);
      await both.close();
    }
  },
);

proves("hosting:http:dual:get-delete-routing", modernWire, "to the side that has sessions, if any", async (t) => {
  const running = await serveHttp(create());
  t.after(() => running.close());
  const opened = await fetch(running.url, init(initialize()));
  const session = { "mcp-session-id": opened.headers.get("mcp-session-id") ?? "" };
  const stream = await fetch(running.url, { headers: { accept: "text/event-stream", ...session } });
  equal(stream.status, 200);
  equal((await fetch(running.url, { method: "DELETE", headers: session })).status, 200);
  await stream.text();
  for (const options of [{ http: { sessions: false } }, { versions: [VERSION] }] as const) {
    await onEachHost(
      t,
      () => create(options),
      async (ask) => {
        for (const method of ["GET", "DELETE"]) {
          equal((await ask({ method, headers: { accept: "*/*", ...session } })).status, 405);
          equal((await ask({ method, headers: { accept: "*/*", "mcp-protocol-version": VERSION } })).status, 405);
        }
      },
    );
  }
});

proves(
  ["hosting:http:modern:headers-era-gated", "hosting:http:modern:param-era-gated"],
  legacyWire,
  "headers that mirror bodies mean nothing to older requests",
  async (t) => {
    await onEachHost(
      t,
      () => create(),
      async (ask) => {
        for (const more of [
          {},
          { "mcp-method": "other", "mcp-name": "other" },
          { "mcp-method": "a, b", "mcp-param-region": "us" },
        ]) {
          const session = await openSession(ask, { headers: more as Record<string, string> });
          const headers = { ...session, ...more } as Record<string, string>;
          const answer = lastMessage(await ask(legacyCall("query", headers, { region: "eu" })));
          deepEqual(answer.result?.content, [{ type: "text", text: "eu" }]);
        }
      },
    );
  },
);

verifies("transport:streamable-http:json-response", httpWires, async ({ connect, era }) => {
  const client = await connect(create({ http: { responseMode: "json" } }));
  equal((await client.listTools()).tools.length, 3);
  equal((await client.callTool("echo", { text: "plain" })).text, "plain");
  equal((await client.callTool("fail")).isError, true);
  await rejects(client.request("made/up"), { rpcCode: -32601 });
  const posts = client.wire.exchanges.filter(({ method, status }) => method === "POST" && status === 200);
  ok(posts.length >= 3);
  for (const { headers } of posts) equal(headers?.["content-type"], "application/json", era);
});

proves("typescript:hosting:entry:modern-response-mode", modernWire, "streams always, or never", async (t) => {
  const make = (responseMode: "sse" | "json") => () =>
    new McpServer(me, { http: { responseMode } })
      .tool("talk", {}, async (_, ctx) => {
        await ctx.progress(1);
        return "told";
      })
      .tool("quiet", {}, () => "hi");
  const call = (name: string) =>
    modernRequest("tools/call", { params: { name, arguments: {} }, meta: { progressToken: "p" } });
  await onEachHost(t, make("sse"), async (ask) => {
    for (const name of ["talk", "quiet"]) {
      const answer = await ask(call(name));
      equal(answer.headers["content-type"], "text/event-stream");
      equal(answer.text.includes("notifications/progress"), name === "talk");
    }
    equal(
      (await ask({ ...call("quiet"), headers: { ...call("quiet").headers, accept: "application/json" } })).status,
      406,
    );
  });
  await onEachHost(t, make("json"), async (ask) => {
    for (const name of ["talk", "quiet", "talk"]) {
      const answer = await ask(call(name));
      equal(answer.headers["content-type"], "application/json");
      ok(!answer.text.includes("notifications/progress"));
      ok(lastMessage(answer).result !== undefined);
    }
  });
});

proves("hosting:context:web-request-headers", http, "headers and address of the request at hand", async (t) => {
  const make = () =>
    new McpServer(me).tool("look", {}, async (_, ctx) => {
      await Promise.resolve();
      return `${ctx.url} ${ctx.header("X-Tenant")}`;
    });
  const textOf = (answer: PlainAnswer) => {
    const [block] = (lastMessage(answer).result?.content ?? []) as { text: string }[];
    return block?.text;
  };
  await onEachHost(t, make, async (ask) => {
    const session = await openSession(ask);
    const wanted = Array.from({ length: 6 }, (_, n) => ({ path: `/mcp?n=${n}`, tenant: `t${n}` }));
    const answers = await Promise.all(
      wanted.map(({ path, tenant }, n) => {
        const call = modernRequest("tools/call", { params: { name: "look", arguments: {} } });
        const request = n % 2 === 0 ? call : legacyCall("look", session, {}, n);
        return ask({ ...request, path, headers: { ...request.headers, "x-tenant": tenant } });
      }),
    );
    deepEqual(
      answers.map(textOf),
      wanted.map(({ path, tenant }) => `${path} ${tenant}`),
    );
  });
  const local = await connect(make());
  equal((await local.callTool("look")).text, "undefined undefined");
  await local.close();
});

proves("hosting:http:modern:legacy-fallthrough", modernWire, "mounted by a listener as by its own", async (t) => {
  const port = await listenOn(t, toNodeListener(create()));
  const client = await connect(`http://127.0.0.1:${port}/anywhere`, { era: "legacy" });
  match((await client.callTool("echo", { text: "mounted" })).text, /mounted/);
  await client.close();
  equal((await askPort(port, { ...echo, path: "/anywhere" })).status, 200);
});
