import { deepEqual, equal, match, ok, throws } from "node:assert/strict";
import { once } from "node:events";
import { connect as connectSocket } from "node:net";
import { serveNodeRequest, toNodeListener } from "bowline/node";
import { McpServer, type ServerOptions } from "bowline/server";
import { until } from "../../support/legacy-endpoint.js";
import { modernRequest, VERSION } from "../../support/modern-request.js";
import {
  askPort,
  initialize,
  lastMessage,
  legacy,
  listenOn,
  onEachHost,
  openSession,
} from "../../support/plain-http.js";
import { proves } from "../../support/verifies.js";

const http = { wire: "http" };
const me = { name: "bodies", version: "1.0.0" };
const call = modernRequest("tools/call", { params: { name: "echo", arguments: { text: "hi" } } });
const json = { "content-type": "application/json", accept: "application/json, text/event-stream" };

function createServer(options: ServerOptions = {}) {
  const seen: unknown[] = [];
  const make = () =>
    new McpServer(me, options).tool("echo", { input: { type: "object" } }, (args: Record<string, unknown>) => {
      seen.push(args);
      return String(args.text);
    });
  return { make, seen };
}

proves("hosting:http:body-limit", http, "too much is refused before it is read, or as soon as it is", async (t) => {
  const opened: string[] = [];
  const text = JSON.stringify(call.body);
  const sessions = { onOpen: (id: string) => void opened.push(id) };
  const greeting = JSON.stringify(initialize().body).padEnd(text.length);
  const { make, seen } = createServer({ limits: { maxBodyBytes: Buffer.byteLength(text) }, http: { sessions } });
  await onEachHost(t, make, async (ask) => {
    equal((await ask({ ...call, body: text })).status, 200);
    const longer = await ask({ ...call, body: `${text} ` });
    equal(longer.status, 413);
    equal(typeof lastMessage(longer).error?.message, "string");
    equal((await ask(initialize({ body: `${greeting} ` }))).status, 413);
    deepEqual(opened, []);
    equal((await ask(initialize({ body: greeting }))).status, 200);
    equal(opened.splice(0).length, 1);
  });
  const port = await listenOn(t, toNodeListener(make()));
  const head = `POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`;
  for (const rest of [
    "Content-Length: 999999999\r\n\r\n",
    `Transfer-Encoding: chunked\r\n\r\nffff\r\n${"x".repeat(0xffff)}\r\n`,
  ]) {
    const socket = connectSocket(port, "127.0.0.1");
    socket.write(head + rest);
    const [chunk] = (await once(socket, "data")) as [Buffer];
    match(chunk.toString(), /^HTTP\/1\.1 413 /);
    socket.destroy();
  }
  deepEqual([seen.length, opened], [2, []]);
  for (const maxBodyBytes of [-1, Number.NaN, "9" as never]) {
    throws(() => new McpServer(me, { limits: { maxBodyBytes } }), /maxBodyBytes/);
  }
});

proves("hosting:http:body-hostile-json", http, "no text brings the server down", async (t) => {
  const { make } = createServer();
  const depth = 100_000;
  const deep = `${"[".repeat(depth)}${"]".repeat(depth)}`;
  const text = JSON.stringify(call.body);
  const withArgument = (value: string) => text.replace('{"text":"hi"}', `{"text":"hi","x":${value}}`);
  ok(withArgument("1") !== text);
  await onEachHost(t, make, async (ask) => {
    const session = await openSession(ask);
    const legacyText = (value: string) =>
      `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"echo","arguments":{"x":${value}}}}`;
    for (const value of [
      deep,
      "9".repeat(10_000),
      '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}}}',
      '{"a":1,"a":2}',
    ]) {
      const modern = lastMessage(await ask({ ...call, body: withArgument(value) }));
      ok(modern.result !== undefined || modern.error !== undefined);
      const old = lastMessage(await ask({ headers: { ...json, ...session }, body: legacyText(value) }));
      ok(old.result !== undefined || old.error !== undefined);
    }
    ok([400, 413].includes((await ask({ headers: json, body: deep })).status));
    for (const method of ["toString", "constructor", "__proto__", "hasOwnProperty"]) {
      equal(lastMessage(await ask(modernRequest(method))).error?.code, -32601, method);
      const old = await ask(legacy({ jsonrpc: "2.0", id: 1, method }, { headers: session }));
      equal(lastMessage(old).error?.code, -32601, method);
    }
    equal(({} as { polluted?: unknown }).polluted, undefined);
    equal((await ask(call)).status, 200);
  });
});

