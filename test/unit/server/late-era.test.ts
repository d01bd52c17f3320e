import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { createArrayExchange, createChannelPair } from "bowline/testing";
import { legacyMethods } from "#src/era/legacy/methods.js";
import { legacyDescriptor } from "#src/era/legacy/server/descriptor.js";
import { legacyServer } from "#src/era/legacy/server/era.js";
import { modernServer } from "#src/era/modern/server/era.js";
import type { OfferedEra } from "#src/era/server-era.js";
import type { HttpServerOptions, ServerOptions } from "#src/server/options.js";
import type { Server } from "#src/server/server.js";
import { serverOfEras } from "../../support/core-of.js";
import { type Gate, gate } from "../../support/gate.js";

/** A server of both eras, whose older one is loaded when the test says so. */
class LateWorld {
  readonly loads: Gate<void>[] = [];
  readonly reports: unknown[] = [];
  readonly server: Server;
  fails = false;

  constructor(http: HttpServerOptions = { sessions: false, responseMode: "prefer-json" }, options: ServerOptions = {}) {
    const late: OfferedEra = {
      ...legacyDescriptor,
      load: async () => {
        const load = gate();
        this.loads.push(load);
        await load.opened;
        if (this.fails) throw new Error("no such file");
        return legacyServer;
      },
    };
    const onError = (error: unknown) => this.reports.push(error);
    this.server = serverOfEras({ name: "s", version: "1" }, { onError, ...options, http }, [modernServer, late]);
  }

  send(id: number | undefined, method: string, params: object = {}, httpMethod = "POST") {
    const headers = { "content-type": "application/json", accept: "application/json, text/event-stream" };
    const body = httpMethod === "POST" ? { jsonrpc: "2.0", ...(id === undefined ? {} : { id }), method, params } : "";
    const exchange = createArrayExchange({ method: httpMethod, headers, body });
    this.server.handle(exchange);
    return exchange;
  }

  call(id: number, name: string) {
    return this.send(id, "tools/call", { name, arguments: {} });
  }

  /** Lets everything happen that waits for nothing but its turn. */
  async settle(): Promise<void> {
    for (let i = 0; i < 3; i++) await new Promise(setImmediate);
  }
}

test("what is known of the era beforehand is what it has", () => {
  const names = [...legacyMethods.keys(), "server/discover", "x"];
  deepEqual(
    names.filter((name) => legacyDescriptor.specifies(name)),
    [...legacyMethods.keys()],
  );
  const facts = ({ name, versions }: Omit<OfferedEra, "load">) => [name, versions];
  deepEqual(facts(legacyDescriptor), facts(legacyServer));
});

test("requests that come while the era is loaded are served in their order, and it is loaded once", async () => {
  const world = new LateWorld();
  const served: unknown[] = [];
  world.server.tool("note", {}, () => {});
  world.server.use((call, next) => {
    served.push(call.id);
    return next(call);
  });
  const exchanges = [1, 2, 3].map((id) => world.call(id, "note"));
  await world.settle();
  deepEqual([world.loads.length, served, world.server.stats().running], [1, [], 3]);
  world.loads[0]?.open();
  await Promise.all(exchanges.map(({ done }) => done));
  await world.call(4, "note").done;
  deepEqual([served, world.loads.length, world.server.stats().running], [[1, 2, 3, 4], 1, 0]);
  deepEqual(
    exchanges.map(({ status }) => status),
    [200, 200, 200],
  );
});

test("nothing is counted otherwise before the era is loaded, and no method is refused otherwise", async () => {
  const world = new LateWorld({});
  const before = world.server.stats();
  const put = world.send(undefined, "", {}, "PUT");
  deepEqual([put.status, put.headers.allow, world.loads.length], [405, "POST, GET, DELETE", 0]);
  const get = world.send(undefined, "", {}, "GET");
  world.loads[0]?.open();
  await get.done;
  equal(get.status, 400);
  deepEqual(world.server.stats(), before);
});

