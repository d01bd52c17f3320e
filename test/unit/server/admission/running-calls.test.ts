import { deepEqual, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { type HttpExchange, McpServer, RpcError, type ServerOptions } from "bowline/server";
import { createArrayExchange, type FakeClock } from "bowline/testing";
import { eachWire, type World } from "../../../support/each-wire.js";
import { FakeClock as TestClock } from "../../../support/fake-clock.js";
import { gate } from "../../../support/gate.js";
import { LegacyEndpoint, messages, status, until } from "../../../support/legacy-endpoint.js";
import { modernRequest } from "../../../support/modern-request.js";
import { proves } from "../../../support/verifies.js";

const me = { name: "full", version: "1.0.0" };
const MAX = 3;

/** A server whose tool holds its calls until it is told to let go. */
function createHolding(options: ServerOptions = {}) {
  const started: AbortSignal[] = [];
  const release = gate();
  const server = new McpServer(me, options).tool("hold", {}, async (_args, ctx) => {
    started.push(ctx.signal);
    await release.opened;
    return "held";
  });
  return { server, started, release };
}

/** The counts that must be 0 when nothing is left of a flood. */
function leftovers(server: McpServer): number[] {
  const { running = -1, waiting = -1, bodies = -1, bodyBytes = -1 } = server.stats();
  return [running, waiting, bodies, bodyBytes];
}

for (const wire of eachWire) {
  for (const more of [0, 1, 9 * MAX]) {
    test(`${MAX} calls run, ${more} beyond the bound are refused before they begin [${wire.name}]`, async (t) => {
      const { connect }: World = await wire.open(t);
      const { server, started, release } = createHolding({ limits: { maxCalls: MAX } });
      const client = await connect(server);
      const running = Array.from({ length: MAX }, () => client.callTool("hold"));
      await until(() => started.length === MAX);
      equal(server.stats().running, MAX);
      const refused = await Promise.all(
        Array.from({ length: more }, () => client.callTool("hold").catch((error: unknown) => error)),
      );
      for (const error of refused) {
        ok(error instanceof RpcError);
        equal(error.rpcCode, -32005);
        match(error.message, /this server may run 3 at a time \(limits\.maxCalls\)/);
        deepEqual(error.data, { limit: "maxCalls", retryAfterMs: 1000, refused: true });
      }
      deepEqual([started.length, server.stats().refused], [MAX, more]);
      release.open();
      for (const { text } of await Promise.all(running)) equal(text, "held");
      await until(() => server.stats().running === 0);
      equal((await client.callTool("hold")).text, "held");
      deepEqual(leftovers(server), [0, 0, 0, 0]);
    });
  }

  test(`calls that end in any other way leave no count behind [${wire.name}]`, async (t) => {
    const world: World = await wire.open(t);
    const server = new McpServer(me)
      .tool("throws", {}, () => {
        throw new Error("no");
      })
      .tool("rejects", {}, async () => {
        throw new Error("no");
      })
      .tool(
        "waits",
        {},
        (_args, ctx) =>
          new Promise((_, reject) => {
            ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason));
          }),
      );
    const client = await world.connect(server);
    for (const name of ["throws", "rejects"]) equal((await client.callTool(name)).isError, true);
    await client.callTool("unknown").catch(() => {});
    const abort = new AbortController();
    const cancelled = client.callTool("waits", {}, { signal: abort.signal }).catch(() => {});
    const lost = client.callTool("waits").catch(() => {});
    await until(() => server.stats().running === 2);
    abort.abort();
    await cancelled;
    await until(() => server.stats().running === 1);
    // A session over HTTP outlives the connections of its client, and so do its calls.
    if (world.era === "legacy" && (world.transport === "node" || world.transport === "fetch")) await server.close();
    else await client.close();
    await lost;
    await until(() => server.stats().running === 0);
    deepEqual(leftovers(server), [0, 0, 0, 0]);
  });
}

const callHold = (id: number) => modernRequest("tools/call", { id, params: { name: "hold" } });

/** Posts as a client of the newer era does. */
function post(
  server: Pick<McpServer, "handle">,
  principal: string | undefined,
  id: number,
  headers: Record<string, string> = {},
  remote?: string,
) {
  const request = callHold(id);
  const exchange = createArrayExchange({ ...request, headers: { ...request.headers, ...headers }, principal, remote });
  server.handle(exchange);
  return exchange;
}

test("a full server answers 503 and says when to come again, in both eras", async (t) => {
  const { server, release, started } = createHolding({ limits: { maxCalls: 1 } });
  t.after(() => server.close());
  const held = post(server, undefined, 1);
  await until(() => started.length === 1);
  const refused = post(server, undefined, 2);
  await status(refused, 503);
  deepEqual([refused.headers["retry-after"], refused.headers["content-type"]], ["1", "application/json"]);
  const { id, error } = JSON.parse(refused.body());
  deepEqual([id, error.code, error.data], [2, -32005, { limit: "maxCalls", retryAfterMs: 1000, refused: true }]);
  release.open();
  await status(held, 200);
});