proves("hosting:http:body-bom", http, "a mark is taken away, what is no text is refused", async (t) => {
  const { make } = createServer();
  await onEachHost(t, make, async (ask) => {
    const text = new TextEncoder().encode(JSON.stringify(call.body));
    const marked = new Uint8Array([0xef, 0xbb, 0xbf, ...text]);
    equal((await ask({ ...call, body: marked })).status, 200);
    const greeting = new TextEncoder().encode(JSON.stringify(initialize().body));
    equal((await ask(initialize({ body: new Uint8Array([0xef, 0xbb, 0xbf, ...greeting]) }))).status, 200);
    const broken = new Uint8Array([...new TextEncoder().encode('{"a":"'), 0xff, 0xfe, 0x22, 0x7d]);
    const refused = await ask({ ...call, body: broken });
    deepEqual([refused.status, lastMessage(refused).error?.code], [400, -32700]);
    const old = await ask(initialize({ body: broken }));
    deepEqual([old.status, lastMessage(old).error?.code], [400, -32700]);
  });
});

proves("hosting:http:body-aborted", http, "half a request is no request", async (t) => {
  const opened: string[] = [];
  const unhandled: unknown[] = [];
  const onUnhandled = (reason: unknown) => unhandled.push(reason);
  process.on("unhandledRejection", onUnhandled);
  t.after(() => process.off("unhandledRejection", onUnhandled));
  const { make, seen } = createServer({ http: { sessions: { onOpen: (id) => void opened.push(id) } } });
  const server = make();
  let gone = 0;
  const port = await listenOn(t, (request, response) => {
    response.on("close", () => gone++);
    serveNodeRequest(server, request, response);
  });
  for (const request of [call, initialize()]) {
    const text = JSON.stringify(request.body);
    const lines = Object.entries(request.headers ?? {}).map(([name, value]) => `${name}: ${value}\r\n`);
    const socket = connectSocket(port, "127.0.0.1");
    socket.write(`POST /mcp HTTP/1.1\r\nHost: localhost\r\n${lines.join("")}Content-Length: ${text.length}\r\n\r\n`);
    socket.write(text.slice(0, text.length / 2), () => socket.resetAndDestroy());
  }
  await until(() => gone === 2, "both connections are over");
  const { openRequests, sessions, running } = server.stats();
  deepEqual([openRequests, sessions, running, seen, opened, unhandled], [0, 0, 0, [], [], []]);
  for (const request of [call, initialize()]) equal((await askPort(port, request)).status, 200);
});

proves("hosting:http:method-405", http, "methods that are not served", async (t) => {
  await onEachHost(t, createServer().make, async (ask) => {
    for (const method of ["PUT", "PATCH", "OPTIONS"]) {
      for (const { headers, body } of [call, initialize()]) {
        const refused = await ask({ method, headers: headers ?? {}, ...(method === "OPTIONS" ? {} : { body }) });
        equal(refused.status, 405, method);
        ok(String(refused.headers.allow).includes("POST"));
        equal(typeof lastMessage(refused).error?.code, "number");
      }
    }
  });
  await onEachHost(t, createServer({ http: { sessions: false } }).make, async (ask) => {
    for (const method of ["GET", "DELETE"]) equal((await ask({ method, headers: json })).status, 405, method);
  });
});

proves("hosting:http:accept-wildcards", http, "ranges, qualities, case and order", async (t) => {
  const { make } = createServer();
  await onEachHost(t, make, async (ask) => {
    const session = await openSession(ask);
    const old = legacy({ jsonrpc: "2.0", id: 2, method: "tools/list" }, { headers: session });
    const accepting = (accept: string) => ask({ ...old, headers: { ...old.headers, accept } });
    for (const accept of [
      "*/*",
      "application/*, text/*",
      "TEXT/Event-Stream;q=0.1, Application/JSON;q=0.9",
      "text/*;q=0.2",
    ]) {
      equal((await accepting(accept)).status, 200, accept);
    }
    for (const accept of ["application/json, text/event-stream;q=0", "*/*, text/event-stream;q=0.0", "image/png"]) {
      equal((await accepting(accept)).status, 406, accept);
    }
  });
  await onEachHost(t, createServer({ http: { responseMode: "json" } }).make, async (ask) => {
    const headers = { ...(await openSession(ask)), accept: undefined };
    equal((await ask(legacy({ jsonrpc: "2.0", id: 2, method: "ping" }, { headers }))).status, 200);
    equal((await ask({ ...call, headers: { ...call.headers, accept: undefined } })).status, 200);
  });
});

