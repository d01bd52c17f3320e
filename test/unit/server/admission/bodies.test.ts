import { deepEqual, equal, match } from "node:assert/strict";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { toNodeListener } from "bowline/node";
import { McpServer, type ServerOptions } from "bowline/server";
import { FakeClock } from "../../../support/fake-clock.js";
import { until } from "../../../support/legacy-endpoint.js";
import { modernRequest } from "../../../support/modern-request.js";
import { askPort, listenOn } from "../../../support/plain-http.js";

const me = { name: "bodies", version: "1.0.0" };
const BUDGET = 100_000;

/** A call whose body has so many bytes. */
function callOf(bytes: number) {
  const request = modernRequest("tools/call", { params: { name: "size", arguments: { text: "" } } });
  const empty = JSON.stringify(request.body);
  const body = empty.replace('"text":""', `"text":"${"x".repeat(bytes - empty.length)}"`);
  return { headers: request.headers as Record<string, string>, body };
}

/** A client that sends a body in parts. */
interface Sender {
  /** Sends a part; it is the last one if it closes the body. */
  send(part: string, isLast?: boolean): void;
  /** Goes away without the rest. */
  leave(): void;
  /** Status, Retry-After and text of the answer. */
  readonly answer: Promise<readonly [status: number, retryAfter: string | null, text: string]>;
}

type Host = (
  server: McpServer,
  t: TestContext,
) => Promise<(headers: Record<string, string>, length?: number) => Sender>;

const overNode: Host = async (server, t) => {
  const port = await listenOn(t, toNodeListener(server));
  return (headers, length) => {
    const socket: Socket = connect(port, "127.0.0.1");
    t.after(() => socket.destroy());
    const framing = length === undefined ? { "transfer-encoding": "chunked" } : { "content-length": String(length) };
    const fields = Object.entries({ host: "localhost", connection: "close", ...framing, ...headers });
    socket.write(`POST /mcp HTTP/1.1\r\n${fields.map((field) => field.join(": ")).join("\r\n")}\r\n\r\n`);
    let text = "";
    socket.on("data", (chunk) => {
      text += chunk;
    });
    socket.on("error", () => {});
    return {
      send: (part, isLast = part.endsWith("}")) => {
        socket.write(length === undefined ? `${part.length.toString(16)}\r\n${part}\r\n` : part);
        if (length === undefined && isLast) socket.write("0\r\n\r\n");
      },
      leave: () => socket.destroy(),
      answer: once(socket, "close").then(() => {
        const retry = /\r\nretry-after: (\d+)/i.exec(text)?.[1] ?? null;
        return [Number(text.slice(9, 12)), retry, text.slice(text.indexOf("\r\n\r\n") + 4)] as const;
      }),
    };
  };
};

const overFetch: Host = async (server) => (headers, length) => {
  let controller!: ReadableStreamDefaultController<Uint8Array>;
  const body = new ReadableStream<Uint8Array>({
    start: (given) => {
      controller = given;
    },
  });
  const declared = length === undefined ? undefined : { "content-length": String(length) };
  const init = { method: "POST", headers: { ...headers, ...declared }, body, duplex: "half" };
  const answer = server
    .fetch(new Request("http://localhost/mcp", init as RequestInit))
    .then(async (response) => [response.status, response.headers.get("retry-after"), await response.text()] as const);
  return {
    send: (part, isLast = part.endsWith("}")) => {
      controller.enqueue(new TextEncoder().encode(part));
      if (isLast) controller.close();
    },
    leave: () => controller.error(new Error("gone")),
    answer,
  };
};

function createServer(t: TestContext, options: ServerOptions = {}) {
  const sizes: number[] = [];
  const reports: string[] = [];
  const server = new McpServer(me, {
    onError: (error) => void reports.push((error as Error).message),
    ...options,
    limits: { maxBodiesBytes: BUDGET, ...options.limits },
  }).tool("size", { input: { type: "object" } }, ({ text }: Record<string, unknown>) => {
    sizes.push(String(text).length);
    return "ok";
  });
  t.after(() => server.close());
  return { server, sizes, reports };
}

const bodiesOf = (server: McpServer) => [server.stats().bodies, server.stats().bodyBytes];