for (const preferJson of [false, true]) {
  test(`a session beyond its share answers 429, ${preferJson ? "as JSON" : "in place of a stream"}`, async () => {
    const release = gate();
    const endpoint = new LegacyEndpoint(
      { responseMode: preferJson ? "prefer-json" : "auto" },
      { limits: { maxCallsPerSession: 2 } },
    );
    let started = 0;
    endpoint.server.tool("hold", {}, async () => {
      started++;
      await release.opened;
      return "held";
    });
    const [one, other] = [await endpoint.open(), await endpoint.open()];
    const held = [one.call(1, "hold"), one.call(2, "hold")];
    await until(() => started === 2);
    const refused = await status(one.call(3, "hold"), 429);
    equal(refused.headers["retry-after"], "1");
    deepEqual(JSON.parse(refused.body()).error.data, {
      limit: "maxCallsPerSession",
      retryAfterMs: 1000,
      refused: true,
    });
    const free = other.call(1, "hold");
    await until(() => started === 3);
    release.open();
    for (const exchange of [...held, free]) await status(exchange, 200);
    await until(() => endpoint.stats.running === 0);
    await status(one.call(4, "hold"), 200);
    equal(endpoint.reports.length, 0);
  });
}

test("a full server refuses a handshake with 503 and keeps no session", async () => {
  const release = gate();
  const endpoint = new LegacyEndpoint({}, { limits: { maxCalls: 1 } });
  endpoint.server.tool("hold", {}, async () => {
    await release.opened;
    return "held";
  });
  const client = await endpoint.open();
  const held = client.call(1, "hold");
  await until(() => endpoint.stats.running === 1);
  const refused = await status(endpoint.initialize(), 503);
  equal(refused.headers["retry-after"], "1");
  equal(endpoint.stats.sessions, 1);
  release.open();
  await status(held, 200);
  await endpoint.open();
});

test("of a batch, the calls beyond the bound are refused and the others answered", async () => {
  const endpoint = new LegacyEndpoint({ responseMode: "prefer-json" }, { limits: { maxCallsPerSession: 2 } });
  const release = gate();
  let started = 0;
  endpoint.server.tool("hold", {}, async () => {
    started++;
    await release.opened;
    return "held";
  });
  const client = await endpoint.open("2025-03-26");
  const requests = [1, 2, 3].map((id) => ({ jsonrpc: "2.0", id, method: "tools/call", params: { name: "hold" } }));
  const exchange = client.post(requests);
  await until(() => started === 2);
  release.open();
  await status(exchange, 200);
  const answers = JSON.parse(exchange.body()) as { id: number; error?: { code: number } }[];
  deepEqual(answers.map(({ id, error }) => [id, error?.code]).sort(), [
    [1, undefined],
    [2, undefined],
    [3, -32005],
  ]);
});

test("a principal has its share whatever connections it uses, and takes nothing from others", async (t) => {
  const { server, release, started } = createHolding({ limits: { maxCallsPerPrincipal: 2 } });
  t.after(() => server.close());
  const held = [post(server, "ann", 1), post(server, "ann", 2), post(server, "bob", 3), post(server, undefined, 4)];
  await until(() => started.length === 4);
  const refused = await status(post(server, "ann", 5), 429);
  deepEqual(JSON.parse(refused.body()).error.data, {
    limit: "maxCallsPerPrincipal",
    retryAfterMs: 1000,
    refused: true,
  });
  equal(refused.headers["retry-after"], "1");
  release.open();
  for (const exchange of held) await status(exchange, 200);
  for (const id of [6, 7, 8]) await status(post(server, "ann", id), 200);
  equal(server.stats().running, 0);
});

proves(
  "hosting:http:anonymous-calls",
  { wire: "http" },
  "calls of strangers that lost their streams leave room for callers with a name",
  async () => {
    const named = (exchange: HttpExchange) => ({ principal: exchange.header("x-user") });
    const endpoint = new LegacyEndpoint({ gate: named }, { limits: { maxCalls: 8, maxCallsPerSession: 2 } });
    const release = gate();
    endpoint.server.tool("hold", {}, async () => {
      await release.opened;
      return "held";
    });
    const strangers = await Promise.all(Array.from({ length: 4 }, () => endpoint.open()));
    for (const [at, stranger] of strangers.entries())
      for (const id of at < 3 ? [1, 2] : []) stranger.call(id, "hold").disconnect();
    await until(() => endpoint.stats.running === 6);
    const refused = await status(strangers[3]?.call(1, "hold") as ReturnType<typeof endpoint.post>, 503);
    deepEqual(JSON.parse(refused.body()).error.data, { limit: "anonymousShare", retryAfterMs: 1000, refused: true });
    await status(post(endpoint.server, undefined, 1), 503);
    const asAda = { "x-user": "ada" };
    const ada = await endpoint.open("2025-11-25", {}, { headers: asAda });
    const held = [ada.call(1, "hold"), post(endpoint.server, undefined, 2, asAda)];
    await until(() => endpoint.stats.running === 8);
    release.open();
    for (const exchange of held) await status(exchange, 200);
    await until(() => endpoint.stats.running === 0);
    await status(post(endpoint.server, undefined, 3), 200);
  },
);

