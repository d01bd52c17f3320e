import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { once } from "node:events";
import { createServer, type Server as HttpServer } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { type TestContext, test } from "node:test";
import type { Tool } from "bowline";
import type { EraName } from "bowline/client";
import { type ClientOptions, ConnectionError, connect, type ListUpdate, type Watch } from "bowline/client";
import { toNodeListener } from "bowline/node";
import { McpServer } from "bowline/server";
import { FakeClock } from "../../../support/fake-clock.js";
import { gate } from "../../../support/gate.js";

const quick = { attempts: 50, delayMs: 1, maxDelayMs: 20 };
const reconnect = { firstDelayMs: 1, maxDelayMs: 20, maxFruitless: 50 };
const filter = { toolsListChanged: true, resources: ["note://1"] };
const missed = [{ kind: "tools" }, { kind: "resource", uri: "note://1" }];

/** A server at a port that can be killed and started anew, by another process as it were. */
class Place {
  server = this.#define();
  readonly sockets = new Set<Socket>();
  /** True if the place cuts each GET. */
  cutsStreams = false;
  #http: HttpServer | undefined;
  #port = 0;

  #define(): McpServer {
    const server = new McpServer({ name: "place", version: "1" }, { cache: { ttlMs: 3_600_000 } })
      .tool("t", {}, () => "")
      .resource("note://1", { name: "note" }, () => "text");
    return server as unknown as McpServer;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}/mcp`;
  }

  async start(): Promise<void> {
    const listener = toNodeListener(this.server);
    this.#http = createServer((request, response) => {
      if (this.cutsStreams && request.method === "GET") request.socket.destroy();
      else listener(request, response);
    });
    this.#http.on("connection", (socket) => {
      this.sockets.add(socket);
      socket.once("close", () => this.sockets.delete(socket));
    });
    this.#http.listen(this.#port, "127.0.0.1");
    await once(this.#http, "listening");
    this.#port = (this.#http.address() as AddressInfo).port;
  }

  cut(): void {
    for (const socket of this.sockets) socket.destroy();
  }

  async kill(): Promise<void> {
    const closed = this.#http?.listening === true ? once(this.#http, "close") : undefined;
    this.#http?.close();
    this.cut();
    await closed;
    const dead = this.server;
    this.server = this.#define();
    await dead.close();
  }

  static async open(t: TestContext): Promise<Place> {
    const place = new Place();
    await place.start();
    t.after(() => place.kill());
    return place;
  }
}

async function watching(t: TestContext, era: EraName, options: ClientOptions = {}) {
  const place = await Place.open(t);
  const client = await connect(place.url, { era, reconnect, onError: () => {}, ...options });
  t.after(() => client.close());
  return { place, client };
}

/** Lets attempts to connect to a port of this machine come to their end. */
async function turns(): Promise<void> {
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
}

async function resynced(watch: Watch): Promise<void> {
  const change = (await watch[Symbol.asyncIterator]().next()).value;
  ok(change?.kind === "resync", `${change?.kind} is no resync`);
  deepEqual(change.missed, missed);
}

for (const era of ["modern", "legacy"] as const) {
  test(`a server that is killed and started again is heard again, and the gap is told [${era}]`, async (t) => {
    const { place, client } = await watching(t, era);
    const watch = await client.watch(filter, { resubscribe: quick });
    const changes = watch[Symbol.asyncIterator]();
    for (let round = 0; round < 2; round++) {
      await place.kill();
      await place.start();
      const gap = (await changes.next()).value;
      ok(gap?.kind === "resync");
      deepEqual(gap.missed, missed);
      place.server.changes.resourceUpdated("note://1");
      deepEqual((await changes.next()).value, { kind: "resource", uri: "note://1" });
    }
    equal(watch.ended, undefined);
    await watch.close();
    equal(watch.ended, "closed");
  });

  test(`a stream that is cut is opened again, and the gap is told [${era}]`, async (t) => {
    const { place, client } = await watching(t, era);
    await using watch = await client.watch(filter, { resubscribe: quick });
    const changes = watch[Symbol.asyncIterator]();
    while (place.sockets.size === 0) await new Promise(setImmediate);
    place.cut();
    const gap = (await changes.next()).value;
    ok(gap?.kind === "resync");
    deepEqual(gap.missed, missed);
    place.server.changes.resourceUpdated("note://1");
    deepEqual((await changes.next()).value, { kind: "resource", uri: "note://1" });
  });

  test(`a server that stays away ends the watch with an error that says why [${era}]`, async (t) => {
    const few = { attempts: 3, delayMs: 1 };
    const { place, client } = await watching(t, era, { reconnect: { ...reconnect, maxFruitless: 2 } });
    const watch = await client.watch(filter, { resubscribe: few });
    await place.kill();
    await rejects(watch[Symbol.asyncIterator]().next(), (error) => {
      ok(error instanceof ConnectionError);
      equal(error.delivery, "answer_lost");
      match(error.message, /The subscription was lost and changes may have been missed: .+/);
      ok(error.cause instanceof Error);
      return true;
    });
    equal(watch.ended, "lost");
    // The client itself goes on.
    await place.start();
    await client.callTool("t");
    const again = await client.watch(filter);
    deepEqual(again.honoured, { toolsListChanged: true, resources: ["note://1"] });
  });

  test(`a watch outlasts an outage of any length, and listens again with the first call that succeeds [${era}]`, async (t) => {
    const clock = new FakeClock();
    let updates = 0;
    const onListChanged = { tools: { refetch: false, onChange: () => void updates++ } };
    const { place, client } = await watching(t, era, { clock, reconnect: {}, onListChanged });
    const watch = await client.watch(filter);
    await place.kill();
    for (let round = 0; round < 60; round++) {
      await turns();
      clock.advance(60_000);
    }
    // The pause after the last attempt is under way, and no longer in its shortest part.
    await turns();
    clock.advance(250);
    deepEqual([watch.ended, updates], [undefined, 0]);
    await place.start();
    const calls = Promise.all([client.callTool("t"), client.callTool("t")]);
    await calls;
    await resynced(watch);
    while (updates === 0) {
      await turns();
      clock.advance(0);
    }
    place.server.changes.resourceUpdated("note://1");
    deepEqual((await watch[Symbol.asyncIterator]().next()).value, { kind: "resource", uri: "note://1" });
  });

  test(`closing the client while the watch is away is no loss [${era}]`, async (t) => {
    const { place, client } = await watching(t, era);
    const watch = await client.watch(filter, { resubscribe: { delayMs: 3_600_000, maxDelayMs: 3_600_000 } });
    const end = watch[Symbol.asyncIterator]().next();
    await place.kill();
    await client.close();
    equal((await end).done, true);
    equal(watch.ended, "closed");
  });

  test(`lists that may have changed unheard are read anew [${era}]`, async (t) => {
    const heard: ListUpdate<Tool>[] = [];
    let told = gate();
    const { place, client } = await watching(t, era, {
      onListChanged: {
        tools: {
          onChange: (update) => {
            heard.push(update);
            told.open();
          },
        },
      },
    });
    deepEqual(
      (await client.tools().all()).map(({ name }) => name),
      ["t"],
    );
    await place.kill();
    place.server.tool("new", {}, () => "");
    await place.start();
    while (heard.at(-1)?.items === undefined) {
      await told.opened;
      told = gate();
    }
    deepEqual(
      heard.at(-1)?.items?.map(({ name }) => name),
      ["t", "new"],
    );
    deepEqual(
      (await client.tools().all()).map(({ name }) => name),
      ["t", "new"],
    );
  });
}

test("what may have changed unheard is not taken from the cache [modern]", async (t) => {
  const { place, client } = await watching(t, "modern");
  await using watch = await client.watch(filter, { resubscribe: quick });
  await client.tools().all();
  await client.tools().all();
  equal(client.cacheStats?.hits, 1);
  await place.kill();
  place.server.tool("new", {}, () => "");
  await place.start();
  await resynced(watch);
  deepEqual(
    (await client.tools().all()).map(({ name }) => name),
    ["t", "new"],
  );
});

test("attempts are bounded also where each subscription is cut at once", async (t) => {
  const { client } = await watching(t, "modern");
  let listens = 0;
  const place = await Place.open(t);
  const cutting = await connect(place.url, {
    era: "modern",
    fetch: async (url, init) => {
      const response = await fetch(url, init);
      if (!String(init.body).includes("subscriptions/listen") || listens++ === 0) return response;
      const reader = (response.body as ReadableStream<Uint8Array>).getReader();
      const first = await reader.read();
      await reader.cancel();
      return new Response(first.value as BodyInit, { headers: response.headers });
    },
  });
  t.after(() => cutting.close());
  const watch = await cutting.watch(filter, { resubscribe: { attempts: 4, delayMs: 1 } });
  place.cut();
  await rejects(async () => {
    for await (const change of watch) equal(change.kind, "resync");
  }, ConnectionError);
  equal(listens, 5);
  await client.close();
});

test("a watch fails if the abandoned stream of the session is abandoned again [legacy]", async (t) => {
  const { place, client } = await watching(t, "legacy", { reconnect: { maxFruitless: 1, firstDelayMs: 1 } });
  const lost = await client.watch(filter, { resubscribe: false });
  place.cutsStreams = true;
  place.cut();
  await rejects(lost[Symbol.asyncIterator]().next(), ConnectionError);
  await rejects(client.watch(filter, { resubscribe: false }), /GET stream of the session: gave up/);
  place.cutsStreams = false;
  await using watch = await client.watch(filter, { resubscribe: false });
  place.server.changes.resourceUpdated("note://1");
  deepEqual((await watch[Symbol.asyncIterator]().next()).value, { kind: "resource", uri: "note://1" });
});

test("a watch opens the stream of the session that was abandoned while the client connected [legacy]", async (t) => {
  const place = await Place.open(t);
  place.cutsStreams = true;
  const client = await connect(place.url, { era: "legacy", reconnect: { maxFruitless: 1 }, onError: () => {} });
  t.after(() => client.close());
  place.cutsStreams = false;
  await using watch = await client.watch(filter, { resubscribe: false });
  place.server.changes.resourceUpdated("note://1");
  deepEqual((await watch[Symbol.asyncIterator]().next()).value, { kind: "resource", uri: "note://1" });
});