for (const [name, host] of [
  ["node", overNode],
  ["fetch", overFetch],
] as const) {
  for (const framed of [true, false]) {
    const how = `${name}, ${framed ? "with a length" : "in chunks"}`;

    test(`bodies under way share a budget, and the one beyond it is refused [${how}]`, async (t) => {
      const { server, sizes } = createServer(t);
      const open = await host(server, t);
      const { headers, body } = callOf(40_000);
      const half = body.slice(0, 30_000);
      const begin = () => {
        const sender = open(headers, framed ? body.length : undefined);
        sender.send(half);
        return sender;
      };
      const senders = [begin(), begin(), begin()];
      await until(() => server.stats().bodyBytes === 90_000);
      deepEqual(bodiesOf(server), [3, 90_000]);
      const [status, retryAfter, text] = await begin().answer;
      deepEqual([status, retryAfter], [503, "1"]);
      const { error } = JSON.parse(text);
      deepEqual([error.code, error.data], [-32005, { limit: "maxBodiesBytes", retryAfterMs: 1000, refused: true }]);
      match(error.message, /at most 100000 bytes are allowed \(limits\.maxBodiesBytes\)/);
      deepEqual([bodiesOf(server), server.stats().refused], [[3, 90_000], 1]);
      for (const sender of senders) {
        sender.send(body.slice(30_000));
        equal((await sender.answer)[0], 200);
      }
      deepEqual([sizes.length, bodiesOf(server)], [3, [0, 0]]);
    });

    test(`ten times the budget leaves no count behind [${how}]`, async (t) => {
      const { server } = createServer(t);
      const open = await host(server, t);
      const { headers, body } = callOf(40_000);
      const senders = Array.from({ length: 30 }, () => open(headers, framed ? body.length : undefined));
      for (const sender of senders) sender.send(body.slice(0, 33_333));
      await until(() => server.stats().refused === 27);
      deepEqual(bodiesOf(server), [3, 3 * 33_333]);
      for (const sender of senders) sender.leave();
      await until(() => server.stats().bodies === 0);
      deepEqual(bodiesOf(server), [0, 0]);
    });

    test(`a body that never begins is given up [${how}]`, async (t) => {
      const clock = new FakeClock();
      const { server, sizes } = createServer(t, { clock, limits: { bodyTimeoutMs: 5_000 } });
      const open = await host(server, t);
      const { headers, body } = callOf(3_000);
      const slow = open(headers, framed ? body.length : undefined);
      await until(() => server.stats().bodies === 1);
      clock.advance(4_000);
      deepEqual(bodiesOf(server), [1, 0]);
      clock.advance(2_000);
      const [status, , text] = await slow.answer;
      equal(status, 408);
      match(text, /No data of the request body arrived for 5000 ms \(limits\.bodyTimeoutMs\)/);
      deepEqual([bodiesOf(server), sizes], [[0, 0], []]);
      // The timer is shared, and lapses when nothing waits.
      const quick = open(headers, framed ? body.length : undefined);
      quick.send(body);
      equal((await quick.answer)[0], 200);
      clock.advance(30_000);
      equal(clock.pending, 0);
    });

    test(`a body that stops coming is given up [${how}]`, async (t) => {
      const clock = new FakeClock();
      const { server, sizes } = createServer(t, { clock, limits: { bodyTimeoutMs: 5_000 } });
      const open = await host(server, t);
      const { headers, body } = callOf(3_000);
      const slow = open(headers, framed ? body.length : undefined);
      slow.send(body.slice(0, 1_000));
      await until(() => server.stats().bodyBytes === 1_000);
      clock.advance(4_000);
      slow.send(body.slice(1_000, 2_000));
      await until(() => server.stats().bodyBytes === 2_000);
      clock.advance(4_000);
      deepEqual(bodiesOf(server), [1, 2_000]);
      clock.advance(5_000);
      const [status, , text] = await slow.answer;
      equal(status, 408);
      match(text, /No data of the request body arrived for 5000 ms \(limits\.bodyTimeoutMs\)/);
      deepEqual([bodiesOf(server), sizes, clock.pending], [[0, 0], [], 0]);
    });

    for (const bodyTimeoutMs of [5_000, 0]) {
      test(`a body that trickles in has a time in total [${how}, bodyTimeoutMs ${bodyTimeoutMs}]`, async (t) => {
        const clock = new FakeClock();
        const { server, sizes } = createServer(t, { clock, limits: { bodyTimeoutMs, maxBodyMs: 20_000 } });
        const open = await host(server, t);
        const { headers, body } = callOf(3_000);
        const slow = open(headers, framed ? body.length : undefined);
        for (let sent = 100; sent <= 700; sent += 100) {
          slow.send(body.slice(sent - 100, sent));
          await until(() => server.stats().bodyBytes === sent);
          clock.advance(2_500);
        }
        deepEqual(bodiesOf(server), [1, 700]);
        clock.advance(2_500);
        const [status, , text] = await slow.answer;
        equal(status, 408);
        match(text, /The request body did not arrive within 20000 ms \(limits\.maxBodyMs\)/);
        deepEqual([bodiesOf(server), sizes, clock.pending], [[0, 0], [], 0]);
      });
    }
  }
}

test("a length that is only announced costs nothing", async (t) => {
  const { server } = createServer(t);
  const open = await overNode(server, t);
  const { headers } = callOf(1_000);
  const slow = Array.from({ length: 50 }, () => open(headers, 4 * 1024 * 1024));
  for (const sender of slow) sender.send("{");
  await until(() => server.stats().bodyBytes === 50);
  const { body } = callOf(30_000);
  const honest = open(headers, body.length);
  honest.send(body.slice(0, 20_000));
  await until(() => server.stats().bodyBytes === 20_050);
  honest.send(body.slice(20_000));
  equal((await honest.answer)[0], 200);
});

test("a call that comes in one piece is served while the budget is used up", async (t) => {
  const { server, sizes } = createServer(t);
  const port = await listenOn(t, toNodeListener(server));
  const open = await overNode(server, t);
  const big = callOf(110_000);
  const holder = open(big.headers, big.body.length);
  holder.send(big.body.slice(0, BUDGET));
  await until(() => server.stats().bodyBytes === BUDGET);
  const { headers, body } = callOf(500);
  const answer = await askPort(port, { headers: { ...headers, "content-length": "500" }, body });
  deepEqual([answer.status, sizes.length], [200, 1]);
});

test("a body of many small pieces costs its bytes and comes out whole", async (t) => {
  const { server, sizes } = createServer(t);
  const open = await overFetch(server, t);
  const { headers, body } = callOf(20_000);
  const sender = open(headers);
  for (let at = 0; at < body.length; at += 3) sender.send(body.slice(at, at + 3), at + 3 >= body.length);
  equal((await sender.answer)[0], 200);
  deepEqual(sizes, [JSON.parse(body).params.arguments.text.length]);
  deepEqual(bodiesOf(server), [0, 0]);
});
