import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { type TestContext, test } from "node:test";
import { connect } from "bowline/client";
import {
  DIAGNOSTIC_CHANNELS as CHANNELS,
  type ClientRequestEvent,
  diagnoseClient,
  diagnoseServer,
  type ServerRequestEvent,
} from "bowline/node";
import { McpServer } from "bowline/server";
import { gate } from "../../support/gate.js";

const me = { name: "harbour", version: "2" };
const PHASES = ["start", "asyncEnd", "error"] as const;

/** Everything published while a test runs: the end of the channel's name, and what about. */
function listen(t: TestContext, describe: (event: never) => unknown, ...channels: readonly string[]): unknown[] {
  const heard: unknown[] = [];
  for (const name of channels) {
    const listener = (event: unknown) => {
      heard.push([name.slice(name.lastIndexOf(":") + 1), describe(event as never)]);
    };
    subscribe(name, listener);
    t.after(() => unsubscribe(name, listener));
  }
  return heard;
}

const tracing = (name: string) => PHASES.map((phase) => `tracing:${name}:${phase}`);
const life = (name: string) => [`${name}:open`, `${name}:close`];

function harbour() {
  return new McpServer(me, diagnoseServer())
    .tool("greet", {}, () => "hello")
    .method("x/fail", {}, () => {
      throw new RangeError("no");
    });
}

test("requests are published on both sides, from their start to their end", async (t) => {
  const requests = (event: ServerRequestEvent | ClientRequestEvent) => event.method;
  const sent = listen(t, requests, ...tracing(CHANNELS.clientRequest));
  const served = listen(t, requests, ...tracing(CHANNELS.serverRequest));
  const client = await connect(harbour(), diagnoseClient({ era: "modern" }));
  t.after(() => client.close());
  await client.callTool("greet");
  await rejects(client.request("x/fail"), { rpcCode: -32603 });
  deepEqual(sent, [
    ["start", "tools/call"],
    ["asyncEnd", "tools/call"],
    ["start", "x/fail"],
    ["error", "x/fail"],
    ["asyncEnd", "x/fail"],
  ]);
  deepEqual(served.slice(0, 2), [
    ["start", "server/discover"],
    ["asyncEnd", "server/discover"],
  ]);
  deepEqual(served.slice(2), sent);
});

test("an event says what it is about", async (t) => {
  const whole = (event: ServerRequestEvent) => ({ ...event });
  const heard = listen(t, whole, `tracing:${CHANNELS.serverRequest}:asyncEnd`) as [string, ServerRequestEvent][];
  const client = await connect(harbour(), { era: "legacy", versions: ["2025-11-25"] });
  t.after(() => client.close());
  await client.callTool("greet");
  const event = heard.map(([, one]) => one).find(({ method }) => method === "tools/call");
  equal(event?.params.name, "greet");
  equal(event?.version, "2025-11-25");
  equal(event?.cancelled, false);
  deepEqual(event?.result, { content: [{ type: "text", text: "hello" }] });
});

test("a call that was given up says so", async (t) => {
  const [running, over] = [gate(), gate()];
  const server = new McpServer(me, diagnoseServer()).tool("wait", {}, (_, ctx) => {
    running.open();
    return new Promise((_, reject) => ctx.signal.addEventListener("abort", () => reject(ctx.signal.reason)));
  });
  const heard = listen(
    t,
    (event: ServerRequestEvent) => {
      if (event.method === "tools/call") over.open();
      return event.cancelled;
    },
    `tracing:${CHANNELS.serverRequest}:error`,
  );
  const client = await connect(server, { era: "modern" });
  t.after(() => client.close());
  const abort = new AbortController();
  const call = client.callTool("wait", {}, { signal: abort.signal });
  await running.opened;
  abort.abort("enough");
  await rejects(call, (reason) => reason === "enough");
  await over.opened;
  deepEqual(heard, [["error", true]]);
});

test("connections are published as they open and close, beside the author's own listeners", async (t) => {
  const ours: string[] = [];
  const names = (event: { server?: { info?: { name: string } } }) => event.server?.info?.name;
  const outgoing = listen(t, names, ...life(CHANNELS.clientConnection));
  const served = listen(t, () => "", ...life(CHANNELS.serverConnection));
  const closed = gate();
  const server = new McpServer(
    me,
    diagnoseServer({
      onConnection(connection) {
        ours.push("served");
        void connection.closed.then(closed.open);
      },
    }),
  );
  const client = await connect(
    server,
    diagnoseClient({ onOpen: ({ version }) => ours.push(version), onClose: () => ours.push("closed"), era: "modern" }),
  );
  deepEqual(outgoing, [["open", "harbour"]]);
  await client.close();
  await closed.opened;
  deepEqual(outgoing, [
    ["open", "harbour"],
    ["close", undefined],
  ]);
  deepEqual(served, [
    ["open", ""],
    ["close", ""],
  ]);
  deepEqual(ours, ["served", "2026-07-28", "closed"]);
});

test("sessions over HTTP are published, unless there are none", async (t) => {
  const ended = gate();
  const heard = listen(t, ({ sessionId }: { sessionId: string }) => sessionId, ...life(CHANNELS.serverSession));
  const options = diagnoseServer({ http: { sessions: { createId: () => "s-1", onEnd: () => ended.open() } } });
  const server = new McpServer(me, options);
  t.after(() => server.close());
  const client = await connect("http://127.0.0.1/mcp", {
    era: "legacy",
    fetch: (url, init) => server.fetch(new Request(url, init)),
  });
  await client.close();
  await ended.opened;
  deepEqual(heard, [
    ["open", "s-1"],
    ["close", "s-1"],
  ]);
  equal(diagnoseServer({ http: { sessions: false } }).http?.sessions, false);
});

test("nothing is wrapped while nobody listens", () => {
  const [publish] = diagnoseServer().interceptors ?? [];
  ok(publish !== undefined);
  const answer = Promise.resolve({});
  equal(
    publish({ method: "tools/call" } as never, () => answer),
    answer,
  );
});
