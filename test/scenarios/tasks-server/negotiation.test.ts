import { deepEqual, equal, ok, throws } from "node:assert/strict";
import { type Context, McpServer } from "bowline/server";
import { tasks } from "bowline/tasks/server";
import { eachWire, legacyWires, modernHttp, modernWires, type World } from "../../support/each-wire.js";
import { modernRequest } from "../../support/modern-request.js";
import { enveloped, initialize, type Message, rawClient } from "../../support/raw-client.js";
import { TASKS, taskClient } from "../../support/task-client.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "tasks", version: "1" };
const REQUIRED = { requiredCapabilities: { extensions: { [TASKS]: {} } } };
const METHODS = ["tasks/get", "tasks/update", "tasks/cancel"] as const;

/** Without the extension, no tool may run as a task only. */
function define(server = new McpServer(me), only: "optional" | "required" = "optional") {
  return server
    .tool("sync", {}, () => "sync")
    .tool("either", { task: "optional" }, () => "either")
    .tool("only", { task: only }, () => "only");
}

const enabled = () => define(new McpServer(me), "required").extend(tasks());

verifies("tasks-ext:capability:advertised", modernWires, async (world, t) => {
  const capabilities = async (server: McpServer) => {
    const { result } = await (await rawClient(world, server, t)).ask(enveloped(1, "server/discover"));
    return result?.capabilities as Record<string, unknown>;
  };
  deepEqual((await capabilities(enabled())).extensions, { [TASKS]: {} });
  equal((await capabilities(define())).extensions, undefined);
});

verifies("tasks-ext:capability:no-legacy-slot", modernWires, async (world, t) => {
  throws(() => new McpServer(me, { capabilities: { tasks: { list: {} } } as never }), /unknown option tasks/);
  const server = enabled();
  const client = await taskClient(world, server, t);
  const { result } = await client.request("server/discover");
  ok(result?.capabilities !== undefined);
  equal("tasks" in (result.capabilities as object), false);
  const { result: listed } = await client.request("tools/list");
  const tools = listed?.tools as readonly object[];
  equal(tools.length, 3);
  for (const tool of tools) equal("execution" in tool, false);
});

verifies("tasks-ext:capability:default-off", "a server", modernWires, async (world, t) => {
  const client = await taskClient(world, define(), t);
  for (const method of METHODS) {
    const { error } = await client.request(method, { taskId: "x" });
    equal(error?.code, -32601, method);
  }
  for (const name of ["either", "only"]) {
    const { result } = await client.call(name);
    equal(result?.resultType, "complete");
    deepEqual(result?.content, [{ type: "text", text: name }]);
  }
});

verifies("tasks-ext:capability:default-off", "a client", modernWires, async (world) => {
  const client = await world.connect(enabled());
  const { content } = await client.callTool("either", {});
  deepEqual(content, [{ type: "text", text: "either" }]);
  equal(JSON.stringify(client.wire.requests()).includes(TASKS), false);
});

verifies("tasks-ext:methods:non-declaring", modernWires, async (world, t) => {
  const client = await taskClient(world, enabled(), t);
  const taskId = await client.start("either");
  for (const method of METHODS) {
    for (const id of [taskId, "unknown"]) {
      const { error } = await client.request(method, { taskId: id, inputResponses: {} }, {});
      equal(error?.code, -32021, method);
      deepEqual(error?.data, REQUIRED);
    }
  }
  equal(await client.text(taskId), "either");
});

/** Returns a function that sends a request over HTTP, with these capabilities, and returns the status and the body. */
async function poster(world: World, server: McpServer, capabilities: object) {
  const url = world.transport === "node" ? await world.listen(server) : undefined;
  const meta = { "io.modelcontextprotocol/clientCapabilities": capabilities };
  return async (method: string, params: Message) => {
    const name = String(params.name ?? params.taskId);
    const { headers, body } = modernRequest(method, { params, meta, headers: { "mcp-name": name } });
    const init = { method: "POST", headers: headers as Record<string, string>, body: JSON.stringify(body) };
    const response = await (url === undefined
      ? server.fetch(new Request("http://localhost/mcp", init))
      : fetch(url, init));
    return { status: response.status, body: (await response.json()) as { readonly result?: Message } };
  };
}

verifies("tasks-ext:methods:non-declaring", "status", modernHttp, async (world, t) => {
  const server = enabled();
  t.after(() => server.close());
  const post = await poster(world, server, {});
  for (const method of METHODS) equal((await post(method, { taskId: "x" })).status, 400, method);
});

verifies("tasks-ext:methods:removed", "status", modernHttp, async (world, t) => {
  const server = enabled();
  t.after(() => server.close());
  const post = await poster(world, server, { extensions: { [TASKS]: {} } });
  const { body } = await post("tools/call", { name: "either", arguments: {} });
  const taskId = body.result?.taskId;
  equal((await post("tasks/get", { taskId })).status, 200);
  for (const method of ["tasks/result", "tasks/list"]) equal((await post(method, { taskId })).status, 404, method);
});

