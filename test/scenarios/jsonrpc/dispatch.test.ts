import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { type Channel, ConnectionError, connect, withParams } from "bowline/client";
import { McpServer, RpcError } from "bowline/server";
import { createChannelPair, FakeClock } from "bowline/testing";
import * as z from "zod";
import { channelWires, eachWire, legacyWires } from "../../support/each-wire.js";
import { gate } from "../../support/gate.js";
import { RawClient, RawEnd, RawPeer } from "../../support/raw-peer.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };

verifies("protocol:dispatch:concurrent", eachWire, async ({ connect: dial }) => {
  const release = gate();
  const entered = gate();
  const heard = gate();
  const server = new McpServer(me)
    .tool("blocked", {}, async () => {
      entered.open();
      await release.opened;
      return "at last";
    })
    .tool("quick", { input: { type: "object" } }, (args) => JSON.stringify(args))
    .onNotification("vendor/event", {}, () => heard.open());
  const client = await dial(server);
  let done = false;
  const blocked = client.callTool("blocked").finally(() => {
    done = true;
  });
  await entered.opened;
  await client.notify("vendor/event", {});
  const calls = Array.from({ length: 10 }, (_, n) => client.callTool("quick", { n }));
  deepEqual(
    (await Promise.all(calls)).map(({ text }) => text),
    Array.from({ length: 10 }, (_, n) => JSON.stringify({ n })),
  );
  await heard.opened;
  equal(done, false);
  release.open();
  equal((await blocked).text, "at last");
});

verifies(
  "protocol:dispatch:initialize-inline",
  channelWires.filter(({ name }) => name.startsWith("legacy")),
  async (w) => {
    const peer = await RawPeer.open(await w.channel(new McpServer(me).tool("one", {}, () => "1")));
    const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } };
    peer.send({ id: 1, method: "initialize", params });
    peer.send({ method: "notifications/initialized" });
    peer.send({ id: 2, method: "tools/list" });
    ok((await peer.answerTo(2)).result);
    deepEqual(
      peer.messages.map(({ id, error }) => [id, error]),
      [
        [1, undefined],
        [2, undefined],
      ],
    );
  },
);

/** A channel that fails to write what it is told to. */
function failingChannel(inner: Channel, fails: (text: string) => Error | undefined): Channel {
  return {
    open: (events) => inner.open(events),
    close: () => inner.close(),
    send: (text) => {
      const error = fails(text);
      return error === undefined ? inner.send(text) : Promise.reject(error);
    },
  };
}

for (const era of ["modern", "legacy"] as const) {
  proves("protocol:dispatch:write-failure", { wire: `${era}-memory` }, "only that call fails", async (t) => {
    const release = gate();
    const entered = gate();
    const server = new McpServer(me)
      .tool("held", {}, async () => {
        entered.open();
        await release.opened;
        return "held";
      })
      .tool("next", {}, () => "next");
    const [ours, theirs] = createChannelPair();
    await server.accept(theirs);
    t.after(() => server.close());
    const clock = new FakeClock();
    const broken = new Error("EPIPE");
    let failing = false;
    const channel = failingChannel(ours, () => (failing ? broken : undefined));
    const client = await connect({ channel }, { era, clock });
    t.after(() => client.close());
    const held = client.callTool("held");
    await entered.opened;
    const timers = clock.pending;
    failing = true;
    const { signal } = new AbortController();
    await rejects(client.callTool("next", {}, { signal }), (error) => {
      return error instanceof ConnectionError && error.cause === broken && error.delivery === "sent";
    });
    failing = false;
    equal(client.pending, 1);
    equal(clock.pending, timers);
    equal((await client.callTool("next")).text, "next");
    release.open();
    equal((await held).text, "held");
  });

  proves("protocol:dispatch:response-write-failure", { wire: `${era}-memory` }, "is reported", async (t) => {
    const reported: unknown[] = [];
    const broken = new Error("EPIPE");
    const server = new McpServer(me, { onError: (error) => reported.push(error) })
      .tool("lost", {}, () => "lost")
      .tool("next", {}, () => "next");
    const [ours, theirs] = createChannelPair();
    const channel = failingChannel(theirs, (text) =>
      text.includes("lost") && text.includes("result") ? broken : undefined,
    );
    await server.accept(channel);
    t.after(() => server.close());
    const client = await connect({ channel: ours }, { era });
    t.after(() => client.close());
    const lost = client.callTool("lost");
    lost.catch(() => {});
    equal((await client.callTool("next")).text, "next");
    deepEqual(reported, [broken]);
  });
}

verifies("protocol:dispatch:response-write-failure", "after the client has gone", channelWires, async (world) => {
  const reported: unknown[] = [];
  const entered = gate();
  const release = gate();
  const finished = gate();
  const server = new McpServer(me, { onError: (error) => reported.push(error) }).tool("slow", {}, async () => {
    entered.open();
    await release.opened;
    finished.open();
    return "too late";
  });
  const client = await RawClient.open(world, server);
  client.send(1, "tools/call", { name: "slow", arguments: {} });
  await entered.opened;
  await client.peer.close();
  release.open();
  await finished.opened;
  await new Promise((resolve) => setImmediate(resolve));
  for (const error of reported) ok(error instanceof Error);
  equal(server.stats().running, 0);
});

