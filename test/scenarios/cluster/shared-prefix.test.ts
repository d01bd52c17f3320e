import { deepEqual, equal, match, throws } from "node:assert/strict";
import type { TestContext } from "node:test";
import { type IssuerStore, memoryIssuerStore } from "bowline/auth/issuer";
import { connect } from "bowline/client";
import { authStore, issuerStore } from "bowline/cluster";
import { McpServer, type ServerOptions, type ServerSettings } from "bowline/server";
import { defineState } from "bowline/state";
import { tasks } from "bowline/tasks/server";
import { createMemoryState } from "bowline/testing";
import { eachEra } from "../../support/auth-world.js";
import { gate } from "../../support/gate.js";
import { CLIENT, createPkce, IssuerWorld } from "../../support/issuer-world.js";
import { answer, LegacyClient, LegacyEndpoint, status, textOf } from "../../support/legacy-endpoint.js";
import { modernRequest } from "../../support/modern-request.js";
import { initialize } from "../../support/plain-http.js";
import { TaskNodes } from "../../support/task-nodes.js";
import { proves, verifies } from "../../support/verifies.js";

const stateKeys = [{ id: "k", secret: new Uint8Array(32) }];

verifies("cluster:apart:users", "a user never gets the tokens of another", eachEra, async (world) => {
  const state = createMemoryState();
  const storeOf = (user: string) => authStore(state.node(), { user });
  equal((await world.call(world.oauth({ store: storeOf("ann") }))).status, 200);
  world.arrivals.length = 0;
  const authorize = () => Promise.reject(new Error("bob was asked"));
  const asked = await world.call(world.oauth({ store: storeOf("bob"), authorize })).catch((error: unknown) => error);
  match(String((asked as Error).message), /bob was asked/);
  const credentials = world.to(world.posts).map(({ headers }) => headers.get("authorization"));
  deepEqual(credentials, [null]);
  world.arrivals.length = 0;
  equal((await world.call(world.oauth({ store: storeOf("ann"), authorize }))).status, 200, "ann has her tokens still");
  equal(world.arrivals.length, 1);
});

proves("cluster:apart:users", {}, "no name of a user reaches the values or locks of another user", async () => {
  const cluster = createMemoryState().node();
  const names = ["a", "a/b", "a%2Fb", "a ", "A", "ä", "a\u0308", "a:b", "..", "a\u0000"];
  const stores = names.map((user) => authStore(cluster, { user }));
  for (const [at, store] of stores.entries()) {
    for (const key of ["x", "b/x", "/x"]) await store.set(key, names[at]);
  }
  for (const [at, store] of stores.entries()) {
    for (const key of ["x", "b/x", "/x"]) equal(await store.get(key), names[at]);
  }
  const { signal } = new AbortController();
  const lockAll = stores.reduceRight(
    (inner, store) => () => store.lock("x", inner, signal),
    async () => "all at once",
  );
  equal(await lockAll(), "all at once");
});

proves("cluster:apart:users", {}, "a store of tokens needs the name of its user", () => {
  const cluster = createMemoryState().node();
  for (const options of [undefined, {}, { user: "" }, { user: 7 }, { user: "\ud800" }])
    throws(() => authStore(cluster, options as never), { name: "DefinitionError", message: /^authStore: .*user/ });
  throws(() => authStore(cluster, { user: "ann", keepMS: 1 } as never), { message: /did you mean keepMs\?/ });
});

for (const [name, createStore] of [
  ["a cluster", () => issuerStore(createMemoryState().node())],
  ["a memory store", () => memoryIssuerStore()],
] as const) {
  proves(
    "cluster:apart:issuers",
    {},
    `two issuers in ${name} share neither clients nor codes nor tokens`,
    async (t) => {
      await issuersApart(t, createStore());
    },
  );
}