test("a load that fails is told to those who wait and to the log, and the next request tries again", async () => {
  const world = new LateWorld();
  world.server.tool("greet", {}, () => "hello");
  world.fails = true;
  const refused = [world.call(1, "greet"), world.call(2, "greet")];
  await world.settle();
  world.loads[0]?.open();
  await Promise.all(refused.map(({ done }) => done));
  deepEqual(
    refused.map((exchange) => [
      exchange.status,
      JSON.parse(exchange.body()).id,
      JSON.parse(exchange.body()).error.code,
    ]),
    [
      [500, 1, -32603],
      [500, 2, -32603],
    ],
  );
  equal(world.reports.length, 2);
  match(String(world.reports[0]), /versions 2025-11-25, .* cannot be served: /);
  equal(((world.reports[0] as Error).cause as Error).message, "no such file");
  world.fails = false;
  const again = world.call(3, "greet");
  await world.settle();
  world.loads[1]?.open();
  await again.done;
  deepEqual([again.status, world.loads.length, world.server.stats().running], [200, 2, 0]);
});

for (const way of ["close", "drain"] as const) {
  const drains = way === "drain";
  test(`${way} while the era is loaded ${drains ? "serves" : "refuses"} who waits, and ends when they were told`, async () => {
    const world = new LateWorld();
    let ran = false;
    world.server.tool("greet", {}, () => {
      ran = true;
    });
    const waiting = world.call(1, "greet");
    await world.settle();
    const closed = drains ? world.server.drain(1000) : world.server.close();
    await world.settle();
    equal(waiting.answered, false);
    world.loads[0]?.open();
    await closed;
    await waiting.done;
    match(waiting.body(), drains ? /"result"/ : /The server is shutting down/);
    deepEqual([ran, world.server.stats().running, world.server.stats().sessions], [drains, 0, 0]);
  });
}

test("a client that leaves while the era is loaded leaves nothing behind", async () => {
  const world = new LateWorld({ responseMode: "prefer-json" });
  const exchange = world.send(1, "initialize", {
    protocolVersion: "2025-11-25",
    capabilities: {},
    clientInfo: { name: "c", version: "1" },
  });
  await world.settle();
  exchange.disconnect();
  world.loads[0]?.open();
  await world.settle();
  const { sessions, streams, running } = world.server.stats();
  deepEqual({ sessions, streams, running }, { sessions: 0, streams: 0, running: 0 });
});

test("closing while a channel waits for its era closes the channel", async () => {
  const world = new LateWorld();
  const [ours, theirs] = createChannelPair();
  const ending = gate<Error | undefined>();
  ours.open({ onFrame: () => {}, onProblem: () => {}, onClose: ending.open });
  const accepted = world.server.accept(theirs);
  const refused = rejects(accepted, { code: "server_closing" });
  const closed = world.server.close();
  await world.settle();
  world.loads[0]?.open();
  await Promise.all([refused, closed, ending.opened]);
  equal(world.server.stats().connections, 0);
});

test("a channel whose era cannot be loaded is not accepted, and the next one is", async () => {
  const world = new LateWorld();
  world.fails = true;
  const first = world.server.accept(createChannelPair()[1]);
  world.loads[0]?.open();
  await rejects(first, /no such file/);
  world.fails = false;
  const [ours, theirs] = createChannelPair();
  const answered = gate<string>();
  ours.open({ onFrame: answered.open, onProblem: () => {}, onClose: () => {} });
  void ours.send('{"jsonrpc":"2.0","id":1,"method":"ping"}');
  const second = world.server.accept(theirs);
  world.loads[1]?.open();
  await second;
  equal(await answered.opened, '{"jsonrpc":"2.0","id":1,"result":{}}');
  ok(world.server.stats().connections === 1);
  await world.server.close();
});
