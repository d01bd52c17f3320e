/**
 * What a call may cost, in stages and bytes: a line that is added to every call is noticed here and not in a benchmark
 * a year later. The budgets are what was measured with a little air, bytes with air for engines that need more for the same
 * objects (Node 26 takes a sixth more than Node 20); who needs more says why where it is raised.
 */

import { ok } from "node:assert/strict";
import { test } from "node:test";
import { connect } from "bowline/client";
import { McpServer } from "bowline/server";
import { createArrayExchange } from "bowline/testing";
import * as z from "zod";
import { modernRequest } from "../support/modern-request.js";
import { measureWork, type Work } from "../support/work-meter.js";

const me = { name: "budget", version: "1.0.0" };

function createServer(tools = 1): McpServer {
  const server = new McpServer(me, { http: { responseMode: "prefer-json" } });
  for (let i = 0; i < tools; i++) {
    server.tool(`echo${i}`, { input: z.object({ text: z.string() }) }, ({ text }) => text);
  }
  return server;
}

const params = { name: "echo0", arguments: { text: "hello" } };

function assertWithin(work: Work, budget: Work): void {
  for (const unit of ["promises", "handles", "bytes"] as const) {
    ok(work[unit] <= budget[unit], `${unit} a call: ${work[unit]}, budget ${budget[unit]}`);
  }
}

function postOverHttp(server: McpServer, headers: Record<string, string | undefined>, body: unknown) {
  return async () => {
    const exchange = createArrayExchange({ headers, body: JSON.stringify(body) });
    server.handle(exchange);
    await exchange.done;
    if (exchange.status !== 200) throw new Error(exchange.body());
  };
}

test("a call over HTTP that stands for itself", async () => {
  const { headers, body } = modernRequest("tools/call", { params });
  const work = await measureWork(postOverHttp(createServer(), headers, body));
  assertWithin(work, { promises: 6, handles: 0, bytes: 8_000 });
});

test("a call over HTTP whose handler takes time", async () => {
  const server = new McpServer(me).tool("echo0", { input: z.object({ text: z.string() }) }, async ({ text }) => text);
  const { headers, body } = modernRequest("tools/call", { params });
  const work = await measureWork(postOverHttp(server, headers, body));
  assertWithin(work, { promises: 12, handles: 0, bytes: 10_000 });
});

test("a call over HTTP through an interceptor", async () => {
  const { headers, body } = modernRequest("tools/call", { params });
  const server = createServer().use((call, next) => next(call));
  const work = await measureWork(postOverHttp(server, headers, body));
  assertWithin(work, { promises: 9, handles: 0, bytes: 9_000 });
});

test("a call over HTTP in a session", async () => {
  const server = createServer();
  const json = { "content-type": "application/json", accept: "application/json, text/event-stream" };
  const handshake = createArrayExchange({
    headers: json,
    body: {
      jsonrpc: "2.0",
      id: 0,
      method: "initialize",
      params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: me },
    },
  });
  server.handle(handshake);
  await handshake.done;
  const headers = { ...json, "mcp-session-id": handshake.headers["mcp-session-id"] };
  const work = await measureWork(
    postOverHttp(server, headers, { jsonrpc: "2.0", id: 1, method: "tools/call", params }),
  );
  assertWithin(work, { promises: 6, handles: 0, bytes: 8_000 });
});

test("a call over HTTP of an older client without a session", async () => {
  const http = { sessions: false, responseMode: "prefer-json" } as const;
  const server = new McpServer(me, { http }).tool(
    "echo0",
    { input: z.object({ text: z.string() }) },
    ({ text }) => text,
  );
  const headers = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-protocol-version": "2025-11-25",
  };
  const work = await measureWork(
    postOverHttp(server, headers, { jsonrpc: "2.0", id: 1, method: "tools/call", params }),
  );
  assertWithin(work, { promises: 6, handles: 0, bytes: 11_500 });
});

for (const era of ["modern", "legacy"] as const) {
  test(`a call from a client in the same process, ${era}`, async () => {
    await using client = await connect(createServer(), { era });
    const work = await measureWork(() => client.callTool("echo0", { text: "hello" }));
    assertWithin(work, { promises: 5, handles: 0, bytes: 8_000 });
  });
}

/**
 * How much a call may differ with a thousand tools. How far the engine has compiled code changes the bytes of a call by a tenth,
 * so that less cannot be told apart; two bytes for each tool would be a third more.
 */
const SAME = 1.25;

/** Measures two ways to do the same in turns, and takes the least bytes of each. */
async function measureBoth(
  some: () => Promise<unknown>,
  other: () => Promise<unknown>,
): Promise<readonly [Work, Work]> {
  let least: readonly [Work, Work] | undefined;
  for (let turn = 0; turn < 3; turn++) {
    const now = [await measureWork(some), await measureWork(other)] as const;
    least = [lesser(now[0], least?.[0]), lesser(now[1], least?.[1])];
  }
  return least as readonly [Work, Work];
}

function lesser(work: Work, other: Work = work): Work {
  return work.bytes < other.bytes ? work : other;
}

test("a call costs the same with one tool and with a thousand", async () => {
  const { headers, body } = modernRequest("tools/call", { params });
  const [one, thousand] = await measureBoth(
    postOverHttp(createServer(1), headers, body),
    postOverHttp(createServer(1_000), headers, body),
  );
  assertWithin(thousand, { ...one, bytes: one.bytes * SAME });
});

test("a listing is written once, however often it is asked for", async () => {
  const { headers, body } = modernRequest("tools/list");
  const [single, work] = await measureBoth(
    postOverHttp(createServer(1), headers, body),
    postOverHttp(createServer(1_000), headers, body),
  );
  assertWithin(work, { ...single, bytes: single.bytes * SAME });
});
