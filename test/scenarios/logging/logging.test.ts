import { deepEqual, equal, rejects } from "node:assert/strict";
import type { LoggingLevel } from "bowline";
import { RpcError } from "bowline/client";
import { inputRequired, McpServer } from "bowline/server";
import * as z from "zod";
import {
  channelWires,
  eachWire,
  legacyChannels,
  legacyWires,
  modernChannels,
  modernHttp,
  modernWires,
  type RecordedClient,
} from "../../support/each-wire.js";
import { gate } from "../../support/gate.js";
import { AskedClient } from "../../support/raw-client.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const LEVEL_KEY = "io.modelcontextprotocol/logLevel";
const LEVELS: readonly LoggingLevel[] = [
  "debug",
  "info",
  "notice",
  "warning",
  "error",
  "critical",
  "alert",
  "emergency",
];
const MESSAGE = "notifications/message";

/** A server whose tool logs once at each level. */
function logging(options: ConstructorParameters<typeof McpServer>[1] = {}) {
  return new McpServer(me, options).tool("log", {}, (_, ctx) => {
    for (const level of LEVELS) ctx.log(level, level);
    return "logged";
  });
}

const levelOf = (params: { readonly [key: string]: unknown } = {}) =>
  ((params._meta ?? {}) as { readonly [key: string]: unknown })[LEVEL_KEY];
const levelsIn = ({ wire }: RecordedClient) => wire.notifications("server", MESSAGE).map(({ params }) => params?.level);

verifies("logging:capability:declared", eachWire, async ({ connect }) => {
  const client = await connect(logging(), { logLevel: "debug" });
  deepEqual(client.server.capabilities.logging, {});
  await client.callTool("log");
  equal(levelsIn(client).length, 8);
  const silent = await connect(logging({ capabilities: { logging: false } }));
  equal(silent.server.capabilities.logging, undefined);
  await silent.callTool("log", {}, { logLevel: "debug" });
  deepEqual(levelsIn(silent), []);
});

verifies("logging:message:fields", eachWire, async ({ connect }) => {
  const values = [{ a: [1] }, "text", 7, [null, true], null];
  const server = new McpServer(me).tool("log", {}, (_, ctx) => {
    for (const value of values) ctx.log("info", value);
    ctx.log("error", "named", "db");
    return "logged";
  });
  const heard: unknown[] = [];
  const client = await connect(server, {
    logLevel: "debug",
    onNotification: ({ method, params }) => {
      if (method === MESSAGE) heard.push(params);
    },
  });
  await client.callTool("log");
  await client.wire.until((wire) => wire.notifications("server", MESSAGE).length === 6);
  deepEqual(heard, [
    ...values.map((data) => ({ level: "info", data })),
    { level: "error", data: "named", logger: "db" },
  ]);
});

verifies("logging:message:all-levels", eachWire, async ({ connect }) => {
  for (const [index, level] of LEVELS.entries()) {
    const client = await connect(logging(), { logLevel: level });
    await client.callTool("log");
    deepEqual(levelsIn(client), LEVELS.slice(index));
  }
});

verifies(["logging:set-level", "logging:message:filtered"], legacyWires, async ({ connect }) => {
  const server = logging();
  const [one, two] = [await connect(server), await connect(server)];
  deepEqual(await one.request("logging/setLevel", { level: "warning" }), {});
  await two.setLogLevel("alert");
  await one.callTool("log");
  await two.callTool("log");
  deepEqual(levelsIn(one), LEVELS.slice(3));
  deepEqual(levelsIn(two), LEVELS.slice(6));
});

verifies("logging:default-level", legacyWires, async ({ connect }) => {
  const all = await connect(logging());
  await all.callTool("log");
  deepEqual(levelsIn(all), LEVELS);
  const some = await connect(logging({ logLevel: "info" }));
  await some.callTool("log");
  deepEqual(levelsIn(some), LEVELS.slice(1));
});

verifies("logging:set-level:invalid-level", legacyChannels, async (world) => {
  const client = await AskedClient.open(world, logging());
  await client.request("logging/setLevel", { level: "alert" });
  for (const params of [{ level: "verbose" }, { level: "INFO" }, {}]) {
    equal((await client.request("logging/setLevel", params)).error?.code, -32602);
  }
  await client.request("tools/call", { name: "log" });
  equal(client.notifications(MESSAGE).length, 2);
});

verifies("logging:set-level:removed-modern", modernChannels, async (world) => {
  const raw = await AskedClient.open(world, logging());
  equal((await raw.request("logging/setLevel", { level: "info" })).error?.code, -32601);
  const client = await world.connect(logging());
  const frames = client.wire.frames.length;
  await rejects(client.request("logging/setLevel", { level: "info" }), (error) => {
    return error instanceof RpcError && error.local && /log/i.test(error.message);
  });
  equal(client.wire.frames.length, frames);
});

verifies(["logging:per-request:opt-in", "logging:per-request:threshold"], modernWires, async ({ connect }) => {
  const release = gate();
  const started = gate();
  const server = logging().tool("wait", {}, async () => {
    started.open();
    await release.opened;
    return "waited";
  });
  const client = await connect(server);
  await using _watch = await client.watch({ toolsListChanged: true });
  const opted = client.callTool("wait", {}, { logLevel: "debug" });
  await started.opened;
  await client.callTool("log");
  deepEqual(levelsIn(client), []);
  release.open();
  await opted;
  await client.callTool("log", {}, { logLevel: "error" });
  deepEqual(levelsIn(client), LEVELS.slice(4));
  await client.callTool("log");
  equal(levelsIn(client).length, 4);
});