verifies("protocol:dispatch:response-to-origin", eachWire, async ({ connect: dial }) => {
  const releases = new Map<string, () => void>();
  const both = gate();
  const server = new McpServer(me).tool("slow", { input: { type: "object" } }, async (args) => {
    const { who } = args as { who: string };
    await new Promise<void>((resolve) => {
      releases.set(who, resolve);
      if (releases.size === 2) both.open();
    });
    return `for ${who}`;
  });
  const [one, two] = [await dial(server), await dial(server)];
  const calls = [one.callTool("slow", { who: "one" }), two.callTool("slow", { who: "two" })] as const;
  await both.opened;
  releases.get("two")?.();
  equal((await calls[1]).text, "for two");
  releases.get("one")?.();
  equal((await calls[0]).text, "for one");
  for (const [client, who] of [
    [one, "one"],
    [two, "two"],
  ] as const) {
    const texts = client.wire.frames.filter(({ from }) => from === "server").map(({ text }) => text);
    equal(texts.filter((text) => text.includes("for ")).length, 1);
    ok(texts.some((text) => text.includes(`for ${who}`)));
  }
});

verifies(
  ["protocol:handler:re-register-replaces", "protocol:request-handler:override-builtin"],
  eachWire,
  async (world) => {
    const ran: string[] = [];
    const builtin = world.era === "modern" ? "server/discover" : "ping";
    const custom = {
      supportedVersions: ["2026-07-28"],
      capabilities: {},
      ttlMs: 0,
      cacheScope: "private",
      "x-mine": true,
    };
    const server = new McpServer(me)
      .method("vendor/twice", {}, () => void ran.push("first"))
      .method("vendor/twice", {}, () => void ran.push("second"))
      .method(builtin, {}, () => (world.era === "modern" ? custom : { "x-mine": true }))
      .onNotification("vendor/note", {}, () => void ran.push("first note"))
      .onNotification("vendor/note", {}, () => void ran.push("second note"));
    const client = await world.connect(server);
    await client.request("vendor/twice");
    await client.notify("vendor/note");
    const result = await client.request(builtin as string);
    equal(result["x-mine"], true);
    deepEqual(ran, ["second", "second note"]);
  },
);

const sum = z.object({ numbers: z.array(z.number()) });
const total = z.object({ total: z.number() });

verifies(["custom-methods:server-handler:roundtrip", "custom-methods:params-validation-error"], eachWire, async (w) => {
  let entered = 0;
  const server = new McpServer(me)
    .method("vendor/sum", { params: sum }, ({ numbers }) => {
      entered++;
      return { total: numbers.reduce((a, b) => a + b, 0) };
    })
    .method("vendor/wrong", {}, () => ({ total: "many" }));
  for (const strictCapabilities of [false, true]) {
    const client = await w.connect(server, { strictCapabilities });
    const result = await client.request("vendor/sum", { numbers: [1, 2, 3] }, { result: total });
    // Typed by the schema: `total` is a number.
    const value: number = result.total;
    equal(value, 6);
    await rejects(client.request("vendor/wrong", {}, { result: total }), { code: "invalid_result" });
    await rejects(client.request("vendor/none", {}), (error) => error instanceof RpcError && error.rpcCode === -32601);
    entered = 0;
    for (const params of [{ numbers: "1" }, {}, { numbers: [1, "2"] }]) {
      await rejects(client.request("vendor/sum", params), (error) => {
        return error instanceof RpcError && error.rpcCode === -32602 && error.message.includes("/numbers");
      });
    }
    equal(entered, 0);
  }
});

verifies(
  ["custom-methods:client-handler:roundtrip", "custom-methods:params-validation-error"],
  legacyWires,
  async (w) => {
    const server = new McpServer(me).tool("ask", {}, async (_, ctx) => {
      const answer = await ctx.request("vendor/sum", { numbers: [4, 5] }, { result: total });
      const refused = await ctx.request("vendor/sum", { numbers: "x" }).catch((error: unknown) => error);
      const unknown = await ctx.request("vendor/none").catch((error: unknown) => error);
      return { total: answer.total, codes: [refused, unknown].map((error) => (error as RpcError).rpcCode) };
    });
    let entered = 0;
    const client = await w.connect(server, {
      methods: {
        "vendor/sum": withParams(sum, ({ numbers }) => {
          entered++;
          return { total: numbers.reduce((a, b) => a + b, 0) };
        }),
      },
    });
    deepEqual((await client.callTool("ask")).structured, { total: 9, codes: [-32602, -32601] });
    equal(entered, 1);
  },
);

verifies("custom-methods:notification-handler", "from the server", eachWire, async ({ connect: dial }) => {
  const seen: unknown[] = [];
  const problems: unknown[] = [];
  const server = new McpServer(me).tool("talk", {}, async (_, ctx) => {
    await ctx.notify("vendor/count", { n: "7" });
    await ctx.notify("vendor/count", { n: "seven" });
    return "said";
  });
  const client = await dial(server, {
    onError: (error) => problems.push(error),
    notifications: { "vendor/count": withParams(z.object({ n: z.coerce.number() }), ({ n }) => void seen.push(n)) },
  });
  await client.callTool("talk");
  await new Promise((resolve) => setImmediate(resolve));
  deepEqual(seen, [7]);
  equal(problems.length, 1);
});

proves("protocol:dispatch:initialize-inline", { wire: "legacy-stdio" }, "three lines in one chunk", async (t) => {
  const raw = new RawEnd();
  const server = new McpServer(me).tool("one", {}, () => "1");
  await server.accept(raw.near);
  t.after(() => server.close());
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } };
  const lines = [
    { id: 1, method: "initialize", params },
    { method: "notifications/initialized" },
    { id: 2, method: "tools/list" },
  ];
  raw.write(lines.map((line) => `${JSON.stringify({ jsonrpc: "2.0", ...line })}\n`).join(""));
  await raw.until(({ id }) => id === 2);
  deepEqual(
    raw.messages.map(({ id, error, result }) => [id, error, result !== undefined]),
    [
      [1, undefined, true],
      [2, undefined, true],
    ],
  );
});