proves("hosting:http:parse-error-400", http, "what is not JSON", async (t) => {
  await onEachHost(t, createServer().make, async (ask) => {
    const session = await openSession(ask);
    for (const body of ['{"jsonrpc":"2.0","id":1,"meth', "", "nonsense"]) {
      for (const headers of [call.headers, { ...json, ...session }, json]) {
        const refused = await ask({ headers, body });
        deepEqual(
          [refused.status, lastMessage(refused).error?.code, lastMessage(refused).id ?? null],
          [400, -32700, null],
        );
      }
    }
  });
});

proves("hosting:http:invalid-request-400", http, "JSON that is no message", async (t) => {
  await onEachHost(t, createServer().make, async (ask) => {
    const session = await openSession(ask);
    for (const headers of [
      { ...json, ...session },
      { ...json, "mcp-protocol-version": VERSION },
    ]) {
      for (const [body, id] of [
        ['"text"', null],
        ['{"id":1,"method":"ping"}', 1],
        ['{"jsonrpc":"2.0","id":null,"method":"ping"}', null],
        ['{"jsonrpc":"2.0","id":true,"method":"ping"}', null],
        ['{"jsonrpc":"2.0","id":9,"method":5}', 9],
      ] as const) {
        const refused = await ask({ headers, body });
        deepEqual(
          [refused.status, lastMessage(refused).error?.code, lastMessage(refused).id ?? null],
          [400, -32600, id],
          body,
        );
      }
    }
  });
});

proves("hosting:http:onerror", http, "each refusal is reported once, and the report cannot change it", async (t) => {
  const places: string[] = [];
  const { make } = createServer({
    limits: { maxBodyBytes: 2000 },
    onError: (_, { where }) => {
      places.push(where);
      throw new Error("the callback fails");
    },
  });
  await onEachHost(t, make, async (ask) => {
    const session = await openSession(ask);
    const ping = { jsonrpc: "2.0", id: 3, method: "ping" };
    for (const [request, status] of [
      [{ ...call, headers: { ...call.headers, origin: "https://evil.example" } }, 403],
      [{ ...call, headers: { ...call.headers, "content-type": "text/plain" } }, 415],
      [{ ...call, body: " ".repeat(2001) }, 413],
      [{ ...call, body: "{" }, 400],
      [{ ...call, headers: { ...call.headers, "mcp-method": "other" } }, 400],
      [{ ...call, headers: { ...call.headers, accept: "image/png" } }, 406],
      [{ method: "PUT", headers: json }, 405],
      [legacy(ping, { headers: { ...session, "mcp-session-id": "unknown" } }), 404],
      [legacy(ping, { headers: { ...session, "mcp-protocol-version": "1999-01-01" } }), 400],
      [legacy(ping), 400],
      [legacy({}, { headers: session }), 400],
    ] as const) {
      places.length = 0;
      equal((await ask(request)).status, status);
      deepEqual(places, ["http"], String(status));
    }
  });
});

proves(
  "hosting:http:pre-parsed-body",
  http,
  "a parser in front hands its work over, or the error says so",
  async (t) => {
    const { make } = createServer();
    const server = make();
    const read = async (request: AsyncIterable<Uint8Array>) => {
      const chunks: Uint8Array[] = [];
      for await (const chunk of request) chunks.push(chunk);
      return Buffer.concat(chunks).toString();
    };
    const parsing = await listenOn(t, async (request, response) => {
      Object.assign(request, { body: JSON.parse(await read(request)) });
      toNodeListener(server)(request, response);
    });
    equal((await askPort(parsing, call)).status, 200);
    const session = await openSession((request) => askPort(parsing, request));
    const listed = await askPort(
      parsing,
      legacy({ jsonrpc: "2.0", id: 1, method: "tools/list" }, { headers: session }),
    );
    ok(lastMessage(listed).result !== undefined);
    const handing = await listenOn(t, async (request, response) => {
      serveNodeRequest(server, request, response, { body: await read(request) });
    });
    equal((await askPort(handing, call)).status, 200);
    const swallowing = await listenOn(t, async (request, response) => {
      await read(request);
      toNodeListener(server)(request, response);
    });
    const refused = await askPort(swallowing, call);
    equal(refused.status, 500);
    match(String(lastMessage(refused).error?.message), /body.*parser/);
  },
);
