import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createServer, request as forward, type IncomingMessage, type ServerResponse } from "node:http";
import { type AddressInfo, connect as connectSocket, createServer as createTcp } from "node:net";
import { describe, type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type Client, type ClientOptions, ConnectionError, connect } from "bowline/client";
import { serveHttp } from "bowline/node";
import { McpServer } from "bowline/server";
import { FakeClock } from "../support/fake-clock.js";
import { aborted, gate } from "../support/gate.js";
import { settled } from "../support/http-transports.js";
import { LegacyEndpoint, settle, until } from "../support/legacy-endpoint.js";
import { modernRequest } from "../support/modern-request.js";

const me = { name: "faulty", version: "1.0.0" };
const ERAS = ["modern", "legacy"] as const;
type Era = (typeof ERAS)[number];

async function listen(t: TestContext, handler: (req: IncomingMessage, res: ServerResponse, body: string) => void) {
  const http = createServer(async (req, res) => {
    let body = "";
    for await (const chunk of req) body += chunk;
    handler(req, res, body);
  });
  http.listen(0, "127.0.0.1");
  await once(http, "listening");
  t.after(() => {
    http.closeAllConnections();
    http.close();
  });
  return new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`);
}

const INITIALIZED = { protocolVersion: "2025-11-25", capabilities: { tools: {} }, serverInfo: me };

/** A server whose answer to a tool call is written by the test; the rest works. */
async function scripted(
  t: TestContext,
  era: Era,
  onCall: (res: ServerResponse, id: unknown) => void,
  more: ClientOptions = {},
) {
  const url = await listen(t, (req, res, body) => {
    const { method, id } = body === "" ? { method: req.method, id: undefined } : JSON.parse(body);
    if (method === "tools/call") return onCall(res, id);
    if (method !== "initialize") return void res.writeHead(req.method === "POST" ? 202 : 405).end();
    res.writeHead(200, { "content-type": "application/json", "mcp-session-id": "s" });
    res.end(JSON.stringify({ jsonrpc: "2.0", id, result: INITIALIZED }));
  });
  const options = era === "modern" ? ({ versions: ["2026-07-28"] } as const) : { era };
  const client = await connect(url, { ...options, ...more });
  t.after(() => client.close());
  return client;
}

const result = (id: unknown) => ({
  jsonrpc: "2.0",
  id,
  result: { resultType: "complete", content: [{ type: "text", text: "é!" }] },
});

function jsonAnswer(id: unknown): Buffer {
  const body = Buffer.from(JSON.stringify(result(id)));
  const head = `HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n`;
  return Buffer.concat([Buffer.from(head), body]);
}

function streamAnswer(id: unknown): Buffer {
  const note = { jsonrpc: "2.0", method: "notifications/message", params: { level: "info", data: "on it" } };
  const events = [note, result(id)].map((message) => Buffer.from(`data: ${JSON.stringify(message)}\n\n`));
  const chunks = events.flatMap((event) => [
    Buffer.from(`${event.length.toString(16)}\r\n`),
    event,
    Buffer.from("\r\n"),
  ]);
  const head =
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\ntransfer-encoding: chunked\r\n\r\n";
  return Buffer.concat([Buffer.from(head), ...chunks, Buffer.from("0\r\n\r\n")]);
}

async function settleOnce(client: Client): Promise<"answered" | ConnectionError> {
  try {
    equal((await client.callTool("t")).text, "é!");
    return "answered";
  } catch (error) {
    ok(error instanceof ConnectionError, String(error));
    ok(error.delivery !== "not_sent" && !error.retrySafe, `${error.delivery}: ${error.message}`);
    return error;
  } finally {
    equal(client.pending, 0);
  }
}

/** As node does it, and as everything else does. */
const WAYS: readonly (readonly [string, ClientOptions])[] = [
  ["direct", {}],
  ["by fetch", { fetch: (url, init) => fetch(url, init) }],
];
const CASES = ERAS.flatMap((era) => WAYS.map(([way, options]) => ({ era, options, name: `${era}, ${way}` })));

describe("an answer that is cut off", () => {
  for (const { era, options, name } of CASES) {
    for (const [form, answer] of [
      ["json", jsonAnswer],
      ["a stream", streamAnswer],
    ] as const) {
      test(`at every byte: ${form}, ${name}`, async (t) => {
        let cut = 0;
        const cutOff = (res: ServerResponse, id: unknown) => {
          const { socket } = res;
          socket?.end(answer(id).subarray(0, cut), () => socket.destroy());
        };
        const client = await scripted(t, era, cutOff, options);
        // Ids grow with each call, by a byte now and then.
        const length = answer(1000).length;
        let answered = 0;
        for (cut = 0; cut <= length; cut++) if ((await settleOnce(client)) === "answered") answered++;
        ok(answered > 0 && answered < 20, `answered ${answered} times`);
        cut = length + 10;
        equal(await settleOnce(client), "answered");
      });
    }
  }
});

describe("an answer that does not come", () => {
  for (const { era, options, name } of CASES) {
    test(`stalls after any part of it: ${name}`, async (t) => {
      const clock = new FakeClock();
      for (const part of [0, 20, 90, 130]) {
        let gone = 0;
        const stalled = gate();
        const client = await scripted(
          t,
          era,
          (res, id) => {
            res.on("close", () => gone++);
            if (part > 0) res.socket?.write(streamAnswer(id).subarray(0, part));
            stalled.open();
          },
          { ...options, clock, timeoutMs: 1000 },
        );
        const call = rejects(client.callTool("t"), { name: "TimeoutError", kind: "idle" });
        await stalled.opened;
        await settled();
        clock.advance(1000);
        await call;
        equal(client.pending, 0);
        // What the client lets go of is closed on the other side too, after the courtesies of its era.
        for (let turn = 0; gone === 0 && turn < 500; turn++) {
          clock.advance(100);
          await settled();
        }
        equal(gone, 1);
      }
    });
  }

  test("half-open: the connection is taken and nothing ever read", async (t) => {
    const sockets = new Set<{ destroy(): void }>();
    const tcp = createTcp((socket) => {
      sockets.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => sockets.delete(socket));
      socket.pause();
    });
    tcp.listen(0, "127.0.0.1");
    await once(tcp, "listening");
    t.after(() => {
      for (const socket of sockets) socket.destroy();
      tcp.close();
    });
    const clock = new FakeClock();
    const url = `http://127.0.0.1:${(tcp.address() as AddressInfo).port}/mcp`;
    const client = await connect(url, { versions: ["2026-07-28"], clock });
    const calls = Array.from({ length: 5 }, () =>
      rejects(client.callTool("t", {}, { deadlineMs: 500 }), { name: "TimeoutError" }),
    );
    await until(() => sockets.size > 0, "a connection");
    clock.advance(500);
    await Promise.all(calls);
    equal(client.pending, 0);
    await client.close();
  });
});