async function issuersApart(t: TestContext, store: IssuerStore): Promise<void> {
  const one = await IssuerWorld.open(t, { store });
  const other = await IssuerWorld.open(t, { store, issuer: "https://as.example/other" });
  const { id } = await one.register();
  equal((await one.browser().authorize({ client_id: id, code_challenge: createPkce().challenge })).status, 200);
  const refused = await other.browser().authorize({ client_id: id, code_challenge: createPkce().challenge });
  equal(refused.status, 400);
  const code = await one.code();
  equal((await other.redeem(code)).json.error, "invalid_grant");
  const { json } = await one.redeem(code);
  const refresh = { grant_type: "refresh_token", client_id: CLIENT, refresh_token: String(json.refresh_token) };
  equal((await other.token(refresh)).json.error, "invalid_grant");
  equal((await one.token(refresh)).status, 200, "the use at the other issuer has not ended the grant");
}

const gated = (options: ServerSettings): ServerOptions => ({
  ...options,
  stateKeys,
  http: { gate: (async () => ({ principal: "ann" })) as never },
});

async function connectTo(t: TestContext, server: McpServer) {
  const client = await connect("http://localhost/mcp", {
    fetch: (url, init) => server.fetch(new Request(url, init)),
  });
  t.after(async () => {
    await client.close();
    await server.close();
  });
  return client;
}

proves(
  ["state:caller:own", "cluster:apart:servers"],
  {},
  "two servers in one cluster share no value of ctx.state",
  async (t) => {
    const state = createMemoryState();
    const counter = defineState<number>("count");
    const open = (name: string, options: ServerSettings = {}) =>
      connectTo(
        t,
        new McpServer({ name, version: "1" }, gated({ ...options, cluster: state.node() })).tool(
          "count",
          {},
          async (_, ctx) => String(await ctx.state(counter).update((count = 0) => count + 1)),
        ) as never,
      );
    const count = async (client: Awaited<ReturnType<typeof open>>) => (await client.callTool("count")).text;
    const [shop, again, bank] = [await open("shop"), await open("shop"), await open("bank")];
    const audience = await open("shop", { stateAudience: "shop of another town" });
    equal(await count(shop), "1");
    equal(await count(bank), "1");
    equal(await count(audience), "1");
    equal(await count(again), "2", "processes of one server share it");
  },
);

proves("cluster:apart:servers", {}, "two servers in one cluster have a rate of their own", async (t) => {
  const state = createMemoryState();
  const open = (name: string, burst: number) =>
    connectTo(
      t,
      new McpServer(
        { name, version: "1" },
        gated({ cluster: state.node(), rateLimit: { burst, refillMs: 3_600_000 } }),
      ).tool("a", {}, () => "a") as never,
    );
  // A connection takes a token, too.
  const [shop, bank] = [await open("shop", 2), await open("bank", 2)];
  equal((await shop.callTool("a")).text, "a");
  await shop.callTool("a").then(
    () => equal("accepted", "refused"),
    (error: unknown) => match(String(error), /Too many calls/),
  );
  equal((await bank.callTool("a")).text, "a");
});

proves(
  "cluster:apart:servers",
  {},
  "a task of one server does not exist at another server of the cluster, which does not run it",
  async (t) => {
    const world = new TaskNodes(t);
    const free = gate();
    const define = (text: string, wait?: Promise<unknown>) => (server: McpServer) =>
      void server.tool("work", { task: "optional" }, async () => {
        await wait;
        return text;
      });
    const bank = world.node(define("bank"), { server: { stateAudience: "bank" } });
    const shop = world.node(define("shop", free.opened), { tasks: { limits: { maxRunning: 1 } } });
    const ids = [await shop.client.start("work"), await shop.client.start("work")];
    // The other server takes a job first, and gives it back for later.
    await world.pass(10_000);
    equal(shop.extension.running, 1, "the node is full");
    for (const taskId of ids) {
      equal((await shop.client.get(taskId)).status, "working");
      for (const method of ["tasks/get", "tasks/cancel", "tasks/update"]) {
        const { error } = await bank.client.request(method, { taskId, inputResponses: {} });
        equal(error?.code, -32602, method);
      }
    }
    free.open();
    for (const taskId of ids) {
      await world.until("the task has ended", async () => (await shop.client.get(taskId)).status !== "working");
      equal(await shop.client.text(taskId), "shop");
    }
  },
);