proves(
  "hosting:http:anonymous-calls",
  { wire: "http" },
  "when many run, the calls of one address leave room for others",
  async (t) => {
    const { server, started, release } = createHolding({ limits: { maxCalls: 8, maxCallsPerPrincipal: 1 } });
    t.after(() => server.close());
    const held = Array.from({ length: 5 }, (_, id) => post(server, undefined, id, {}, "a"));
    await until(() => started.length === 5);
    const refused = await status(post(server, undefined, 5, {}, "a"), 429);
    deepEqual(JSON.parse(refused.body()).error.data, {
      limit: "maxCallsPerPrincipal",
      retryAfterMs: 1000,
      refused: true,
    });
    held.push(post(server, undefined, 6, {}, "b"));
    await until(() => started.length === 6);
    release.open();
    for (const exchange of held) await status(exchange, 200);
    await status(post(server, undefined, 7, {}, "a"), 200);
    deepEqual(leftovers(server), [0, 0, 0, 0]);
  },
);

for (const limit of ["maxCalls", "maxCallsPerSession", "maxCallsPerPrincipal"] as const) {
  test(`a bound of 0 lets no call run (${limit})`, async () => {
    const endpoint = new LegacyEndpoint({}, { limits: { [limit]: 0 } });
    const refused = await status(
      endpoint.initialize("2025-11-25", { principal: "ann" }),
      limit === "maxCalls" ? 503 : 429,
    );
    equal(JSON.parse(refused.body()).error.data.limit, limit);
    equal(endpoint.stats.running, 0);
  });
}

test("a stream that has begun carries the refusal as its answer", async () => {
  const release = gate();
  const endpoint = new LegacyEndpoint({ resumable: true }, { limits: { maxCalls: 1 } });
  endpoint.server.tool("hold", {}, async () => {
    await release.opened;
    return "held";
  });
  const client = await endpoint.open();
  const held = client.call(1, "hold");
  await until(() => endpoint.stats.running === 1);
  const refused = await status(client.call(2, "hold"), 200);
  const [{ id, error } = {}] = messages(refused);
  deepEqual([id, error?.code, error?.data], [2, -32005, { limit: "maxCalls", retryAfterMs: 1000, refused: true }]);
  release.open();
  await status(held, 200);
});

test("subscriptions are no running calls", async (t) => {
  const { server, release, started } = createHolding({ limits: { maxCalls: 1, maxSubscriptions: 2 } });
  t.after(() => server.close());
  const listen = () => {
    const request = modernRequest("subscriptions/listen", { params: { notifications: { toolsListChanged: true } } });
    const exchange = createArrayExchange(request);
    server.handle(exchange);
    return exchange;
  };
  const [one, two] = [listen(), listen()];
  await until(() => server.stats().subscriptions === 2);
  equal(server.stats().running, 0);
  const third = await status(listen(), 503);
  equal(third.headers["retry-after"], "1");
  equal(JSON.parse(third.body()).error.data.limit, "maxSubscriptions");
  const held = post(server, undefined, 1);
  await until(() => started.length === 1);
  one.disconnect();
  two.disconnect();
  await until(() => server.stats().subscriptions === 0);
  release.open();
  await status(held, 200);
  deepEqual(leftovers(server), [0, 0, 0, 0]);
});

test("a flood of refusals is warned of once a minute, and each counts", async (t) => {
  const clock: FakeClock = new TestClock();
  const warnings: string[] = [];
  const { server, release, started } = createHolding({
    clock,
    limits: { maxCalls: 1 },
    logger: { warn: (message) => void warnings.push(message) },
  });
  t.after(() => server.close());
  const held = post(server, undefined, 1);
  await until(() => started.length === 1);
  for (let id = 2; id < 100; id++) await status(post(server, undefined, id), 503);
  equal(warnings.length, 1);
  match(warnings[0] ?? "", /maxCalls/);
  clock.advance(60_000);
  await status(post(server, undefined, 100), 503);
  deepEqual([warnings.length, server.stats().refused], [2, 99]);
  release.open();
  await status(held, 200);
});