verifies("logging:per-request:own-stream", modernHttp, async ({ connect }) => {
  const both = gate();
  let running = 0;
  const server = new McpServer(me).tool("log", { input: z.object({ who: z.string() }) }, async ({ who }, ctx) => {
    ctx.log("info", `${who} begins`);
    if (++running === 2) both.open();
    await both.opened;
    ctx.log("info", `${who} ends`);
    return who;
  });
  const client = await connect(server);
  await using _watch = await client.watch({ toolsListChanged: true });
  await Promise.all(["a", "b"].map((who) => client.callTool("log", { who }, { logLevel: "debug" })));
  const streamOf = (part: string) => {
    const [exchange, ...more] = client.wire.exchanges.filter(({ body }) => body?.includes(part));
    equal(more.length, 0);
    return (exchange?.frames ?? []).flatMap(({ from, message }) => (from === "server" ? [message] : []));
  };
  for (const who of ["a", "b"]) {
    const own = streamOf(`"who":"${who}"`);
    deepEqual(
      own.slice(0, -1).map((message) => [message?.method, message?.params?.data]),
      [
        [MESSAGE, `${who} begins`],
        [MESSAGE, `${who} ends`],
      ],
    );
    deepEqual(own.at(-1)?.result?.content, [{ type: "text", text: who }]);
  }
  deepEqual(
    streamOf('"subscriptions/listen"').map((message) => message?.method),
    ["notifications/subscriptions/acknowledged"],
  );
});

verifies("logging:per-request:invalid-level", modernChannels, async (world) => {
  let ran = 0;
  const server = new McpServer(me).tool("t", {}, () => {
    ran++;
    return "x";
  });
  const client = await AskedClient.open(world, server);
  for (const level of ["verbose", "INFO", 3]) {
    equal((await client.request("tools/call", { name: "t" }, { [LEVEL_KEY]: level })).error?.code, -32602);
  }
  equal(ran, 0);
});

verifies("logging:client:per-request-level", eachWire, async ({ connect, era }) => {
  const sent = (client: RecordedClient) => client.wire.requests("tools/call").map(({ params }) => levelOf(params));
  const quiet = await connect(logging());
  await quiet.callTool("log");
  await quiet.callTool("log", {}, { logLevel: "alert" });
  deepEqual(sent(quiet), [undefined, era === "modern" ? "alert" : undefined]);
  equal(quiet.wire.requests("logging/setLevel").length, 0);
  const keen = await connect(logging(), { logLevel: "notice" });
  await keen.callTool("log");
  deepEqual(sent(keen), [era === "modern" ? "notice" : undefined]);
  const set = keen.wire.requests("logging/setLevel").map(({ params }) => params);
  deepEqual(set, era === "legacy" ? [{ level: "notice" }] : []);
  const unheard = await connect(logging({ capabilities: { logging: false } }), { logLevel: "notice" });
  equal(unheard.wire.requests("logging/setLevel").length, 0);
});

verifies("logging:out-of-band:basic", legacyWires, async ({ connect }) => {
  const server = logging();
  const [all, few] = [await connect(server), await connect(server)];
  await few.setLogLevel("error");
  setImmediate(() => {
    server.log("info", "tick", "timer");
    server.log("error", "tock");
  });
  await all.wire.until((wire) => wire.notifications("server", MESSAGE).length === 2);
  await few.wire.until((wire) => wire.notifications("server", MESSAGE).length === 1);
  const params = ({ wire }: RecordedClient) => wire.notifications("server", MESSAGE).map((message) => message.params);
  deepEqual(params(all), [
    { level: "info", data: "tick", logger: "timer" },
    { level: "error", data: "tock" },
  ]);
  deepEqual(params(few), [{ level: "error", data: "tock" }]);
});

verifies("logging:out-of-band:modern-dropped", modernWires, async ({ connect }) => {
  const reports: unknown[] = [];
  const server = logging({ onError: (error) => reports.push(error) });
  const client = await connect(server, { logLevel: "debug" });
  await using _watch = await client.watch({ toolsListChanged: true });
  server.log("emergency", "fire");
  server.log("emergency", "still");
  await client.listTools();
  deepEqual(levelsIn(client), []);
  equal(reports.length, 1);
});

verifies("mrtr:client:log-level-legs", modernWires, async ({ connect }) => {
  const server = new McpServer(me).tool("ask", {}, (_, ctx) => {
    ctx.log("info", ctx.inputResponses === undefined ? "first" : "second");
    if (ctx.inputResponses !== undefined) return "done";
    return inputRequired({ inputRequests: { r: { method: "roots/list" } } });
  });
  const heard: unknown[] = [];
  const client = await connect(server, {
    roots: [],
    onNotification: ({ params }) => {
      heard.push(params?.data);
    },
  });
  await client.callTool("ask", {}, { logLevel: "info" });
  const levels = client.wire.requests("tools/call").map(({ params }) => levelOf(params));
  deepEqual(levels, ["info", "info"]);
  deepEqual(heard, ["first", "second"]);
});

verifies("logging:capability:declared", "without it setLevel does not exist", channelWires, async (world) => {
  const client = await AskedClient.open(world, logging({ capabilities: { logging: false } }));
  equal((await client.request("logging/setLevel", { level: "info" })).error?.code, -32601);
});