test("a proxy that holds everything back until the end", async (t) => {
  const server = new McpServer(me).tool("count", {}, async (_, ctx) => {
    for (let n = 1; n <= 3; n++) await ctx.progress(n, 3);
    return "counted";
  });
  const running = await serveHttp(server);
  t.after(() => running.close());
  const proxy = await listen(t, (req, res, body) => {
    const out = forward(running.url, { method: req.method, headers: req.headers }, async (answer) => {
      const chunks: Buffer[] = [];
      try {
        for await (const chunk of answer) chunks.push(chunk);
      } catch {
        res.destroy();
        return;
      }
      res.writeHead(answer.statusCode ?? 502, answer.headers).end(Buffer.concat(chunks));
    });
    out.on("error", () => res.destroy());
    res.on("close", () => out.destroy());
    out.end(body);
  });
  for (const era of ERAS) {
    const client = await connect(proxy, { era });
    const heard: number[] = [];
    const counted = await client.callTool("count", {}, { onProgress: ({ progress }) => heard.push(progress) });
    deepEqual([counted.text, heard], ["counted", [1, 2, 3]]);
    if (era === "modern") {
      await rejects(client.watch({ toolsListChanged: true }, { timeoutMs: 50 }), { name: "TimeoutError" });
      await until(() => server.stats().openRequests === 0, "the subscription is released");
    }
    await client.close();
  }
});

