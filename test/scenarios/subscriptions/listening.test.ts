import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import type { TestContext } from "node:test";
import {
  type Change,
  type Client,
  type ClientOptions,
  ConnectionError,
  connect,
  type Resync,
  RpcError,
  TimeoutError,
} from "bowline/client";
import { McpServer } from "bowline/server";
import { FakeClock, type RecordedMessage } from "bowline/testing";
import { eachWire, heardBy, legacyWires, modernWires, type World } from "../../support/each-wire.js";
import { HttpScript } from "../../support/http-script.js";
import { settled } from "../../support/http-transports.js";
import { ServerScript } from "../../support/server-script.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "harbour", version: "2" };
const wire = { wire: "modern-memory" };
const ID = "io.modelcontextprotocol/subscriptionId";
const ACK = "notifications/subscriptions/acknowledged";
const TOOLS = "notifications/tools/list_changed";

function harbour() {
  return new McpServer(me)
    .tool("t", {}, () => "x")
    .prompt("p", {}, () => "say")
    .resource("a:{x}", { name: "r" }, () => "text");
}

async function dial(t: TestContext, script: ServerScript, options: ClientOptions = {}): Promise<Client> {
  const client = await connect({ channel: script.modern().channel }, { era: "modern", ...options });
  t.after(() => client.close());
  return client;
}

function acknowledge(script: ServerScript, listen: RecordedMessage, id: unknown = listen.id): void {
  script.notify(ACK, { notifications: listen.params?.notifications, _meta: { [ID]: id } });
}
const tell = (script: ServerScript, id: unknown, method = TOOLS, params: object = {}) =>
  script.notify(method, { ...params, _meta: { [ID]: id } });

async function opened(client: Client, script: ServerScript, options = {}) {
  const opening = client.watch({ toolsListChanged: true }, options);
  const listen = await script.next("subscriptions/listen");
  acknowledge(script, listen);
  return { watch: await opening, listen };
}

async function collect(watch: AsyncIterable<Change | Resync>): Promise<(Change | Resync)[]> {
  const changes: (Change | Resync)[] = [];
  for await (const change of watch) changes.push(change);
  return changes;
}

verifies("subscriptions:listen:client:honored-surfacing", modernWires, async ({ connect }: World) => {
  const client = await connect(new McpServer(me).tool("t", {}, () => "x"));
  const watch = await client.watch({ toolsListChanged: true, promptsListChanged: true, resources: ["a:1"] });
  deepEqual(watch.honoured, { toolsListChanged: true });
  equal(watch.ended, undefined);
  await watch.close();
});

proves("subscriptions:listen:client:concurrent-demux", wire, "ids alone tell subscriptions apart", async (t) => {
  const script = new ServerScript();
  const client = await dial(t, script);
  const opening = [
    client.watch({ toolsListChanged: true }),
    client.watch({ toolsListChanged: true, promptsListChanged: true }),
  ];
  const first = await script.next("subscriptions/listen");
  const second = await script.next("subscriptions/listen");
  acknowledge(script, second);
  acknowledge(script, first, String(first.id));
  const [a, b] = await Promise.all(opening);
  deepEqual(a?.honoured, { toolsListChanged: true });
  deepEqual(b?.honoured, { toolsListChanged: true, promptsListChanged: true });
  tell(script, second.id, "notifications/prompts/list_changed");
  tell(script, String(first.id));
  tell(script, second.id);
  script.result(first, { resultType: "complete", _meta: { [ID]: first.id } });
  script.result(second, { resultType: "complete", _meta: { [ID]: second.id } });
  deepEqual(await collect(a as AsyncIterable<Change | Resync>), [{ kind: "tools" }]);
  deepEqual(await collect(b as AsyncIterable<Change | Resync>), [{ kind: "prompts" }, { kind: "tools" }]);
});

verifies("subscriptions:listen:client:iteration", modernWires, async ({ connect }: World) => {
  const heard: string[] = [];
  const server = harbour();
  const client = await connect(server, { onNotification: ({ method }) => void heard.push(method) });
  const watch = await client.watch({
    toolsListChanged: true,
    promptsListChanged: true,
    resourcesListChanged: true,
    resources: ["a:1"],
  });
  server.changes.toolsChanged();
  server.changes.promptsChanged();
  server.changes.resourcesChanged();
  server.changes.resourceUpdated("a:1");
  await client.wire.until((seen) => seen.notifications("server").length === 5);
  const changes: (Change | Resync)[] = [];
  for await (const change of watch) {
    // A slow reader loses nothing.
    await settled();
    changes.push(change);
    if (changes.length === 4) break;
  }
  deepEqual(changes, [{ kind: "tools" }, { kind: "prompts" }, { kind: "resources" }, { kind: "resource", uri: "a:1" }]);
  deepEqual(heard, [
    TOOLS,
    "notifications/prompts/list_changed",
    "notifications/resources/list_changed",
    "notifications/resources/updated",
  ]);
});

