import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import type { TestContext } from "node:test";
import { type ClientCacheOptions, type ClientOptions, memoryCache } from "bowline/client";
import { FakeClock } from "bowline/testing";
import type { RecordedClient } from "../../support/each-wire.js";
import { gate } from "../../support/gate.js";
import { answerAll, scripted } from "../../support/http-script.js";
import { type RawHandler, RawServer, rawError } from "../../support/server-script.js";
import { proves } from "../../support/verifies.js";

const modern = { wire: "modern-memory" };
const schema = { type: "object" };
const tools = (ttlMs: unknown, name = "t") => ({
  tools: [{ name, inputSchema: schema }],
  ttlMs,
  cacheScope: "private",
});
const text = (uri: unknown, ttlMs: unknown, said = String(uri)) => ({
  contents: [{ uri, text: said }],
  ttlMs,
  cacheScope: "private",
});

interface Setting {
  readonly clock: FakeClock;
  readonly server: RawServer;
  readonly client: RecordedClient;
  /** How many requests of a method have gone out. */
  sent(method: string): number;
}

async function setting(
  t: TestContext,
  handlers: Record<string, RawHandler>,
  cache?: ClientCacheOptions | false,
  options: ClientOptions & { era?: "modern" | "legacy" } = {},
): Promise<Setting> {
  const { era = "modern", ...rest } = options;
  const clock = new FakeClock();
  const server = new RawServer({ era, handlers });
  const client = await server.connect(t, { clock, ...(cache === undefined ? undefined : { cache }), ...rest });
  return { clock, server, client, sent: (method) => client.wire.requests(method).length };
}

proves("caching:client:fresh-served", modern, "until its time has come", async (t) => {
  const { clock, client, sent } = await setting(t, { "tools/list": () => tools(1000) });
  const first = await client.listTools();
  clock.advance(999);
  deepEqual(await client.listTools(), first);
  equal(sent("tools/list"), 1);
  deepEqual(client.cacheStats, { hits: 1, misses: 1, stored: 1, invalidated: 0 });
});

proves("caching:client:stale-refetched", modern, "counted from when it was received", async (t) => {
  const { clock, client, sent } = await setting(t, {
    "tools/list": () => {
      clock.advance(700);
      return tools(1000);
    },
  });
  await client.listTools();
  clock.advance(999);
  await client.listTools();
  equal(sent("tools/list"), 1);
  clock.advance(1);
  await client.listTools();
  equal(sent("tools/list"), 2);
});

proves("caching:client:ttl-zero", modern, "zero beats the client's default", async (t) => {
  const { client, sent } = await setting(t, { "tools/list": () => tools(0) }, { defaultTtlMs: 60_000 });
  for (let n = 0; n < 3; n++) await client.listTools();
  equal(sent("tools/list"), 3);
});