proves(
  "cluster:apart:servers",
  {},
  "a session of one server is unknown at another server of the cluster",
  async (t) => {
    const state = createMemoryState();
    const open = (stateAudience: string) => {
      const endpoint = new LegacyEndpoint({}, { cluster: state.node(), stateKeys, stateAudience });
      endpoint.server.tool("where", {}, () => stateAudience);
      t.after(() => endpoint.server.close());
      return endpoint;
    };
    const [shop, again, bank] = [open("shop"), open("shop"), open("bank")];
    const client = await shop.open();
    const here = new LegacyClient(again, { session: client.id });
    equal(textOf(await answer(here.call(1, "where"))), "shop");
    const there = new LegacyClient(bank, { session: client.id });
    await status(there.call(2, "where"), 404);
    await status(there.delete(), 404);
    equal(textOf(await answer(client.call(3, "where"))), "shop", "it is still open");
  },
);

proves("cluster:apart:servers", {}, "the tasks of a caller of 2025-11-25 are listed by their own server", async (t) => {
  const state = createMemoryState();
  const open = async (stateAudience: string) => {
    const cluster = state.node();
    const endpoint = new LegacyEndpoint({}, { cluster, stateKeys, stateAudience });
    endpoint.server.tool("work", { task: "optional" }, () => stateAudience).extend(tasks());
    t.after(() => endpoint.server.close());
    return endpoint.open("2025-11-25", {}, { principal: "ann" });
  };
  const [shop, bank] = [await open("shop"), await open("bank")];
  const started = await answer(shop.request(1, "tools/call", { name: "work", task: {} }));
  const taskId = (started.result?.task as { taskId?: string } | undefined)?.taskId;
  equal(typeof taskId, "string");
  const listed = async (client: LegacyClient, id: number) => {
    const { result } = await answer(client.request(id, "tasks/list", {}));
    return (result?.tasks as { taskId: string }[] | undefined)?.map((task) => task.taskId);
  };
  deepEqual(await listed(shop, 2), [taskId]);
  deepEqual(await listed(bank, 3), []);
  equal((await answer(bank.request(4, "tasks/get", { taskId }))).error?.code, -32602);
});

proves(
  "cluster:apart:names",
  {},
  "a caller whose name is not well-formed is refused, since stores would take it for another",
  async () => {
    const reports: string[] = [];
    const asked: unknown[] = [];
    for (const principal of ["\ud800", "ann\udc00", "\udc00\ud800"]) {
      const gate = (async () => ({ principal })) as never;
      const onError = (error: unknown) => void reports.push(String(error));
      const server = new McpServer({ name: "s", version: "1" }, { onError, http: { gate } })
        .tool("a", {}, () => "a")
        .use((call, next) => {
          asked.push(call.method);
          return next(call);
        });
      for (const { body, headers } of [modernRequest("tools/list"), initialize()]) {
        const request = { method: "POST", headers: headers as HeadersInit, body: JSON.stringify(body) };
        const response = await server.fetch(new Request("http://localhost/mcp", request));
        equal(response.status, 403);
        match(await response.text(), /name of the caller is not well-formed/);
      }
      await server.close();
    }
    deepEqual(asked, []);
    equal(reports.length, 6);
    const gate = (async () => ({ principal: "ann \ud83d\ude00 \ufffd" })) as never;
    const server = new McpServer({ name: "s", version: "1" }, { http: { gate } }).tool("a", {}, () => "a");
    const { body, headers } = modernRequest("tools/list");
    const request = { method: "POST", headers: headers as HeadersInit, body: JSON.stringify(body) };
    equal((await server.fetch(new Request("http://localhost/mcp", request))).status, 200);
    await server.close();
  },
);
