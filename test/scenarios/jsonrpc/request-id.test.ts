import { deepEqual, equal, match, notEqual, ok, rejects } from "node:assert/strict";
import { McpServer, RpcError } from "bowline/server";
import { FakeClock } from "bowline/testing";
import { channelWires, eachWire, httpWires, legacyWires } from "../../support/each-wire.js";
import { aborted, gate } from "../../support/gate.js";
import { legacy, onEachHost, openSession } from "../../support/plain-http.js";
import { enveloped, initialize, type Message, rawClient } from "../../support/raw-client.js";
import { RawClient, scriptedServers, tokenOf, toolText } from "../../support/raw-peer.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };

/** Tells its own id, or waits until it is let go. */
function createServer() {
  const state = { entered: gate(), release: gate() };
  const server = new McpServer(me)
    .tool("id", {}, (_, ctx) => JSON.stringify(ctx.requestId))
    .tool("refuse", {}, () => {
      throw new RpcError(4001, "no");
    })
    .tool("wait", {}, async (_, ctx) => {
      state.entered.open();
      await Promise.race([state.release.opened, aborted(ctx.signal)]);
      return "waited";
    });
  return { server, state };
}

verifies("protocol:request-id:unique", eachWire, async ({ connect }) => {
  const { server } = createServer();
  const clock = new FakeClock();
  const client = await connect(server, { clock });
  for (let round = 0; round < 50; round++) {
    const calls = ["id", "refuse", "wait", "id", "none", "id"].map((name) => {
      return client.callTool(name, {}, name === "wait" ? { timeoutMs: 10 } : {});
    });
    const settled = Promise.allSettled(calls);
    await client.wire.until((wire) => wire.requests("tools/call").length === (round + 1) * calls.length);
    clock.advance(10);
    await settled;
  }
  const ids = client.wire.requests().map(({ id }) => id);
  ok(ids.length > 300);
  for (const id of ids) ok(typeof id === "string" || Number.isInteger(id));
  equal(new Set(ids.map(String)).size, ids.length);
});

verifies("protocol:request-id:unique", "of what a server asks", legacyWires, async ({ connect }) => {
  const server = new McpServer(me).tool("ask", {}, async (_, ctx) => {
    await Promise.all([ctx.listRoots(), ctx.listRoots()]);
    await ctx.listRoots();
  });
  const client = await connect(server, { roots: [] });
  await Promise.all([client.callTool("ask"), client.callTool("ask")]);
  const ids = client.wire.serverRequests("roots/list").map(({ id }) => id);
  equal(ids.length, 6);
  for (const id of ids) ok(typeof id === "string" || Number.isInteger(id));
  equal(new Set(ids).size, 6);
});

verifies(
  ["protocol:request-id:caller-supplied", "protocol:request-id:caller-supplied-collision"],
  eachWire,
  async (w) => {
    for (const id of ["7", 7, 0, ""]) {
      const { server } = createServer();
      const client = await w.connect(server);
      equal((await client.callTool("id", {}, { id })).text, JSON.stringify(id));
      deepEqual(
        client.wire.requests("tools/call").map((request) => request.id),
        [id],
      );
      // The id is free again once its call has succeeded.
      equal((await client.callTool("id", {}, { id })).text, JSON.stringify(id));
      await client.close();
    }
  },
);

verifies(
  ["protocol:request-id:caller-supplied-collision", "protocol:request-id:in-flight-unique"],
  "while the first is in flight",
  eachWire,
  async ({ connect }) => {
    const { server, state } = createServer();
    const client = await connect(server);
    for (const [id, twin] of [
      [7, "7"],
      ["7", 7],
      [7, 7],
      ["seven", "seven"],
    ] as const) {
      state.entered = gate();
      state.release = gate();
      const first = client.callTool("wait", {}, { id });
      await state.entered.opened;
      const before = client.wire.frames.length;
      await rejects(client.callTool("id", {}, { id: twin }), { code: "duplicate_request_id" });
      equal(client.wire.frames.length, before);
      equal(client.pending, 1);
      state.release.open();
      equal((await first).text, "waited");
    }
  },
);

verifies("protocol:request-id:caller-supplied-collision", "reuse after every end", eachWire, async ({ connect }) => {
  const { server, state } = createServer();
  const clock = new FakeClock();
  const client = await connect(server, { clock });
  const again = async () => equal((await client.callTool("id", {}, { id: 7 })).text, "7");
  await rejects(client.callTool("refuse", {}, { id: 7 }), { rpcCode: 4001 });
  await again();
  const late = client.callTool("wait", {}, { id: 7, timeoutMs: 10 });
  await state.entered.opened;
  clock.advance(10);
  await rejects(late, { code: "timeout" });
  await again();
  state.entered = gate();
  const abort = new AbortController();
  const given = client.callTool("wait", {}, { id: "7", signal: abort.signal });
  await state.entered.opened;
  abort.abort("enough");
  await rejects(given, /^enough$/);
  await again();
});