for (const era of ["modern", "legacy"] as const) {
  proves(
    "caching:client:ttl-absent",
    { wire: `${era}-memory` },
    "only a default of the client's keeps it",
    async (t) => {
      const handlers = { "tools/list": () => ({ tools: [] }) };
      const plain = await setting(t, handlers, undefined, { era });
      for (let n = 0; n < 2; n++) await plain.client.listTools();
      equal(plain.sent("tools/list"), 2);
      const keeping = await setting(t, handlers, { defaultTtlMs: 100, sharePublic: true }, { era });
      for (let n = 0; n < 2; n++) await keeping.client.listTools();
      equal(keeping.sent("tools/list"), 1);
      keeping.clock.advance(100);
      await keeping.client.listTools();
      equal(keeping.sent("tools/list"), 2);
    },
  );

  proves("caching:client:mode", { wire: `${era}-memory` }, "use, refresh, bypass, off", async (t) => {
    let listed = 0;
    const handlers = { "tools/list": () => tools(undefined, `t${++listed}`) };
    const { client, sent } = await setting(t, handlers, { defaultTtlMs: 1000 }, { era });
    const name = async (cache?: "use" | "refresh" | "bypass") =>
      (await client.listTools(undefined, { cache })).tools[0]?.name;
    equal(await name(), "t1");
    equal(await name("use"), "t1");
    equal(await name("bypass"), "t2");
    equal(await name(), "t1");
    equal(await name("refresh"), "t3");
    equal(await name(), "t3");
    equal(sent("tools/list"), 3);
    const off = await setting(t, handlers, false, { era });
    for (let n = 0; n < 2; n++) await off.client.listTools();
    equal(off.sent("tools/list"), 2);
    equal(off.client.cacheStats, undefined);
  });

  proves(
    "caching:client:abort-honoured",
    { wire: `${era}-memory` },
    "a cached answer does not undo an abort",
    async (t) => {
      const { client } = await setting(t, { "tools/list": () => tools(undefined) }, { defaultTtlMs: 1000 }, { era });
      await client.listTools();
      const signal = AbortSignal.abort("no more");
      await rejects(client.listTools(undefined, { signal }), (reason) => reason === "no more");
    },
  );

  proves(
    "caching:client:invalidate-list-changed",
    { wire: `${era}-memory` },
    "before the handler runs, and no other kind",
    async (t) => {
      const methods = ["tools/list", "prompts/list", "resources/list", "resources/templates/list"];
      const members = ["tools", "prompts", "resources", "resourceTemplates"];
      const handlers = Object.fromEntries(methods.map((method, n) => [method, () => ({ [members[n] as string]: [] })]));
      let handled = gate();
      const setup = await setting(
        t,
        handlers,
        { defaultTtlMs: 1000 },
        {
          era,
          onNotification: async () => {
            for (const method of methods) await setup.client.request(method);
            handled.open();
          },
        },
      );
      const { client, server, sent } = setup;
      for (const method of methods) await client.request(method);
      const counts = () => methods.map(sent);
      const after = async (kind: string) => {
        handled = gate();
        server.notify(`notifications/${kind}/list_changed`);
        await handled.opened;
        return counts();
      };
      deepEqual(counts(), [1, 1, 1, 1]);
      deepEqual(await after("tools"), [2, 1, 1, 1]);
      deepEqual(await after("prompts"), [2, 2, 1, 1]);
      deepEqual(await after("resources"), [2, 2, 2, 2]);
    },
  );

  proves("caching:client:invalidate-resource-updated", { wire: `${era}-memory` }, "of exactly that URI", async (t) => {
    const handlers = { "resources/read": (params: { readonly [key: string]: unknown }) => text(params.uri, undefined) };
    const heard = gate();
    const { client, server, sent } = await setting(
      t,
      handlers,
      { defaultTtlMs: 1000 },
      { era, onNotification: () => heard.open() },
    );
    for (const uri of ["r://1", "r://2"]) await client.readResource(uri);
    server.notify("notifications/resources/updated", { uri: "r://1" });
    await heard.opened;
    await client.readResource("r://2");
    equal(sent("resources/read"), 2);
    await client.readResource("r://1");
    equal(sent("resources/read"), 3);
  });
}

proves("caching:client:ttl-negative", modern, "a hint that makes no sense is none", async (t) => {
  const hints: unknown[] = [-5, "60", null, {}];
  const { client, sent } = await setting(t, { "tools/list": () => tools(hints[0]) }, { defaultTtlMs: 1000 });
  let calls = 0;
  for (; hints.length > 0; hints.shift()) {
    for (let n = 0; n < 2; n++) equal((await client.listTools()).tools.length, 1);
    calls += 2;
    equal(sent("tools/list"), calls, String(hints[0]));
  }
});

proves("caching:client:ttl-cap", modern, "a day at most, or what the client says", async (t) => {
  const year = 365 * 86_400_000;
  for (const [cache, cap] of [
    [{}, 86_400_000],
    [{ maxTtlMs: 5000 }, 5000],
  ] as const) {
    const { clock, client, sent } = await setting(t, { "tools/list": () => tools(year) }, cache);
    await client.listTools();
    clock.advance(cap - 1);
    await client.listTools();
    equal(sent("tools/list"), 1);
    clock.advance(1);
    await client.listTools();
    equal(sent("tools/list"), 2);
  }
});

proves("caching:client:key", modern, "other addresses and cursors are other results", async (t) => {
  const { client, sent } = await setting(t, {
    "resources/read": ({ uri }) => text(uri, 1000),
    "tools/list": ({ cursor }) => tools(1000, `tool-${JSON.stringify(cursor)}`),
  });
  const uris = ["r://a", "r://a,b", 'r://a","b', "r://A", "r://a "];
  for (const uri of uris) deepEqual((await client.readResource(uri)).contents, [{ uri, text: uri }]);
  for (const uri of uris) deepEqual((await client.readResource(uri)).contents, [{ uri, text: uri }]);
  equal(sent("resources/read"), uris.length);
  const cursors = [undefined, "", '""', "a", "undefined"];
  const names = async () => Promise.all(cursors.map(async (cursor) => (await client.listTools(cursor)).tools[0]?.name));
  const expected = cursors.map((cursor) => `tool-${JSON.stringify(cursor)}`);
  deepEqual(await names(), expected);
  deepEqual(await names(), expected);
  equal(sent("tools/list"), cursors.length);
});

