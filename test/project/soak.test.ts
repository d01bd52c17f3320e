import { deepEqual, equal, match } from "node:assert/strict";
import { once } from "node:events";
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { type TestContext, test } from "node:test";
import { ConnectionError, RpcError, TimeoutError } from "bowline/client";
import { loadScript } from "./load-script.js";

interface Held {
  readonly heap: number;
  readonly handles: object;
  readonly sockets: number;
  readonly stats: object;
  readonly children: object;
}

interface Run {
  readonly before: Held;
  readonly after: Held;
  readonly closed: { readonly expected: object; readonly handles: object };
  readonly lanes: readonly object[];
  readonly floods: readonly object[];
  readonly floors: object;
}

const { judge, floorsOf } = await loadScript<{
  judge(run: Run): string[];
  floorsOf(seconds: number): { calls: number; outages: number };
}>("soak/judge.mjs");

const { Tally } = await loadScript<{
  Tally: new () => {
    readonly messages: ReadonlyMap<string, number>;
    readonly unexpected: number;
    fail(name: string, error: unknown, allowed: object): string | undefined;
  };
}>("soak/tally.mjs");

const { Relay } = await loadScript<{
  Relay: {
    open(target: number): Promise<{
      readonly port: number;
      cutAfter(bytes: number, how: { all: boolean; reset: boolean }): Promise<number>;
      close(): Promise<void>;
    }>;
  };
}>("soak/relay.mjs");

const MB = 1_000_000;
const held: Held = {
  heap: 20 * MB,
  handles: { Timeout: 1 },
  sockets: 4,
  stats: { "http modern": { running: 0 } },
  children: { "stdio modern": { heap: 8 * MB, handles: { PipeWrap: 2 } } },
};
const lane = { name: "http modern", calls: 100, outages: 10, unexpected: 0, messages: [] };
const good: Run = {
  before: held,
  after: held,
  closed: { expected: {}, handles: {} },
  lanes: [lane],
  floods: [{ name: "calls", bound: "maxCalls", refuses: true, times: 1, refused: 9 }],
  floors: { calls: 100, outages: 10 },
};

test("a run passes in which everything is as it was", () => {
  deepEqual(judge(good), []);
  deepEqual(judge({ ...good, after: { ...held, heap: 22 * MB } }), []);
});

test("a run fails for whatever grew, was not refused, not expected or not made", () => {
  const after = (change: object) => ({ ...good, after: { ...held, ...change } });
  const failing: [Run, RegExp][] = [
    [after({ heap: 23 * MB }), /the heap of the process grew/],
    [after({ handles: { Timeout: 2 } }), /handles of the process: Timeout was 1 and is 2/],
    [after({ handles: {} }), /Timeout was 1 and is 0/],
    [after({ sockets: 5 }), /sockets of the process: open was 4 and is 5/],
    [after({ stats: { "http modern": { running: 1 } } }), /stats\(\) of http modern: running was 0 and is 1/],
    [after({ children: { "stdio modern": { heap: 11 * MB, handles: { PipeWrap: 2 } } } }), /the child of stdio modern/],
    [{ ...good, closed: { expected: {}, handles: { TCPSocketWrap: 1 } } }, /after everything is closed: TCPSocketWrap/],
    [{ ...good, floods: [{ ...good.floods[0], refused: 0 }] }, /a flood of calls was never refused/],
    [{ ...good, lanes: [{ ...lane, calls: 99 }] }, /99 calls were made; the floor is 100/],
    [
      { ...good, lanes: [{ ...lane, unexpected: 1, messages: [{ message: "odd", count: 1 }] }] },
      /http modern: 1 x odd/,
    ],
  ];
  for (const [run, message] of failing) {
    const problems = judge(run);
    equal(problems.length, 1, String(problems));
    match(problems[0] as string, message);
  }
});

test("the floors of a run shrink with its time, and never grow", () => {
  deepEqual(floorsOf(60), { calls: 10_000, outages: 100 });
  deepEqual(floorsOf(600), { calls: 100_000, outages: 1_000 });
  deepEqual(floorsOf(6_000), floorsOf(600));
});

test("a call may end only as its fault allows", () => {
  const reason = new Error("enough");
  const lost = new ConnectionError("cut", { delivery: "sent" });
  const late = new TimeoutError("idle", 1, "late");
  const refused = new RpcError(-32000, "Too many calls: this server may run 48 at a time (maxCalls)");
  const cases: [error: unknown, allowed: object, kind: string | undefined][] = [
    [reason, { reason }, "aborted"],
    [new Error("enough"), { reason }, undefined],
    [late, { timeout: true }, "timedOut"],
    [late, { lost: true }, undefined],
    [lost, { lost: true }, "lost"],
    [lost, {}, undefined],
    [new RpcError(-32603, "The server is shutting down"), { lost: true }, "lost"],
    [refused, { refused: true }, "refused"],
    [refused, { lost: true }, undefined],
    [new TypeError("x is undefined"), { lost: true, refused: true, timeout: true }, undefined],
  ];
  for (const [error, allowed, kind] of cases) {
    const tally = new Tally();
    equal(tally.fail("call", error, allowed), kind, String(error));
    equal(tally.unexpected, kind === undefined ? 1 : 0);
    equal(tally.messages.size, tally.unexpected);
  }
});

/** A server that keeps what it is sent. */
async function listen(t: TestContext) {
  const sockets: Socket[] = [];
  const server = createServer((socket) => void sockets.push(socket)).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return { server, sockets, port: (server.address() as AddressInfo).port };
}

test("a relay cuts at the byte that it is told, for both ends", async (t) => {
  const { server, port } = await listen(t);
  const relay = await Relay.open(port);
  t.after(() => relay.close());
  for (const reset of [false, true]) {
    const accepted = once(server, "connection") as Promise<[Socket]>;
    const near = connect(relay.port, "127.0.0.1");
    const [far] = await accepted;
    near.on("error", () => {});
    far.on("error", () => {});
    let got = "";
    const arrived = new Promise<void>((resolve) => {
      far.on("data", (bytes) => {
        got += bytes;
        if (got.length >= 3) resolve();
      });
    });
    const gone = Promise.all([near.resume(), far].map((end) => new Promise((resolve) => end.once("close", resolve))));
    const cut = relay.cutAfter(3, { all: true, reset });
    near.write("abcdef");
    equal(await cut, 1);
    if (!reset) await arrived;
    far.end();
    await gone;
    equal("abc".startsWith(got), true, got);
  }
});
