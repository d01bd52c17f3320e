import { equal, match, notEqual } from "node:assert/strict";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { connect, Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { serveHttp } from "bowline/node";
import type { HttpExchange } from "#src/http/exchange.js";
import { gate } from "../../support/gate.js";

/** Private member in which Node keeps the running response of a connection. */
const MEMBER = "_httpMessage";

/** Hides the member from the files of this project. Node itself still has it. */
function hideMember(t: TestContext): void {
  const values = new WeakMap<Socket, unknown>();
  Object.defineProperty(Socket.prototype, MEMBER, {
    configurable: true,
    get(this: Socket) {
      const [, , caller = ""] = (new Error().stack ?? "").split("\n");
      return caller.includes("node:") ? values.get(this) : undefined;
    },
    set(this: Socket, value: unknown) {
      values.set(this, value);
    },
  });
  t.after(() => Reflect.deleteProperty(Socket.prototype, MEMBER));
}

/** Sends requests on one connection, and drains the server while none is answered. Returns all that the client reads. */
async function drainBeforeAnswer(t: TestContext, count: number): Promise<string> {
  const exchanges: HttpExchange[] = [];
  const all = gate();
  const handle = (exchange: HttpExchange) => {
    if (exchanges.push(exchange) === count) all.open();
  };
  const running = await serveHttp({ handle, close: async () => {} });
  t.after(() => running.close());
  const client = connect(running.port, "127.0.0.1");
  await once(client, "connect");
  client.write(`POST /mcp HTTP/1.1\r\nhost: localhost:${running.port}\r\ncontent-length: 0\r\n\r\n`.repeat(count));
  await all.opened;
  const drained = running.drain(0);
  for (const exchange of exchanges) exchange.reply(200, { "content-type": "text/plain" }, "ok");
  let text = "";
  for await (const chunk of client) text += chunk;
  await drained;
  return text;
}

test("this Node keeps the running response of a connection where it is looked for", async (t) => {
  const handle = (exchange: HttpExchange) => exchange.reply(200, {}, "ok");
  const running = await serveHttp({ handle, close: async () => {} });
  t.after(() => running.close());
  const seen = gate<ServerResponse>();
  let held: unknown;
  running.server.prependListener("request", ({ socket }, response) => {
    held = (socket as { [MEMBER]?: unknown })[MEMBER];
    seen.open(response);
  });
  await (await fetch(running.url, { method: "POST" })).text();
  equal(held, await seen.opened);
  notEqual(held, undefined);
});

test("a response that has not begun when the server drains closes its connection", async (t) => {
  match(await drainBeforeAnswer(t, 1), /^HTTP\/1\.1 200 OK\r\n(?:.*\r\n)*connection: close\r\n/i);
});

test("and so it does if Node has no such member", async (t) => {
  hideMember(t);
  match(await drainBeforeAnswer(t, 1), /^HTTP\/1\.1 200 OK\r\n(?:.*\r\n)*connection: close\r\n/i);
});