proves("caching:client:mrtr-not-cached", modern, "what took questions is not kept", async (t) => {
  const ask = { resultType: "input_required", inputRequests: { q: { method: "roots/list" } }, requestState: "s" };
  const { client, sent } = await setting(
    t,
    {
      "resources/read": ({ uri, inputResponses }) =>
        inputResponses === undefined ? { ...ask, ttlMs: 60_000 } : text(uri, 60_000),
    },
    undefined,
    { roots: [] },
  );
  for (let n = 1; n <= 2; n++) {
    await client.readResource("r://1");
    equal(sent("resources/read"), 2 * n);
  }
});

proves("caching:client:errors-not-cached", modern, "a failure is asked for again", async (t) => {
  let found = false;
  const { client, sent } = await setting(t, {
    "resources/read": ({ uri }) => (found ? text(uri, 1000) : rawError(-32602, "Resource not found", { uri })),
  });
  await rejects(client.readResource("r://1"), { rpcCode: -32602 });
  found = true;
  await client.readResource("r://1");
  equal(sent("resources/read"), 2);
});

proves("caching:client:inflight-race", modern, "what changed on the way is not kept", async (t) => {
  const asked = gate();
  const release = gate();
  const heard = gate();
  const { client, server, sent } = await setting(
    t,
    {
      "tools/list": async () => {
        asked.open();
        await release.opened;
        return tools(1000);
      },
    },
    undefined,
    { onNotification: () => heard.open() },
  );
  const call = client.listTools();
  await asked.opened;
  server.notify("notifications/tools/list_changed");
  await heard.opened;
  release.open();
  equal((await call).tools.length, 1);
  await client.listTools();
  equal(sent("tools/list"), 2);
  await client.listTools();
  equal(sent("tools/list"), 2);
});

proves("caching:client:no-polling", modern, "time alone does nothing", async (t) => {
  const { clock, client } = await setting(t, { "tools/list": () => tools(1000) });
  await client.listTools();
  const frames = client.wire.frames.length;
  equal(clock.pending, 0);
  clock.advance(10 * 3_600_000);
  equal(client.wire.frames.length, frames);
});

proves("caching:client:stale-on-error", modern, "only where it is wanted, and marked", async (t) => {
  let fails = false;
  const handlers = { "tools/list": () => (fails ? rawError(-32603, "down") : tools(1000)) };
  for (const staleOnError of [false, true]) {
    fails = false;
    const { clock, client } = await setting(t, handlers, { staleOnError });
    const first = await client.listTools();
    clock.advance(1000);
    fails = true;
    if (!staleOnError) await rejects(client.listTools(), { message: "down" });
    else {
      const stale = await client.listTools();
      deepEqual(stale.tools, first.tools);
      equal((stale._meta as Record<string, unknown>)["bowline/stale"], true);
    }
  }
});

/** Three pages, of which the second goes stale first. */
function pages(bad: () => boolean = () => false): Record<string, RawHandler> {
  return {
    "tools/list": ({ cursor }) => {
      if (cursor !== undefined && bad()) return rawError(-32602, "Invalid cursor");
      if (cursor === undefined) return { ...tools(60_000, "a"), nextCursor: "2" };
      if (cursor === "2") return { ...tools(5000, "b"), nextCursor: "3" };
      return tools(60_000, "c");
    },
  };
}

proves("caching:client:pages-independent", modern, "each page has its own time", async (t) => {
  const { clock, client, sent } = await setting(t, pages());
  await client.tools().all();
  clock.advance(10_000);
  deepEqual(
    (await client.tools().all()).map(({ name }) => name),
    ["a", "b", "c"],
  );
  equal(sent("tools/list"), 4);
  equal(client.wire.requests("tools/list").at(-1)?.params?.cursor, "2");
});

proves("caching:client:invalid-cursor-drops-pages", modern, "the walk begins again, once", async (t) => {
  let generation = 0;
  const { clock, client, sent } = await setting(t, {
    "tools/list": ({ cursor }) => {
      if (cursor === undefined) return { ...tools(60_000, `a${generation}`), nextCursor: `g${generation}` };
      return cursor === `g${generation}` ? tools(5000, `b${generation}`) : rawError(-32602, "Invalid cursor");
    },
  });
  await client.tools().all();
  generation = 1;
  clock.advance(10_000);
  deepEqual(
    (await client.tools().all()).map(({ name }) => name),
    ["a1", "b1"],
  );
  equal(sent("tools/list"), 5);
  const hopeless = await setting(
    t,
    pages(() => true),
  );
  await rejects(hopeless.client.tools().all(), { rpcCode: -32602, message: "Invalid cursor" });
  equal(hopeless.sent("tools/list"), 4);
});