verifies("protocol:request-id:minted-skips-supplied", eachWire, async ({ connect }) => {
  for (const spell of [Number, String]) {
    const { server, state } = createServer();
    const client = await connect(server);
    await client.callTool("id");
    const last = client.wire.requests("tools/call")[0]?.id as number;
    const occupied = spell(last + 1);
    const held = client.callTool("wait", {}, { id: occupied });
    await state.entered.opened;
    const minted = JSON.parse((await client.callTool("id")).text) as number;
    notEqual(String(minted), String(occupied));
    state.release.open();
    equal((await held).text, "waited");
    await client.close();
  }
});

verifies("protocol:request-id:invalid-type-refused", eachWire, async ({ connect }) => {
  const { server } = createServer();
  const client = await connect(server);
  const before = client.wire.frames.length;
  for (const id of [null, 1.5, Number.NaN, Number.POSITIVE_INFINITY, true, {}]) {
    await rejects(client.callTool("id", {}, { id: id as never }), { code: "invalid_request_id" });
  }
  equal(client.wire.frames.length, before);
  equal(client.pending, 0);
});

verifies("protocol:request-id:coerced-response", scriptedServers, async ({ peer, connect }) => {
  const problems: unknown[] = [];
  const client = await connect({ onError: (error) => problems.push(error) });
  for (const [id, spelt] of [
    [7, "7"],
    ["8", 8],
  ] as const) {
    const good = client.callTool("a", {}, { id });
    await peer.asked("tools/call");
    peer.send({ id: spelt, result: toolText(`for ${id}`) });
    equal((await good).text, `for ${id}`);
    const bad = client.callTool("b", {}, { id });
    await peer.asked("tools/call");
    peer.send({ id: spelt, error: { code: 4000 + Number(id), message: "refused" } });
    await rejects(bad, { rpcCode: 4000 + Number(id) });
  }
  deepEqual(problems, []);
});

const NO_TWINS_OF_7 = ["", " 7", "07", "7.0", "7e0", "0x7", "true"];

verifies("protocol:request-id:coercion-canonical", scriptedServers, async ({ peer, connect }) => {
  const client = await connect({ onError: () => {} });
  const heard: number[] = [];
  for (const [id, strangers] of [
    [7, NO_TWINS_OF_7],
    [0, ["-0", "", "00"]],
    [1000, ["1e3"]],
    [16, ["0x10"]],
    [9007199254740991, ["9007199254740992", "9007199254740993"]],
  ] as const) {
    const call = client.callTool("a", {}, { id, onProgress: ({ progress }) => heard.push(progress) });
    await peer.asked("tools/call");
    for (const stranger of strangers) {
      peer.send({ method: "notifications/progress", params: { progressToken: stranger, progress: 1 } });
      peer.send({ id: stranger, result: toolText("wrong") });
    }
    peer.send({ id, result: toolText("right") });
    equal((await call).text, "right");
  }
  deepEqual(heard, []);
  for (const id of [7, -7]) {
    const call = client.callTool("a", {}, { id });
    await peer.asked("tools/call");
    peer.send({ id: String(id), result: toolText("twin") });
    equal((await call).text, "twin");
  }
});

verifies("protocol:request-id:coercion-canonical", "of cancellations", channelWires, async (world) => {
  const { server, state } = createServer();
  const client = await RawClient.open(world, server);
  const answered = client.request(7, "tools/call", { name: "wait", arguments: {} });
  await state.entered.opened;
  for (const requestId of NO_TWINS_OF_7) client.notify("notifications/cancelled", { requestId });
  await client.barrier();
  state.release.open();
  ok((await answered).result);
});

verifies("protocol:request-id:coerced-progress", scriptedServers, async ({ peer, connect }) => {
  const client = await connect();
  const heard: number[] = [];
  const call = client.callTool("a", {}, { id: 7, onProgress: ({ progress }) => heard.push(progress) });
  const request = await peer.asked("tools/call");
  equal(tokenOf(request), 7);
  peer.send({ method: "notifications/progress", params: { progressToken: "7", progress: 3 } });
  peer.send({ id: 7, result: toolText("done") });
  await call;
  deepEqual(heard, [3]);
});

verifies("protocol:request-id:echo-verbatim", "in the response to a POST", httpWires, async (world, t) => {
  const { server } = createServer();
  const client = await rawClient(world, server, t);
  const isModern = world.era === "modern";
  if (!isModern) {
    await client.ask(initialize("open"));
    client.send({ method: "notifications/initialized" });
  }
  const message = (id: string | number, method: string, params: Message = {}) =>
    isModern ? enveloped(id, method, params) : { id, method, params };
  for (const id of [0, -1, 9007199254740991, "", "0", "a b", "ü💡\u2028".repeat(200)]) {
    for (const [request, code] of [
      [message(id, "tools/call", { name: "id", arguments: {} }), undefined],
      [message(id, "tools/call", { name: "refuse", arguments: {} }), 4001],
      [message(id, "no/such"), -32601],
    ] as const) {
      client.heard.length = 0;
      client.send(request);
      await client.until((heard) => heard.length > 0);
      deepEqual([client.heard[0]?.id, client.heard[0]?.error?.code], [id, code]);
    }
  }
});

