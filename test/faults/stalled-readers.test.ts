import { deepEqual, equal, ok } from "node:assert/strict";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { connect as connectHttp2, createServer as createHttp2 } from "node:http2";
import { type AddressInfo, connect as connectSocket, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import type { EraName } from "bowline/client";
import { connect } from "bowline/client";
import { serveHttp, toNodeListener } from "bowline/node";
import { McpServer } from "bowline/server";
import { FakeClock } from "../support/fake-clock.js";
import { gate } from "../support/gate.js";
import { modernRequest } from "../support/modern-request.js";
import { askPort, legacy, openSession, type PlainRequest } from "../support/plain-http.js";

const me = { name: "stalled", version: "1.0.0" };

/** Posts a request and reads nothing of its answer. */
function postUnread(t: TestContext, port: number, request: PlainRequest): Socket {
  const socket = connectSocket(port, "127.0.0.1");
  t.after(() => socket.destroy());
  socket.on("error", () => {});
  socket.pause();
  writeRequest(socket, request);
  return socket;
}

function writeRequest(socket: Socket, { headers, body }: PlainRequest): void {
  const text = JSON.stringify(body);
  const lines = Object.entries({ host: "localhost", ...headers, "content-length": Buffer.byteLength(text) });
  socket.write(`POST /mcp HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${text}`);
}

async function callOf(era: EraName, port: number, name: string): Promise<PlainRequest> {
  const params = { name, arguments: {} };
  if (era === "modern") return modernRequest("tools/call", { params, meta: { progressToken: 1 } });
  const headers = await openSession((request) => askPort(port, request));
  const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { ...params, _meta: { progressToken: 1 } } };
  return legacy(body, { headers });
}

for (const era of ["modern", "legacy"] as const) {
  test(`${era}: a reader that never reads holds no place of a tool for longer than stallMs`, async (t) => {
    const clock = new FakeClock();
    const stalled = gate();
    const released = gate();
    let runs = 0;
    let over = false;
    const server = new McpServer(me, { clock, limits: { stallMs: 5000 } }).tool(
      "report",
      { concurrency: 1 },
      async (_, ctx) => {
        if (runs++ > 0) return "served";
        for (let step = 1; !ctx.signal.aborted && !over; step++) {
          let waits = true;
          const told = ctx.progress(step, undefined, "x".repeat(100_000));
          Promise.resolve(told).then(() => {
            waits = false;
          });
          await new Promise(setImmediate);
          if (waits) {
            stalled.open();
            await told;
            over = true;
            released.open();
          }
        }
        return "over";
      },
    );
    const running = await serveHttp(server);
    t.after(() => running.close());
    const socket = postUnread(t, running.port, await callOf(era, running.port, "report"));
    await stalled.opened;
    const client = await connect(running.url, { era });
    t.after(() => client.close());
    const waiting = client.callTool("report");
    clock.advance(4999);
    equal(over, false);
    clock.advance(1);
    await released.opened;
    equal((await waiting).text, "served");
    socket.resume();
    await once(socket, "close");
  });
}

test("an answer that nobody reads is given up", async (t) => {
  const server = new McpServer(me, { limits: { stallMs: 50 } }).tool("large", {}, () => "x".repeat(16_000_000));
  const running = await serveHttp(server);
  t.after(() => running.close());
  const connected = once(running.server, "connection");
  postUnread(t, running.port, await callOf("modern", running.port, "large"));
  const [served] = (await connected) as [Socket];
  await once(served, "close");
  deepEqual([served.destroyed, served.writableLength > 0 || served.writableFinished === false], [true, true]);
});

test("over HTTP/2, an answer that nobody reads is given up and the connection stays open", async (t) => {
  const server = new McpServer(me, { limits: { stallMs: 50 } })
    .tool("large", {}, () => "x".repeat(1_000_000))
    .tool("small", {}, () => "small");
  const host = createHttp2(toNodeListener(server) as never).listen(0, "127.0.0.1");
  await once(host, "listening");
  const { port } = host.address() as AddressInfo;
  const session = connectHttp2(`http://127.0.0.1:${port}`);
  t.after(async () => {
    session.destroy();
    host.close();
    await server.close();
  });
  const post = (name: string) => {
    const { headers, body } = modernRequest("tools/call", { params: { name, arguments: {} } });
    const stream = session.request({ ...headers, ":method": "POST", ":path": "/mcp", ":authority": "localhost" });
    return stream.end(JSON.stringify(body));
  };
  const served = once(host, "request");
  const unread = post("large").on("error", () => {});
  const [, response] = (await served) as [unknown, ServerResponse];
  await once(response, "close");
  equal(unread.readableEnded, false);
  let text = "";
  for await (const chunk of post("small")) text += chunk;
  ok(text.includes('"small"'));
});

for (const era of ["modern", "legacy"] as const) {
  test(`${era}: the answer waits for a reader that was behind and reads on`, async (t) => {
    const clock = new FakeClock();
    const over = gate();
    const server = new McpServer(me, { clock, limits: { stallMs: 5000 } }).tool("report", {}, async (_, ctx) => {
      let told = 0;
      for (let step = 1; step === told + 1; step++) {
        Promise.resolve(ctx.progress(step, undefined, "x".repeat(100_000))).then(() => {
          told = step;
        });
        await new Promise(setImmediate);
      }
      return "the end";
    });
    server.use(async (call, next) =>
      next(call).finally(() => {
        if (call.method === "tools/call") setImmediate(over.open);
      }),
    );
    const running = await serveHttp(server);
    t.after(() => running.close());
    const socket = postUnread(t, running.port, await callOf(era, running.port, "report"));
    await over.opened;
    clock.advance(5000);
    let tail = "";
    for await (const chunk of socket) {
      tail = (tail + chunk).slice(-1000);
      if (tail.includes("the end")) return;
    }
    throw new Error("the answer was cut off");
  });
}

test("a call that was sent behind another has no timer of the answer before it", async (t) => {
  const begun = gate();
  const release = gate();
  const server = new McpServer(me, { limits: { stallMs: 50 }, http: { responseMode: "prefer-json" } })
    .tool("large", {}, () => "x".repeat(16_000_000))
    .tool("hold", {}, async () => {
      begun.open();
      await release.opened;
      return "held";
    });
  const running = await serveHttp(server);
  t.after(() => running.close());
  const connected = once(running.server, "connection");
  const socket = postUnread(t, running.port, await callOf("modern", running.port, "large"));
  const [served] = (await connected) as [Socket];
  writeRequest(socket, await callOf("modern", running.port, "hold"));
  let tail = "";
  socket.resume().on("data", (chunk) => {
    tail = (tail + chunk).slice(-1000);
  });
  await begun.opened;
  while (served.timeout !== 0 && !served.destroyed) await new Promise(setImmediate);
  equal(served.destroyed, false);
  release.open();
  while (!tail.includes("held")) await once(socket, "data");
});
