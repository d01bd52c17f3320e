import { deepEqual, equal, rejects } from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from "node:http";
import { type AddressInfo, connect, type Socket } from "node:net";
import { describe, it, mock } from "node:test";
import { BodyIncomplete, BodyTaken, BodyTooLarge } from "#src/http/body-failure.js";
import type { HttpExchange } from "#src/http/exchange.js";
import { RequestBodies } from "#src/http/request-bodies.js";
import { createNodeExchange, type NodeExchangeOptions } from "#src/node/http/exchange.js";

type Handler = (exchange: HttpExchange, res: ServerResponse) => void | Promise<void>;

interface Running {
  readonly port: number;
  readonly url: string;
  readonly server: Server;
}

async function withServer(handler: Handler, use: (running: Running) => Promise<void>): Promise<void> {
  await withRawServer((req, res) => handler(createNodeExchange(req, res), res), use);
}

async function withRawServer(
  handler: (req: IncomingMessage, res: ServerResponse) => void | Promise<void>,
  use: (running: Running) => Promise<void>,
): Promise<void> {
  const failures: unknown[] = [];
  const server = createServer((req, res) => {
    Promise.resolve(handler(req, res)).catch((error: unknown) => {
      failures.push(error);
      res.destroy();
    });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  try {
    await use({ port, url: `http://127.0.0.1:${port}/mcp?x=1`, server });
  } finally {
    server.closeAllConnections();
    server.close();
  }
  deepEqual(failures, []);
}

/** Sends raw text and gives the socket. */
async function send(port: number, text: string): Promise<Socket> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  await once(socket, "connect");
  socket.write(text);
  return socket;
}

async function readAll(socket: Socket): Promise<string> {
  let text = "";
  for await (const chunk of socket) text += chunk;
  return text;
}

function createGate<T = void>() {
  let open!: (value: T) => void;
  const opened = new Promise<T>((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

const post = (body: BodyInit, init?: RequestInit): RequestInit => ({ method: "POST", body, ...init });
const half = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 100\r\n\r\nhalf";
const whole = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n";

describe("node exchange: request", () => {
  it("tells method, path, headers and body", async () => {
    const seen = createGate<unknown[]>();
    const handler: Handler = async (exchange) => {
      const text = await exchange.text(100);
      seen.open([exchange.method, exchange.url, exchange.header("x-a"), exchange.header("x-b"), text]);
      exchange.reply(202, {});
    };
    await withServer(handler, async ({ url }) => {
      const answer = await fetch(
        url,
        post("h\u00e9", {
          headers: [
            ["X-A", "1"],
            ["x-a", "2"],
          ],
        }),
      );
      equal(answer.status, 202);
      equal(answer.headers.get("content-length"), "0");
      deepEqual(await seen.opened, ["POST", "/mcp?x=1", "1, 2", undefined, "h\u00e9"]);
    });
  });

  async function readWith(limit: number, init: RequestInit): Promise<string> {
    let result = "";
    const handler: Handler = async (exchange) => {
      const text = await exchange.text(limit).catch((error: Error) => error.name);
      exchange.reply(200, {}, text);
    };
    await withServer(handler, async ({ url }) => {
      result = await (await fetch(url, init)).text();
    });
    return result;
  }

  const small = "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 4\r\n\r\nbody";

  it("reads a body that came with its headers without a listener or a timer", async () => {
    const seen = createGate<unknown[]>();
    const onTimer = mock.method(globalThis, "setTimeout");
    const handler = (req: IncomingMessage, res: ServerResponse) => {
      const bodies = new RequestBodies({ maxBodiesBytes: 1, bodyTimeoutMs: 1000, maxBodyMs: 1000 });
      const before = [req.listenerCount("end"), req.listenerCount("close"), onTimer.mock.callCount()];
      const read = (result: unknown) => {
        const after = [req.listenerCount("end"), req.listenerCount("close"), onTimer.mock.callCount()];
        seen.open([result, req.listenerCount("data"), after.map((count, at) => count - (before[at] as number))]);
        res.end();
      };
      createNodeExchange(req, res).read?.(10, read, read, bodies);
    };
    try {
      await withRawServer(handler, async ({ port }) => {
        const socket = await send(port, small);
        deepEqual(await seen.opened, ["body", 0, [0, 0, 0]]);
        socket.destroy();
      });
    } finally {
      onTimer.mock.restore();
    }
  });

  it("reads the whole body of a client that has left at once", async () => {
    const seen = createGate<unknown>();
    const handler: Handler = (exchange) => exchange.read?.(10, seen.open, seen.open, new RequestBodies());
    await withServer(handler, async ({ port }) => {
      const socket = connect(port, "127.0.0.1");
      socket.on("error", () => {});
      socket.end(small, () => socket.resetAndDestroy());
      equal(await seen.opened, "body");
    });
  });

  it("counts a body until it is read", async () => {
    const bodies = new RequestBodies();
    const order: string[] = [];
    const done = createGate();
    const handler: Handler = (exchange) => {
      exchange.read?.(
        10,
        (text) => order.push(text),
        (error) => order.push(String(error)),
        bodies,
      );
      const idle = bodies.idle();
      order.push(idle === undefined ? "idle" : "reading");
      idle?.then(() => order.push("none")).then(() => done.open());
    };
    await withServer(handler, async ({ port }) => {
      const socket = await send(port, small);
      await done.opened;
      deepEqual([order, bodies.idle()], [["reading", "body", "none"], undefined]);
      socket.destroy();
    });
  });

  it("reads a body of exactly the limit, and none above", async () => {
    equal(await readWith(3, post("abc")), "abc");
    equal(await readWith(3, post("abcd")), "BodyTooLarge");
  });

  it("joins chunks, also inside a character, and takes a byte order mark away", async () => {
    const seen = createGate<string>();
    const handler: Handler = async (exchange) => {
      seen.open(await exchange.text(100));
      exchange.reply(200, {});
    };
    await withServer(handler, async ({ port }) => {
      const req = request({ port, host: "127.0.0.1", method: "POST" });
      const bytes = new TextEncoder().encode("\uFEFF\u4e2d\u{1F600}");
      for (const byte of bytes) await new Promise((resolve) => req.write(Uint8Array.of(byte), resolve));
      req.end();
      const [res] = (await once(req, "response")) as [IncomingMessage];
      res.resume();
      equal(await seen.opened, "\u4e2d\u{1F600}");
    });
  });

  it("refuses what is not UTF-8, and reads the next body unharmed", async () => {
    equal(await readWith(100, post(Uint8Array.of(0x22, 0xff, 0xfe, 0x22))), "BodyNotText");
    equal(await readWith(100, post(Uint8Array.of(0x22, 0xe4, 0xb8))), "BodyNotText");
    equal(await readWith(100, post("\u4e2d")), "\u4e2d");
  });

  it("rejects a body whose client goes away, and tells that it has gone", async () => {
    const outcome = createGate<unknown>();
    const gone = createGate();
    const handler: Handler = async (exchange) => {
      exchange.onGone(gone.open);
      outcome.open(await exchange.text(1000).catch((error: unknown) => error));
    };
    await withServer(handler, async ({ port, server }) => {
      const arrived = once(server, "request");
      const socket = await send(port, half);
      await arrived;
      socket.destroy();
      equal((await outcome.opened) instanceof BodyIncomplete, true);
      await gone.opened;
    });
  });

  it("takes a body that was read in front, and tells one that was not handed over", async () => {
    const seen = createGate<string[]>();
    const handler = async (req: IncomingMessage, res: ServerResponse) => {
      let text = "";
      for await (const chunk of req) text += chunk;
      const read = (options?: NodeExchangeOptions) => createNodeExchange(req, res, options).text(100);
      await rejects(read(), BodyTaken);
      seen.open([await read({ body: JSON.parse(text) }), await read({ body: text })]);
      createNodeExchange(req, res).reply(200, {});
    };
    await withRawServer(handler, async ({ url }) => {
      await fetch(url, post('{"a": 1}'));
      deepEqual(await seen.opened, ['{"a":1}', '{"a": 1}']);
    });
  });
});

describe("node exchange: too large", () => {
  const handler: Handler = async (exchange) => {
    await rejects(exchange.text(1024), BodyTooLarge);
    exchange.onGone(() => {
      throw new Error("a client that was answered is not gone");
    });
    exchange.reply(413, { "content-type": "application/json" }, '{"error":1}');
  };

  it("answers an announced length at once and closes", async () => {
    await withServer(handler, async ({ port }) => {
      const socket = await send(port, "POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 9999999\r\n\r\n");
      const answer = await readAll(socket);
      equal(answer.startsWith("HTTP/1.1 413 "), true);
      equal(answer.toLowerCase().includes("connection: close"), true);
      equal(answer.endsWith('{"error":1}'), true);
    });
  });

  it("answers a chunked body that crosses the limit, before its end", async () => {
    await withServer(handler, async ({ port }) => {
      const chunk = `800\r\n${"x".repeat(0x800)}\r\n`;
      const socket = await send(
        port,
        `POST / HTTP/1.1\r\nhost: localhost\r\ntransfer-encoding: chunked\r\n\r\n${chunk}`,
      );
      equal((await readAll(socket)).startsWith("HTTP/1.1 413 "), true);
    });
  });

  it("gets the answer through to a client that reads only after it has sent everything", async () => {
    await withServer(handler, async ({ port }) => {
      const size = 8 * 1024 * 1024;
      const socket = await send(port, `POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: ${size}\r\n\r\n`);
      const problem = await new Promise((resolve) => socket.write(Buffer.alloc(size), resolve));
      equal(problem ?? undefined, undefined);
      equal((await readAll(socket)).endsWith('{"error":1}'), true);
    });
  });

  it("gets the answer through to a client that sends on", async () => {
    await withServer(handler, async ({ url }) => {
      const answer = await fetch(url, post("x".repeat(8 * 1024 * 1024)));
      equal(answer.status, 413);
      equal(await answer.text(), '{"error":1}');
    });
  });
});

describe("node exchange: response", () => {
  it("replies with a length in bytes", async () => {
    await withServer(
      (exchange) => exchange.reply(200, { "content-type": "application/json" }, '"\u00e9"'),
      async ({ url }) => {
        const answer = await fetch(url);
        equal(answer.headers.get("content-length"), "4");
        equal(answer.headers.get("content-type"), "application/json");
        equal(await answer.text(), '"\u00e9"');
      },
    );
  });

  it("keeps headers that were set in front", async () => {
    const handler: Handler = (exchange, res) => {
      res.setHeader("x-front", "1");
      exchange.reply(200, { "content-type": "text/plain" }, "a");
    };
    await withServer(handler, async ({ url }) => {
      const answer = await fetch(url);
      equal(answer.headers.get("x-front"), "1");
      equal(answer.headers.get("content-type"), "text/plain");
    });
  });

  it("replies 204 without a length", async () => {
    await withServer(
      (exchange) => exchange.reply(204, {}),
      async ({ url }) => {
        const answer = await fetch(url);
        equal(answer.status, 204);
        equal(answer.headers.get("content-length"), null);
      },
    );
  });

  it("answers before the body has come, and the connection lives on", async () => {
    const handler: Handler = (exchange) => exchange.reply(403, {}, "no");
    await withServer(handler, async ({ port }) => {
      const socket = await send(port, half);
      const [first] = (await once(socket, "data")) as [Buffer];
      equal(String(first).startsWith("HTTP/1.1 403 "), true);
      socket.write(`${"x".repeat(96)}GET / HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n`);
      equal((await readAll(socket)).startsWith("HTTP/1.1 403 "), true);
    });
  });

  it("streams: headers first, then each piece, then the end", async () => {
    const go = createGate();
    const handler: Handler = async (exchange) => {
      const stream = exchange.stream(200, { "content-type": "text/event-stream" });
      await go.opened;
      stream.write("a\u00e9");
      stream.write("");
      stream.write("b");
      stream.end();
      stream.end();
      stream.write("late");
    };
    await withServer(handler, async ({ url }) => {
      const answer = await fetch(url);
      equal(answer.headers.get("content-type"), "text/event-stream");
      go.open();
      equal(await answer.text(), "a\u00e9b");
    });
  });

  it("holds the writer back until the reader has caught up, and loses nothing", async () => {
    const piece = "x".repeat(64 * 1024);
    const refused = createGate<number>();
    const handler: Handler = async (exchange) => {
      const stream = exchange.stream(200, {});
      let written = 1;
      while (stream.write(piece)) written++;
      refused.open(written);
      await new Promise<void>((resolve) => stream.onDrain(resolve));
      stream.write("end");
      await new Promise<void>((resolve) => stream.onDrain(resolve));
      stream.end();
    };
    await withServer(handler, async ({ url }) => {
      const answer = await fetch(url);
      const written = await refused.opened;
      equal((await answer.text()).length, written * piece.length + 3);
    });
  });
});

describe("node exchange: the client goes", () => {
  it("tells once of a premature close, frees a waiting writer, and writes no more", async () => {
    let count = 0;
    const gone = createGate<HttpExchange>();
    const streaming = createGate();
    const freed = createGate();
    const handler: Handler = (exchange) => {
      const stream = exchange.stream(200, {});
      exchange.onGone(() => {
        count++;
        stream.write("late");
        stream.end();
        gone.open(exchange);
      });
      while (stream.write("x".repeat(1 << 20)));
      stream.onDrain(freed.open);
      streaming.open();
    };
    await withServer(handler, async ({ port }) => {
      const socket = await send(port, whole);
      await streaming.opened;
      socket.destroy();
      const exchange = await gone.opened;
      await freed.opened;
      await new Promise<void>((resolve) => exchange.onGone(resolve));
      exchange.reply(200, {}, "late");
      equal(count, 1);
    });
  });

  it("tells of a close before any answer", async () => {
    const gone = createGate();
    await withServer(
      (exchange) => exchange.onGone(gone.open),
      async ({ port, server }) => {
        const arrived = once(server, "request");
        const socket = await send(port, whole);
        await arrived;
        socket.destroy();
        await gone.opened;
      },
    );
  });

  it("tells a pipelined request that still waits for its turn", async () => {
    const gone = [createGate(), createGate()];
    const arrived = createGate();
    let count = 0;
    const handler: Handler = (exchange) => {
      exchange.onGone(gone[count++]!.open);
      if (count === 2) arrived.open();
    };
    await withServer(handler, async ({ port }) => {
      const socket = await send(port, whole + whole);
      await arrived.opened;
      socket.destroy();
      await Promise.all(gone.map(({ opened }) => opened));
    });
  });

  it("is silent when the response is complete and the connection ends later", async () => {
    for (const answer of [
      (exchange: HttpExchange) => exchange.reply(200, {}, "done"),
      (exchange: HttpExchange) => exchange.stream(200, {}).end(),
    ]) {
      let count = 0;
      const closed = createGate();
      const handler: Handler = (exchange, res) => {
        exchange.onGone(() => count++);
        res.on("close", closed.open);
        answer(exchange);
      };
      await withServer(handler, async ({ port, server }) => {
        const connected = once(server, "connection") as Promise<[Socket]>;
        const socket = await send(port, whole);
        const [peer] = await connected;
        const ended = new Promise((resolve) => peer.on("close", resolve));
        await closed.opened;
        socket.destroy();
        await ended;
        equal(count, 0);
      });
    }
  });
});
