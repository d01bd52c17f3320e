import { equal, rejects } from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { connect } from "node:net";
import { type TestContext, test } from "node:test";
import { BodyIncomplete } from "#src/http/body-failure.js";
import { createNodeExchange } from "#src/node/http/exchange.js";
import { toFetchListener } from "#src/node/http/fetch-listener.js";

type Parsed = IncomingMessage & { body?: unknown };

async function listening(t: TestContext, server: ReturnType<typeof createServer>): Promise<number> {
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}

test("a body that a parser in front has read is handed on as the text that it was", async (t) => {
  const listener = toFetchListener(async (asked) => new Response(await asked.text()));
  let body: unknown;
  const server = createServer(async (req: Parsed, res) => {
    for await (const _ of req);
    req.body = body;
    listener(req, res);
  });
  const url = `http://127.0.0.1:${await listening(t, server)}/`;
  const form = "application/x-www-form-urlencoded";
  const cases: readonly [unknown, string, string][] = [
    ["plain text", "text/plain", "plain text"],
    ["a=1&b=2", form, "a=1&b=2"],
    [new TextEncoder().encode("bytes"), "application/octet-stream", "bytes"],
    [{ a: [1, { b: 2 }] }, "application/json", '{"a":[1,{"b":2}]}'],
    [{ a: "1", b: ["2", "3"] }, form, "a=1&b=2&b=3"],
  ];
  for (const [given, type, expected] of cases) {
    body = given;
    const response = await fetch(url, { method: "POST", headers: { "content-type": type }, body: "as it came" });
    equal(await response.text(), expected, type);
  }
});

test("a body of a client that has gone before it is asked for is incomplete", async (t) => {
  const server = createServer();
  const port = await listening(t, server);
  const arrived = once(server, "request");
  const socket: Socket = connect(port, "127.0.0.1");
  socket.write("POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\n");
  const [req, res] = (await arrived) as [IncomingMessage, ServerResponse];
  const gone = new Promise((resolve) => req.on("error", () => {}).once("close", resolve));
  socket.destroy();
  await gone;
  await rejects(createNodeExchange(req, res).text(100), BodyIncomplete);
});

test("a refusal without a body goes out while the client still sends", async (t) => {
  // The connection is closed after a moment, which never comes here: nothing but the refusal itself can go out.
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const server = createServer(async (req, res) => {
    const exchange = createNodeExchange(req, res);
    await exchange.text(10).catch(() => exchange.reply(413, {}));
  });
  const port = await listening(t, server);
  const sent = request({ port, host: "127.0.0.1", method: "POST", headers: { "content-length": 1000 } });
  t.after(() => sent.destroy());
  sent.on("error", () => {});
  sent.write("x");
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  equal(response.statusCode, 413);
  equal(response.headers.connection, "close");
});