proves("caching:client:snapshot-refetch", modern, "all pages anew", async (t) => {
  const { client, sent } = await setting(t, pages());
  await client.tools().all();
  await client.tools({ cache: "refresh" }).all();
  equal(sent("tools/list"), 6);
  await client.tools().all();
  equal(sent("tools/list"), 6);
});

proves("caching:client:refetch-early", modern, "a refused call is evidence", async (t) => {
  const codes = [-32602, -32020];
  const { client, sent } = await setting(t, {
    "tools/list": () => tools(1000),
    "tools/call": () => rawError(codes[0] as number, "Unknown tool"),
  });
  for (let n = 1; codes.length > 0; codes.shift(), n++) {
    await client.listTools();
    equal(sent("tools/list"), n);
    await rejects(client.callTool("t"), { rpcCode: codes[0] as number });
  }
  await client.listTools();
  equal(sent("tools/list"), 3);
});

proves("caching:client:isolation", modern, "nobody's copy is anybody else's", async (t) => {
  const { client } = await setting(t, { "tools/list": () => tools(1000) });
  for (let n = 0; n < 3; n++) {
    const { tools: listed } = await client.listTools();
    deepEqual(
      listed.map(({ name }) => name),
      ["t"],
    );
    listed.push({ name: "mine", inputSchema: { type: "object" } });
    Object.assign(listed[0] ?? {}, { name: "changed" });
  }
});

proves("caching:client:bounded", modern, "a flood of resources costs no list", async (t) => {
  const { client, sent } = await setting(
    t,
    { "tools/list": () => tools(1e6), "resources/read": ({ uri }) => text(uri, 1e6) },
    {},
    { limits: { maxCacheEntries: 100 } },
  );
  await client.listTools();
  for (let n = 0; n < 1000; n++) {
    await client.readResource(`r://${n}`);
    if (n % 50 === 0) await client.readResource("r://0");
  }
  equal(sent("resources/read"), 1000);
  await client.listTools();
  equal(sent("tools/list"), 1);
  await client.readResource("r://999");
  await client.readResource("r://0");
  equal(sent("resources/read"), 1000);
  await client.readResource("r://500");
  equal(sent("resources/read"), 1001);
});

proves("caching:client:legacy-ignores-hints", { wire: "legacy-memory" }, "they mean nothing there", async (t) => {
  const { client, sent } = await setting(t, { "tools/list": () => tools(60_000) }, undefined, { era: "legacy" });
  for (let n = 0; n < 2; n++) await client.listTools();
  equal(sent("tools/list"), 2);
  ok(client.version?.startsWith("2025"));
});

/** A server at one address, whose listing is this text; `dial` makes clients that keep their results in one store. */
async function listedAs(t: TestContext, listing: string) {
  const { script, connectTo } = await scripted(
    t,
    answerAll((received) =>
      received.json(`{"jsonrpc":"2.0","id":${JSON.stringify(received.message.id)},"result":${listing}}`),
    ),
  );
  const store = memoryCache();
  const dial = (partition: string) =>
    connectTo({ era: "modern", cache: { store, partition, sharePublic: true, defaultTtlMs: 60_000 } });
  return { dial, sent: () => script.all("tools/list").length };
}

proves(
  "caching:client:ttl-absent",
  { wire: "modern-http" },
  "what is not said to be public is not shared",
  async (t) => {
    for (const [scope, shared] of [
      ["", false],
      [',"cacheScope":"PUBLIC"', false],
      [',"cacheScope":"public"', true],
    ] as const) {
      const { dial, sent } = await listedAs(t, `{"resultType":"complete","tools":[]${scope}}`);
      await (await dial("ada")).listTools();
      await (await dial("ada")).listTools();
      equal(sent(), 1, scope);
      await (await dial("bob")).listTools();
      equal(sent(), shared ? 1 : 2, scope);
    }
  },
);

proves("caching:client:ttl-negative", { wire: "modern-http" }, "nor is a time without end", async (t) => {
  for (const ttl of ["1e400", "-1e400", "-5"]) {
    const { dial, sent } = await listedAs(
      t,
      `{"resultType":"complete","tools":[],"cacheScope":"private","ttlMs":${ttl}}`,
    );
    const client = await dial("ada");
    for (let n = 1; n <= 2; n++) {
      await client.listTools();
      equal(sent(), n, ttl);
    }
  }
});
