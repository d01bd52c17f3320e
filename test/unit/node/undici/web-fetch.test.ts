import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { gzipSync } from "node:zlib";
import { AbortSwitch } from "#src/call/abort-switch.js";
import type { Fetch } from "#src/http/client/send.js";
import { createDirectSend } from "#src/node/undici/send.js";
import { gate } from "../../../support/gate.js";

type Respond = (request: IncomingMessage, response: ServerResponse) => void;

/** Listens, and returns what a function of the option `fetch` gets to send with. */
async function world(t: TestContext, respond: Respond): Promise<{ readonly url: URL; readonly ownFetch: Fetch }> {
  const http = createServer(respond).listen(0, "127.0.0.1");
  await once(http, "listening");
  t.after(() => {
    http.closeAllConnections();
    http.close();
  });
  const url = new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp?a=b`);
  const given: Fetch[] = [];
  const send = createDirectSend(8, async (_url, init) => {
    given.push((init as unknown as { readonly ownFetch: Fetch }).ownFetch);
    return new Response(null);
  });
  t.after(() => send.keepIdle?.(false));
  await send(url, { method: "GET", headers: {}, body: null, end: new AbortSwitch(), server: url });
  return { url, ownFetch: given[0] as Fetch };
}

test("returns a web response with all headers and the decompressed body", async (t) => {
  const { url, ownFetch } = await world(t, async (request, response) => {
    const chunks = await request.setEncoding("utf8").toArray();
    response.writeHead(201, { "x-list": ["a", "b"], "content-type": "text/plain", "content-encoding": "gzip" });
    response.end(gzipSync(`${request.method} ${request.url} ${request.headers["x-own"]} ${chunks.join("")}`));
  });
  const response = await ownFetch(url, { method: "POST", headers: new Headers({ "X-Own": "1" }), body: "é" });
  ok(response instanceof Response);
  deepEqual([response.status, response.headers.get("x-list")], [201, "a, b"]);
  deepEqual(response.headers.get("content-type"), "text/plain");
  equal(await response.text(), "POST /mcp?a=b 1 é");
});

test("a response without a body has none", async (t) => {
  const { url, ownFetch } = await world(t, (_, response) => response.writeHead(204).end());
  const response = await ownFetch(url, {});
  deepEqual([response.status, response.body], [204, null]);
});

test("a status that web responses cannot have is an error, and its connection closes", async (t) => {
  const closed = gate();
  const { url, ownFetch } = await world(t, ({ socket }, response) => {
    socket.once("close", closed.open);
    response.writeHead(700).write("x");
  });
  await rejects(ownFetch(url, {}), RangeError);
  await closed.opened;
});

test("a long body arrives whole", async (t) => {
  const size = 20_000_000;
  const { url, ownFetch } = await world(t, (_, response) => response.end(Buffer.alloc(size, "x")));
  const response = await ownFetch(url, {});
  let length = 0;
  for await (const chunk of response.body ?? []) length += chunk.byteLength;
  equal(length, size);
});

test("a body that is cancelled closes its connection", async (t) => {
  const closed = gate();
  const { url, ownFetch } = await world(t, (_, response) => {
    response.once("close", closed.open);
    response.writeHead(200).write("x");
  });
  const response = await ownFetch(url, {});
  await response.body?.cancel();
  await closed.opened;
});

test("a signal ends it at any time with its reason, and is not listened to afterwards", async (t) => {
  const closed = gate();
  const { url, ownFetch } = await world(t, (request, response) => {
    if (request.headers["x-whole"] !== undefined) response.end("whole");
    else {
      response.once("close", closed.open);
      response.writeHead(200).write("x");
    }
  });
  const abort = new AbortController();
  const { signal } = abort;
  const added = t.mock.method(signal, "addEventListener");
  const removed = t.mock.method(signal, "removeEventListener");
  equal(await (await ownFetch(url, { signal, headers: { "x-whole": "1" } })).text(), "whole");
  deepEqual([added.mock.callCount(), removed.mock.callCount()], [1, 1]);
  const reason = new Error("enough");
  const text = (await ownFetch(url, { signal })).text();
  abort.abort(reason);
  await rejects(text, (error) => error === reason);
  await closed.opened;
  await rejects(ownFetch(url, { signal }), (error) => error === reason);
});

test("a request that fails rejects as that of the client does", async (t) => {
  const { url, ownFetch } = await world(t, ({ socket }) => void socket.destroy());
  await rejects(ownFetch(url, {}), { code: "UND_ERR_SOCKET" });
});

test("a fetch that somebody put in its place is used, and so it is for a body that is no text", async (t) => {
  const { url, ownFetch } = await world(t, async (request, response) => {
    response.end((await request.setEncoding("utf8").toArray()).join(""));
  });
  const body = new Uint8Array([104, 105]);
  equal(await (await ownFetch(url, { method: "POST", body })).text(), "hi");
  const mocked = t.mock.method(globalThis, "fetch", async () => new Response("mocked"));
  equal(await (await ownFetch(url, {})).text(), "mocked");
  equal(mocked.mock.callCount(), 1);
});