proves("subscriptions:listen:client:honored-only", wire, "what was not agreed upon is not delivered", async (t) => {
  const script = new ServerScript();
  const problems: Error[] = [];
  const client = await dial(t, script, { onError: (error) => problems.push(error) });
  const opening = client.watch({ toolsListChanged: true, resources: ["a:1"] });
  const listen = await script.next("subscriptions/listen");
  tell(script, listen.id);
  acknowledge(script, listen);
  const watch = await opening;
  tell(script, listen.id, "notifications/prompts/list_changed");
  tell(script, listen.id, "notifications/resources/updated", { uri: "a:2" });
  tell(script, 4711);
  tell(script, "nobody");
  script.notify(TOOLS, {});
  tell(script, listen.id, "notifications/resources/updated", { uri: "a:1" });
  script.result(listen, { resultType: "complete", _meta: { [ID]: listen.id } });
  deepEqual(await collect(watch), [{ kind: "resource", uri: "a:1" }]);
  deepEqual(problems, []);
});

verifies("subscriptions:listen:client:cancel", modernWires, async ({ connect, transport }: World) => {
  const server = harbour();
  const client = await connect(server);
  const abort = new AbortController();
  const ways: ((watch: Awaited<ReturnType<typeof client.watch>>) => Promise<void>)[] = [
    async (watch) => {
      await watch.close();
      await watch.close();
      deepEqual(await collect(watch), []);
    },
    async (watch) => {
      for await (const _ of watch) break;
    },
    async (watch) => {
      const reading = collect(watch);
      abort.abort();
      deepEqual(await reading, []);
    },
  ];
  for (const [index, leave] of ways.entries()) {
    // The change that ends the second watch may reach another node while the third is open, so that it watches something else.
    const watch =
      index === 2
        ? await client.watch({ promptsListChanged: true }, { signal: abort.signal })
        : await client.watch({ toolsListChanged: true });
    if (index === 1) server.changes.toolsChanged();
    await leave(watch);
    while (server.stats().subscriptions !== 0) await settled();
    equal(watch.ended, "closed");
  }
  const cancelled = client.wire.notifications("client", "notifications/cancelled");
  if (transport === "memory" || transport === "stdio") {
    const ids = client.wire.requests("subscriptions/listen").map(({ id }) => id);
    deepEqual(
      cancelled.map(({ params }) => params?.requestId),
      ids,
    );
  } else {
    deepEqual(cancelled, []);
    equal(client.wire.exchanges.filter(({ gone }) => gone).length, 3);
  }
});

proves("subscriptions:listen:client:graceful-close", wire, "the server's last word ends iteration", async (t) => {
  const script = new ServerScript();
  const problems: Error[] = [];
  const client = await dial(t, script, { onError: (error) => problems.push(error) });
  const { watch, listen } = await opened(client, script);
  tell(script, listen.id);
  script.result(listen, { resultType: "complete", _meta: { [ID]: listen.id } });
  script.notify("notifications/cancelled", { requestId: listen.id });
  deepEqual(await collect(watch), [{ kind: "tools" }]);
  equal(watch.ended, "graceful");
  const early = client.watch({ toolsListChanged: true });
  const second = await script.next("subscriptions/listen");
  script.result(second, { resultType: "complete", _meta: { [ID]: second.id } });
  await rejects(early, ConnectionError);
  deepEqual(problems, []);
});

proves(
  "subscriptions:listen:client:server-cancel",
  wire,
  "a server may end what it serves, and nothing else",
  async (t) => {
    const script = new ServerScript();
    const client = await dial(t, script);
    const { watch, listen } = await opened(client, script);
    const call = client.callTool("t");
    const request = await script.next("tools/call");
    script.notify("notifications/cancelled", { requestId: request.id });
    script.notify("notifications/cancelled", { requestId: listen.id });
    deepEqual(await collect(watch), []);
    equal(watch.ended, "graceful");
    script.result(request, { resultType: "complete", content: [{ type: "text", text: "done" }] });
    equal((await call).text, "done");
    const unacknowledged = client.watch({ toolsListChanged: true });
    script.notify("notifications/cancelled", { requestId: (await script.next("subscriptions/listen")).id });
    await rejects(unacknowledged, ConnectionError);
  },
);

proves("subscriptions:listen:client:lost", wire, "a connection that goes is no graceful end", async (t) => {
  const script = new ServerScript();
  const client = await dial(t, script);
  const { watch, listen } = await opened(client, script);
  const call = client.callTool("t");
  tell(script, listen.id);
  await script.next("tools/call");
  await script.close();
  const seen: (Change | Resync)[] = [];
  const reading = (async () => {
    for await (const change of watch) seen.push(change);
  })();
  await rejects(reading, (error) => error instanceof ConnectionError && error.delivery === "answer_lost");
  deepEqual(seen, [{ kind: "tools" }]);
  equal(watch.ended, "lost");
  await rejects(call, ConnectionError);
});

