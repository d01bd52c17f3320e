import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { AsyncLocalStorage } from "node:async_hooks";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { brotliCompressSync, deflateSync, gzipSync } from "node:zlib";
import { AbortSwitch } from "#src/call/abort-switch.js";
import { systemClock } from "#src/call/clock.js";
import { readExcerpt, readText } from "#src/http/client/read.js";
import { type ByteSource, discard, type Reply, type Sending } from "#src/http/client/send.js";
import { readSse, SseReader } from "#src/http/sse/reader.js";
import { createDirectSend } from "#src/node/undici/send.js";
import { gate } from "../../../support/gate.js";

/** Node 26 keeps the one of its own `fetch` under the second. */
const DISPATCHER = ["2", "1"]
  .map((version) => Symbol.for(`undici.globalDispatcher.${version}`))
  .find((key) => Response && key in globalThis) as symbol;
type Dispatch = (options: Record<string, unknown>, handler: unknown) => unknown;
const holder = globalThis as unknown as Record<symbol, { dispatch: Dispatch }>;
const never = new AbortController();

function send(url: URL, how: Partial<Sending> = {}): Promise<Reply> {
  return createDirectSend(8)(url, {
    method: "GET",
    headers: {},
    body: null,
    end: new AbortSwitch(),
    server: url,
    ...how,
  });
}