test("a reader that stalls is cut off, with what it left unread", async (t) => {
  const server = new McpServer(me, { limits: { maxBehind: 1_000_000 }, http: { sse: true } }).tool(
    "flood",
    {},
    async (_, ctx) => {
      while (!ctx.signal.aborted) {
        ctx.progress(performance.now(), undefined, "x".repeat(100_000));
        await new Promise((resolve) => setImmediate(resolve));
      }
    },
  );
  const running = await serveHttp(server);
  t.after(() => running.close());
  const count = () => new Promise<number>((resolve) => running.server.getConnections((_, n) => resolve(n)));
  const { headers, body } = modernRequest("tools/call", {
    params: { name: "flood", arguments: {} },
    meta: { progressToken: 1 },
  });
  const text = JSON.stringify(body);
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
  const socket = connectSocket(running.port, "127.0.0.1");
  socket.on("error", () => {});
  socket.pause();
  socket.write(
    `POST /mcp HTTP/1.1\r\nHost: localhost\r\n${lines.join("")}Content-Length: ${Buffer.byteLength(text)}\r\n\r\n${text}`,
  );
  await until(() => server.stats().openRequests === 1, "the call runs");
  while (server.stats().openRequests === 1) await settled();
  while ((await count()) > 0) await settled();
  socket.destroy();
});

test("a thousand sessions that nobody ends", async () => {
  const clock = new FakeClock();
  const ended: string[] = [];
  const endpoint = new LegacyEndpoint(
    { sessions: { onEnd: (id) => void ended.push(id) }, resumable: true },
    { clock, limits: { sessionIdleMs: 60_000 } },
  );
  const clients = [];
  for (let n = 0; n < 1000; n++) {
    clients.push(await endpoint.open());
    clock.advance(10);
  }
  // One of them is listened to, and lives.
  const own = clients[500]?.get();
  await settle();
  equal(endpoint.stats.sessions, 1000);
  clock.advance(50_000);
  ok(endpoint.stats.sessions > 990);
  clock.advance(70_000);
  await settle();
  deepEqual([endpoint.stats.sessions, ended.length], [1, 999]);
  own?.disconnect();
  clock.advance(130_000);
  await settle();
  deepEqual([endpoint.stats, ended.length], [{ sessions: 0, streams: 0, running: 0 }, 1000]);
  equal(clock.pending, 0);
  await endpoint.server.close();
});

test("a server that is killed in the middle of calls", async (t) => {
  const program = `
    import { serveHttp } from "bowline/node";
    import { McpServer } from "bowline/server";
    const server = new McpServer({ name: "a", version: "1" }).tool("wait", {}, async (_, ctx) => {
      await ctx.progress(1);
      await new Promise((resolve) => ctx.signal.addEventListener("abort", resolve));
    });
    const http = await serveHttp(server);
    console.log(http.url);
  `;
  const cwd = fileURLToPath(new URL("../../../", import.meta.url));
  const child = spawn(process.execPath, ["--input-type=module", "-e", program], {
    cwd,
    stdio: ["ignore", "pipe", "inherit"],
  });
  t.after(() => child.kill("SIGKILL"));
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const url = line.toString().trim();
  const clients = await Promise.all(
    ERAS.map((era) => connect(url, { era, reconnect: { maxFruitless: 1, firstDelayMs: 1 } })),
  );
  let heard = 0;
  const all = gate();
  const onProgress = () => {
    if (++heard === 20) all.open();
  };
  const calls = clients.flatMap((client) =>
    Array.from({ length: 10 }, async () => {
      const error = await client.callTool("wait", {}, { onProgress }).then(
        () => "answered",
        (reason: unknown) => reason,
      );
      ok(error instanceof ConnectionError, String(error));
      ok(!error.retrySafe);
    }),
  );
  await all.opened;
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await Promise.all(calls);
  // Until then, the system may still take connections for it.
  await exited;
  for (const client of clients) {
    equal(client.pending, 0);
    await rejects(client.callTool("wait"), { name: "ConnectionError", delivery: "not_sent" });
    await client.close();
  }
});

test("calls that end in every way leave nothing behind", async (t) => {
  const server = new McpServer(me).tool("wait", {}, async (_, ctx) => {
    await aborted(ctx.signal);
  });
  const running = await serveHttp(server);
  t.after(() => running.close());
  for (const era of ERAS) {
    const client = await connect(running.url, { era });
    for (let round = 0; round < 10; round++) {
      const abort = new AbortController();
      const calls = Array.from({ length: 20 }, (_, n) =>
        client.callTool("wait", {}, n % 2 === 0 ? { signal: abort.signal } : { deadlineMs: 5 }).catch(() => {}),
      );
      setImmediate(() => abort.abort());
      await Promise.all(calls);
    }
    await until(
      () => (server.stats().openRequests ?? 0) === 0 && (server.stats().running ?? 0) === 0,
      "all calls are over",
    );
    equal(client.pending, 0);
    await client.close();
  }
});