proves(
  "subscriptions:listen:client:lost",
  { wire: "modern-http" },
  "a stream that breaks concerns itself alone",
  async (t) => {
    const script = await new HttpScript().start();
    t.after(() => script.stop());
    const complete = { resultType: "complete" };
    script.onRequest = (received) => {
      if (received.rpcMethod === "server/discover")
        received.result({ ...complete, supportedVersions: ["2026-07-28"], capabilities: { tools: {} } });
      if (received.rpcMethod === "tools/call") received.result({ ...complete, content: [] });
      if (received.rpcMethod === "subscriptions/listen") {
        const { id, params } = received.message;
        received.stream().notify(ACK, { notifications: params.notifications, _meta: { [ID]: id } });
      }
    };
    const client = await connect(script.url, { era: "modern" });
    t.after(() => client.close());
    for (const cut of [true, false]) {
      const watch = await client.watch({ toolsListChanged: true }, { resubscribe: false });
      const listen = await script.next("subscriptions/listen");
      if (cut) listen.cut();
      else listen.end();
      await rejects(collect(watch), ConnectionError);
      equal(watch.ended, "lost");
      await client.callTool("t");
    }
  },
);

proves("subscriptions:listen:client:open-rejects", wire, "opening fails at once, whatever the cause", async (t) => {
  const clock = new FakeClock();
  const script = new ServerScript();
  const client = await dial(t, script, { clock });
  const refused = client.watch({ toolsListChanged: true });
  script.error(await script.next("subscriptions/listen"), -32603, "too many");
  await rejects(refused, (error) => error instanceof RpcError && error.rpcCode === -32603);

  const abort = new AbortController();
  const given = client.watch({ toolsListChanged: true }, { signal: abort.signal });
  const abandoned = await script.next("subscriptions/listen");
  abort.abort("enough");
  await rejects(given, (reason) => reason === "enough");
  acknowledge(script, abandoned);

  const silent = client.watch({ toolsListChanged: true }, { timeoutMs: 50 });
  const unanswered = await script.next("subscriptions/listen");
  clock.advance(50);
  await rejects(silent, TimeoutError);
  acknowledge(script, unanswered);
  tell(script, unanswered.id);

  const cut = client.watch({ toolsListChanged: true });
  await script.next("subscriptions/listen");
  equal(client.pending, 1);
  await script.close();
  await rejects(cut, ConnectionError);
  equal(client.pending, 0);
});

verifies("subscriptions:listen:client:era-guard", legacyWires, async ({ connect }: World) => {
  const client = await connect(harbour());
  const before = client.wire.frames.length;
  await rejects(client.request("subscriptions/listen", { notifications: {} }), (error) => {
    ok(error instanceof RpcError && error.local);
    match(error.message, /watch/);
    return true;
  });
  await settled();
  equal(client.wire.frames.length, before);
});

verifies("typescript:subscriptions:list-changed-auto-open-modern", eachWire, async (world: World) => {
  const server = new McpServer(me).tool("t", {}, () => "x").resource("a:b", { name: "r" }, () => "y");
  const heard: string[] = [];
  const hear = (kind: string) => ({ refetch: false, onChange: () => void heard.push(kind) });
  const onListChanged = { tools: hear("tools"), prompts: hear("prompts") };
  const client = await world.connect(server, { onListChanged });
  await heardBy(client, world);
  if (world.era === "modern") {
    await client.wire.until((seen) => seen.notifications("server", ACK).length === 1);
    deepEqual(client.wire.requests("subscriptions/listen")[0]?.params?.notifications, { toolsListChanged: true });
  }
  server.changes.toolsChanged();
  server.changes.resourcesChanged();
  while (heard.length === 0) await settled();
  deepEqual(heard, ["tools"]);
  const idle = await world.connect(server, { onListChanged: { prompts: hear("prompts") } });
  await idle.callTool("t");
  deepEqual(idle.wire.requests("subscriptions/listen"), []);
});

proves(
  "typescript:subscriptions:list-changed-auto-open-modern",
  wire,
  "what cannot be opened is reported",
  async (t) => {
    const problems: Error[] = [];
    const script = new ServerScript().on("subscriptions/listen", { error: { code: -32603, message: "too many" } });
    script.modern({ tools: { listChanged: true } });
    const client = await connect(
      { channel: script.channel },
      { onListChanged: { tools: { onChange: () => {} } }, onError: (error) => problems.push(error) },
    );
    t.after(() => client.close());
    while (problems.length === 0) await settled();
    equal(client.era, "modern");
    match(problems[0]?.message ?? "", /too many/);
  },
);
