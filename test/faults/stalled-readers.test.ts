import { deepEqual, equal } from "node:assert/strict";
import { once } from "node:events";
import { connect as connectSocket, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { connect } from "bowline/client";
import { serveHttp } from "bowline/node";
import { McpServer } from "bowline/server";
import { FakeClock } from "../support/fake-clock.js";
import { gate } from "../support/gate.js";
import { modernRequest } from "../support/modern-request.js";
import { askPort, legacy, openSession, type PlainRequest } from "../support/plain-http.js";

const me = { name: "stalled", version: "1.0.0" };

/** Posts a request and reads nothing of its answer. */
function postUnread(t: TestContext, port: number, { headers, body }: PlainRequest): Socket {
  const socket = connectSocket(port, "127.0.0.1");
  t.after(() => socket.destroy());
  socket.on("error", () => {});
  socket.pause();
  const text = JSON.stringify(body);
  const lines = Object.entries({ host: "localhost", ...headers, "content-length": Buffer.byteLength(text) });
  socket.write(`POST /mcp HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n${text}`);
  return socket;
}

async function callOf(era: string, port: number, name: string): Promise<PlainRequest> {
  const params = { name, arguments: {} };
  if (era === "modern") return modernRequest("tools/call", { params, meta: { progressToken: 1 } });
  const headers = await openSession((request) => askPort(port, request));
  const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { ...params, _meta: { progressToken: 1 } } };
  return legacy(body, { headers });
}

for (const era of ["modern", "legacy"]) {
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
        for (let step = 1; ctx.open && !over; step++) {
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