async function listen(t: TestContext, handler: (req: IncomingMessage, res: ServerResponse) => void): Promise<URL> {
  const http = createServer(handler).listen(0, "127.0.0.1");
  await once(http, "listening");
  t.after(() => {
    http.closeAllConnections();
    http.close();
  });
  return new URL(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp?a=b`);
}

const text = (reply: Reply) => readText(reply, 1 << 20, never);

/** Whether a reply came without web objects. */
const isDirect = (reply: Reply) => !(reply instanceof Response);

test("sends what fetch would, and reads what came", async (t) => {
  const url = await listen(t, async (req, res) => {
    let body = "";
    for await (const chunk of req) body += chunk;
    const { method, url, headers } = req;
    res.writeHead(201, { "X-Answer": ["a", "b"], "content-type": "application/json" });
    res.end(JSON.stringify({ method, url, body, own: headers["x-own"], encodings: headers["accept-encoding"] }));
  });
  const reply = await send(url, { method: "POST", headers: { "x-own": "1" }, body: "é" });
  ok(isDirect(reply));
  deepEqual([reply.status, reply.ok, reply.url], [201, true, url.href]);
  deepEqual([reply.headers.get("x-answer"), reply.headers.get("x-none")], ["a, b", null]);
  const seen = { method: "POST", url: "/mcp?a=b", body: "é", own: "1", encodings: "gzip, br" };
  deepEqual(JSON.parse(await text(reply)), seen);
  equal(reply.bodyUsed, true);
});

test("a fetch that somebody put in its place is used", async (t) => {
  const url = await listen(t, (_, res) => res.end("real"));
  ok(isDirect(await send(url, {})));
  const mocked = t.mock.method(globalThis, "fetch", async () => new Response("mocked"));
  equal(await text(await send(url, {})), "mocked");
  mocked.mock.restore();
  const back = await send(url, {});
  deepEqual([isDirect(back), await text(back)], [true, "real"]);
});

/** What a dispatcher is asked, and what it does about it. */
function dispatching(t: TestContext, dispatch: (usual: Dispatch) => Dispatch): Record<string, unknown>[] {
  const usual = holder[DISPATCHER] as { dispatch: Dispatch };
  const asked: Record<string, unknown>[] = [];
  const own = dispatch((options, handler) => usual.dispatch(options, handler));
  t.after(() => {
    holder[DISPATCHER] = usual;
  });
  holder[DISPATCHER] = {
    dispatch(options, handler) {
      asked.push(options);
      return own(options, handler);
    },
  };
  return asked;
}

test("a dispatcher that somebody set is used; redirects and the limits of calls are the caller's", async (t) => {
  const url = await listen(t, (_, res) => res.end("there"));
  const asked = dispatching(t, (usual) => usual);
  equal(await text(await send(url)), "there");
  equal(await text(await send(url, { patience: { pauseIdle() {}, resumeIdle() {} } })), "there");
  const limits = asked.map(({ maxRedirections, bodyTimeout, headersTimeout }) => [
    maxRedirections,
    bodyTimeout,
    headersTimeout,
  ]);
  deepEqual(limits, [
    [0, 0, undefined],
    [0, 0, 0],
  ]);
});

test("a dispatcher that throws is a request that failed", async (t) => {
  const failure = new Error("no way");
  dispatching(t, () => () => {
    throw failure;
  });
  const end = new AbortSwitch();
  const removed = t.mock.method(end, "offAbort");
  await rejects(send(new URL("http://127.0.0.1:9/"), { end }), (error) => error === failure);
  equal(removed.mock.callCount(), 1);
});

test("what comes is handed out in the context of whoever reads it", async (t) => {
  const responses: ServerResponse[] = [];
  const url = await listen(t, (_, res) => {
    responses.push(res);
    res.writeHead(200).write("begun");
  });
  const context = new AsyncLocalStorage<string>();
  for (const name of ["first", "second"]) {
    await context.run(name, async () => {
      const reply = await send(url);
      const seen: unknown[] = [];
      await (reply.body as ByteSource).pump((chunk) => {
        seen.push([context.getStore(), String(chunk)]);
        // The second comes over the connection that the first opened.
        if (seen.length === 1) context.exit(() => responses.at(-1)?.end("done"));
        return true;
      });
      deepEqual(seen, [
        [name, "begun"],
        [name, "done"],
      ]);
    });
  }
});

test("a password in an address is refused, as fetch does it", async () => {
  await rejects(send(new URL("http://a:b@127.0.0.1:9/"), {}), { name: "TypeError" });
});

for (const [encoding, bytes] of [
  ["gzip", gzipSync("plain")],
  ["X-GZIP", gzipSync("plain")],
  ["deflate", deflateSync("plain")],
  ["br", brotliCompressSync("plain")],
  ["identity, gzip, br", brotliCompressSync(gzipSync("plain"))],
  ["gzip", gzipSync("plain").subarray(0, -8)],
] as const) {
  test(`unpacks ${encoding}, ${bytes.length} bytes`, async (t) => {
    const url = await listen(t, (_, res) => res.writeHead(200, { "content-encoding": encoding }).end(bytes));
    equal(await text(await send(url)), "plain");
  });
}

test("what is packed more often than anybody packs is not unpacked", async (t) => {
  const encoding = Array.from({ length: 3 }, () => "gzip").join(", ");
  const bytes = gzipSync(gzipSync(gzipSync("plain")));
  const url = await listen(t, (_, res) => res.writeHead(200, { "content-encoding": encoding }).end(bytes));
  await rejects(send(url).then(text), { message: "the response has 3 content encodings, more than the limit of 2" });
});

test("nothing, packed, is nothing", async (t) => {
  const url = await listen(t, (_, res) => res.writeHead(200, { "content-encoding": "gzip" }).end());
  equal(await text(await send(url)), "");
});

test("what is packed otherwise is named, and let go of", async (t) => {
  for (const encoding of ["zstd", "constructor"]) {
    const gone = gate();
    const url = await listen(t, (_, res) => {
      res.on("close", gone.open);
      res.writeHead(200, { "content-encoding": encoding }).write("begun");
    });
    await rejects(send(url).then(text), { message: `the response has the unsupported content encoding "${encoding}"` });
    await gone.opened;
  }
});

test("what is packed is read no faster than it is taken", async (t) => {
  const packed = gzipSync(Buffer.alloc(64 << 20), { level: 0 });
  let sent = 0;
  const url = await listen(t, async (_, res) => {
    res.writeHead(200, { "content-encoding": "gzip" });
    for (; sent < packed.length; sent += 65_536) {
      if (!res.write(packed.subarray(sent, sent + 65_536))) await once(res, "drain");
    }
    res.end();
  });
  const end = new AbortSwitch();
  const reply = await send(url, { end });
  const begun = gate();
  const taken = gate();
  const reading = (reply.body as ByteSource).pump(async () => {
    begun.open();
    await taken.opened;
    return true;
  });
  await begun.opened;
  for (let before = -1; before !== sent; ) {
    before = sent;
    for (let turn = 0; turn < 500; turn++) await new Promise(setImmediate);
  }
  ok(sent < packed.length, "the server has sent everything");
  const reason = new Error("enough");
  end.abort(reason);
  taken.open();
  await rejects(reading, (error) => error === reason);
});

test("a text is whole wherever it was cut", async (t) => {
  const bytes = Buffer.from("aé€😀");
  const url = await listen(t, async (_, res) => {
    for (const byte of bytes) {
      res.write(Buffer.of(byte));
      await new Promise(setImmediate);
    }
    res.end();
  });
  equal(await text(await send(url)), "aé€😀");
});

test("a packed body that is broken or no longer wanted ends", async (t) => {
  const url = await listen(t, (req, res) => {
    res.writeHead(200, { "content-encoding": "gzip" });
    if (req.method === "POST") res.end("not packed");
    else res.write(gzipSync("x".repeat(100_000)));
  });
  await rejects(send(url, { method: "POST" }).then(text), { code: "Z_DATA_ERROR" });
  const end = new AbortSwitch();
  const reply = await send(url, { end });
  const reading = readText(reply, 1 << 20, end);
  const reason = new Error("enough");
  end.abort(reason);
  await rejects(reading, (error) => error === reason);
});

test("a packed body that nobody reads is let go of", async (t) => {
  const gone = gate();
  const url = await listen(t, (_, res) => {
    res.on("close", gone.open);
    res.writeHead(200, { "content-encoding": "gzip" }).write(gzipSync("x"));
  });
  const reply = await send(url);
  equal(reply.bodyUsed, false);
  discard(reply);
  await gone.opened;
});

test("a head that only announces the real one is passed over", async (t) => {
  const url = await listen(t, (_, res) => {
    res.writeEarlyHints({ link: "</a>; rel=preload" });
    res.writeHead(200).end("real");
  });
  const reply = await send(url, {});
  deepEqual([reply.status, await text(reply)], [200, "real"]);
});

test("it ends at any time, with its own reason, and the server is told", async (t) => {
  const reason = new Error("enough");
  const before = new AbortSwitch();
  before.abort(reason);
  await rejects(send(new URL("http://127.0.0.1:9/"), { end: before }), (error) => error === reason);
  for (const part of ["nothing", "head", "body"]) {
    const asked = gate();
    const gone = gate();
    const url = await listen(t, (_, res) => {
      res.on("close", gone.open);
      if (part !== "nothing") res.writeHead(200).flushHeaders();
      if (part === "body") res.write("begun");
      asked.open();
    });
    const end = new AbortSwitch();
    const fetched = send(url, { end });
    let reading: Promise<unknown> = fetched;
    if (part === "nothing") await asked.opened;
    else {
      const begun = gate();
      const reply = await fetched;
      reading = (reply.body as ByteSource).pump(() => {
        begun.open();
        return true;
      });
      if (part === "body") await begun.opened;
    }
    end.abort(reason);
    await rejects(reading, (error) => error === reason);
    await gone.opened;
  }
});

test("given up before there is a connection, it sends nothing", async (t) => {
  let requests = 0;
  const url = await listen(t, (_, res) => {
    requests++;
    res.end();
  });
  const end = new AbortSwitch();
  const reason = new Error("enough");
  const given = rejects(send(url, { method: "POST", body: "x", end }), (error) => error === reason);
  end.abort(reason);
  await given;
  await text(await send(url, { method: "POST" }));
  equal(requests, 1);
});

test("what nobody reads makes the server wait, and nothing is lost", async (t) => {
  const piece = Buffer.alloc(65_536, 97);
  // More than every buffer on the way takes.
  const pieces = 1000;
  let sent = 0;
  const url = await listen(t, async (_, res) => {
    res.writeHead(200);
    for (; sent < pieces; sent++) if (!res.write(piece)) await once(res, "drain");
    res.end();
  });
  const reply = await send(url, {});
  for (let before = -1; before !== sent; ) {
    before = sent;
    for (let turn = 0; turn < 500; turn++) await new Promise(setImmediate);
  }
  ok(sent < pieces, "the server has sent everything");
  let read = 0;
  await (reply.body as ByteSource).pump((chunk) => {
    read += chunk.byteLength;
    return true;
  });
  equal(read, pieces * piece.length);
});

test("a reader that has enough, or fails, ends the response", async (t) => {
  const gone: Promise<unknown>[] = [];
  const url = await listen(t, (_, res) => {
    gone.push(once(res, "close"));
    res.writeHead(200).write("data: a\n\ndata: b\n\n");
  });
  const one = await send(url, {});
  const BOUND = { maxEventSize: 1 << 20 };
  const seen: string[] = [];
  const reader: SseReader = new SseReader(({ data }) => {
    seen.push(data);
    reader.end();
  }, BOUND);
  await readSse(one.body as ByteSource, reader);
  deepEqual(seen, ["a"]);
  const failure = new Error("cannot");
  const failing = new SseReader(() => {
    throw failure;
  }, BOUND);
  await rejects(readSse((await send(url, {})).body as ByteSource, failing), (error) => error === failure);
  equal(await readExcerpt(await send(url, {}), 5, 1000, never, systemClock), "data:");
  await (await send(url, {})).body?.cancel();
  equal(gone.length, 4);
  await Promise.all(gone);
});

for (const reads of ["is being read", "is about to be read"]) {
  test(`a body that breaks off rejects while it ${reads}`, async (t) => {
    const breakOff = gate();
    const url = await listen(t, async (_, res) => {
      res.writeHead(200, { "content-length": "10" }).write("half");
      await breakOff.opened;
      res.socket?.destroy();
    });
    const reply = await send(url, {});
    const reading = reads === "is being read" ? text(reply) : undefined;
    breakOff.open();
    // The end of a connection takes several turns to arrive.
    if (reading === undefined) for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
    await rejects(reading ?? text(reply), { code: "UND_ERR_SOCKET" });
  });
}

test("what listens for the end does not outlive the response", async (t) => {
  const url = await listen(t, (_, res) => res.end("done"));
  const end = new AbortSwitch();
  const added = t.mock.method(end, "onAbort");
  const removed = t.mock.method(end, "offAbort");
  await text(await send(url, { end }));
  deepEqual([added.mock.callCount(), removed.mock.callCount()], [1, 1]);
  equal(added.mock.calls[0]?.arguments[0], removed.mock.calls[0]?.arguments[0]);
});

test("an address where nobody listens tells so", async () => {
  await rejects(send(new URL("http://127.0.0.1:9/"), {}), { code: "ECONNREFUSED" });
});