verifies("protocol:request-id:echo-verbatim", channelWires, async (world) => {
  const { server } = createServer();
  const client = await RawClient.open(world, server);
  const ids = [0, -1, 9007199254740991, "", "0", "a b", "ü💡\u2028".repeat(200)];
  for (const id of ids) {
    ok((await client.request(id, "tools/call", { name: "id", arguments: {} })).result);
    equal((await client.request(id, "tools/call", { name: "refuse", arguments: {} })).error?.code, 4001);
    equal((await client.request(id, "no/such")).error?.code, -32601);
  }
});

const LARGE = ["9007199254740993", "-9007199254740993", "18446744073709551615"];
const TOO_LARGE = /id must be a string or an integer within ±9007199254740991/;

verifies("protocol:request-id:inbound-large", channelWires, async (world) => {
  let ran = 0;
  const server = new McpServer(me).method("vendor/run", {}, () => void ran++);
  const client = await RawClient.open(world, server);
  for (const id of LARGE) {
    client.peer.send(`{"jsonrpc":"2.0","method":"vendor/run","params":{"id":9007199254740995},"id" : ${id}}`);
    await client.peer.answerTo(Number(id));
    const answer = client.peer.texts.at(-1) ?? "";
    match(answer, new RegExp(`"id":${id},"error"`));
    match(answer, TOO_LARGE);
  }
  equal(ran, 0);
  ok((await client.request(9007199254740991, "vendor/run")).result);
});

proves("protocol:request-id:inbound-large", { wire: "http" }, "a POST is refused with 400", async (t) => {
  await onEachHost(
    t,
    () => createServer().server,
    async (ask) => {
      const headers = await openSession(ask);
      const modern = { "mcp-protocol-version": "2026-07-28", "mcp-method": "tools/list" };
      const meta = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`;
      for (const id of LARGE) {
        for (const [sent, params] of [
          [headers, "{}"],
          [modern, `{"_meta":${meta}}`],
        ] as const) {
          const body = `{"jsonrpc":"2.0","id":${id},"method":"tools/list","params":${params}}`;
          const refused = await ask(legacy(body, { headers: sent }));
          equal(refused.status, 400);
          match(refused.text, TOO_LARGE);
        }
      }
    },
  );
});

verifies("protocol:request-id:inbound-invalid", channelWires, async (world) => {
  const reported: unknown[] = [];
  let ran = 0;
  const server = new McpServer(me, { onError: (error) => reported.push(error) })
    .method("vendor/run", {}, () => {
      ran++;
    })
    .onNotification("vendor/run", {}, () => {
      ran++;
    });
  const client = await RawClient.open(world, server);
  const ids = [null, 1.5, true, {}, [1]];
  for (const id of ids) client.send(id, "vendor/run");
  await client.barrier();
  equal(ran, 0);
  ok(client.peer.messages.every(({ id, error }) => error === undefined || String(id).startsWith("barrier")));
  equal(reported.length, ids.length);
  ok((await client.request(1, "vendor/run")).result);
  equal(ran, 1);
});

verifies("protocol:request-id:inbound-invalid", "from a server", scriptedServers, async ({ peer, connect }) => {
  const problems: unknown[] = [];
  let ran = 0;
  const client = await connect({
    onError: (problem) => problems.push(problem),
    onNotification: () => {
      ran++;
    },
    methods: {
      "vendor/run": () => {
        ran++;
        return {};
      },
    },
  });
  for (const id of [null, 1.5, true, {}]) peer.send({ id, method: "vendor/run" });
  const call = client.callTool("next");
  const { id } = await peer.asked("tools/call");
  peer.send({ id, result: toolText("fine") });
  equal((await call).text, "fine");
  equal(ran, 0);
  equal(problems.length, 4);
});

verifies("protocol:request-id:inbound-duplicate", channelWires, async (world) => {
  const doors = [gate(), gate()];
  const entered = [gate(), gate()];
  const signals: AbortSignal[] = [];
  const server = new McpServer(me).tool("wait", {}, async (_, ctx) => {
    const n = signals.push(ctx.signal) - 1;
    entered[n]?.open();
    await Promise.race([doors[n]?.opened, aborted(ctx.signal)]);
    return `answer ${n}`;
  });
  const client = await RawClient.open(world, server);
  const first = client.request("same", "tools/call", { name: "wait", arguments: {} });
  await entered[0]?.opened;
  client.send("same", "tools/call", { name: "wait", arguments: {} });
  await entered[1]?.opened;
  doors[0]?.open();
  ok((await first).result);
  client.notify("notifications/cancelled", { requestId: "same", reason: "the newer one" });
  await client.barrier();
  deepEqual(
    signals.map(({ aborted: fired }) => fired),
    [false, true],
  );
});