verifies("tasks-ext:methods:legacy-capability-not-enough", modernWires, async (world, t) => {
  const client = await taskClient(world, enabled(), t);
  const old = { tasks: { list: {}, cancel: {}, requests: { tools: { call: {} } } } };
  const { result } = await client.request("tools/call", { name: "either", arguments: {} }, old);
  equal(result?.resultType, "complete");
  deepEqual(result?.content, [{ type: "text", text: "either" }]);
  const taskId = await client.start("either");
  for (const method of METHODS) {
    const { error } = await client.request(method, { taskId, inputResponses: {} }, old);
    equal(error?.code, -32021, method);
    deepEqual(error?.data, REQUIRED);
  }
});

verifies("tasks-ext:methods:removed", modernWires, async (world, t) => {
  const client = await taskClient(world, enabled(), t);
  const taskId = await client.start("either");
  for (const method of ["tasks/result", "tasks/list"]) {
    const { error } = await client.request(method, { taskId });
    equal(error?.code, -32601, method);
  }
});

verifies("tasks-ext:legacy:not-enabled-2025", legacyWires, async (world, t) => {
  const raw = await rawClient(world, enabled(), t);
  const capabilities = { extensions: { [TASKS]: {} } };
  const { result } = await raw.ask(initialize(1, "2025-11-25", { capabilities }));
  raw.send({ method: "notifications/initialized" });
  equal(JSON.stringify(result?.capabilities).includes(TASKS), false);
  for (const name of ["either", "sync"]) {
    const { result: called } = await raw.ask({ id: name, method: "tools/call", params: { name, arguments: {} } });
    deepEqual(called, { content: [{ type: "text", text: name }] });
  }
  const { error } = await raw.ask({ id: "get", method: "tasks/update", params: { taskId: "x" } });
  equal(error?.code, -32601);
});

verifies("tasks:no-capability:ignore-task-param", "a server", legacyWires, async (world, t) => {
  const raw = await rawClient(world, define(), t);
  await raw.ask(initialize(1));
  raw.send({ method: "notifications/initialized" });
  for (const name of ["sync", "either"]) {
    const params = { name, arguments: {}, task: { ttl: 60_000 } };
    const { result } = await raw.ask({ id: name, method: "tools/call", params });
    deepEqual(result, { content: [{ type: "text", text: name }] });
  }
});

verifies("tasks:legacy:not-advertised", "a server", legacyWires, async (world, t) => {
  const raw = await rawClient(world, define(), t);
  const { result } = await raw.ask(initialize(1, "2025-11-25", { capabilities: { tasks: { list: {} } } }));
  raw.send({ method: "notifications/initialized" });
  equal(JSON.stringify(result?.capabilities).includes("tasks"), false);
  for (const method of ["tasks/get", "tasks/list", "tasks/result", "tasks/cancel"]) {
    const { error } = await raw.ask({ id: method, method, params: { taskId: "x" } });
    equal(error?.code, -32601, method);
  }
});

verifies("protocol:meta:related-task", "a server", legacyWires, async (world, t) => {
  const key = "io.modelcontextprotocol/related-task";
  const related = { [key]: { taskId: "t-1" } };
  const seen: unknown[] = [];
  const server = new McpServer(me).tool("echo", {}, async (_: unknown, ctx: Context) => {
    seen.push(ctx.meta?.[key]);
    await ctx.notify("notifications/message", { level: "info", data: "x", _meta: related });
    return { content: [], _meta: related };
  });
  const raw = await rawClient(world, server, t);
  await raw.ask(initialize(1));
  raw.send({ method: "notifications/initialized" });
  const { result } = await raw.ask({
    id: 2,
    method: "tools/call",
    params: { name: "echo", arguments: {}, _meta: related },
  });
  deepEqual(seen, [{ taskId: "t-1" }]);
  deepEqual(result?._meta, related);
  await raw.until((heard) => heard.some(({ method }) => method === "notifications/message"));
  const told = raw.heard.find(({ method }) => method === "notifications/message");
  deepEqual((told?.params as { _meta?: unknown })?._meta, related);
});

verifies("tasks-ext:create:server-directed", eachWire.slice(0, 4), async (world, t) => {
  const server = define(new McpServer(me), "required")
    .tool("quick", { task: { promoteAfterMs: 60_000 } }, () => "quick")
    .extend(tasks());
  const client = await taskClient(world, server, t);
  equal((await client.call("sync")).result?.resultType, "complete");
  equal((await client.call("either")).result?.resultType, "task");
  equal((await client.call("quick")).result?.resultType, "complete");
});
