import { deepEqual, equal, rejects } from "node:assert/strict";
import { type ClientOptions, connect, type RpcError } from "bowline/client";
import { McpServer } from "bowline/server";
import { legacyWires, modernWires } from "../../support/each-wire.js";
import { ServerScript } from "../../support/server-script.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "plain", version: "1.0.0" };
const RELATED = "io.modelcontextprotocol/related-task";
const related = { [RELATED]: { taskId: "t" } };
const isUnknown = (error: RpcError) => error.rpcCode === -32601;
const METHODS = ["tasks/get", "tasks/list", "tasks/result", "tasks/cancel"];
const form = { message: "Name?", requestedSchema: { type: "object", properties: {} } };

verifies("tasks-ext:capability:default-off", "a server without tasks", modernWires, async ({ connect }) => {
  const client = await connect(new McpServer(me).tool("work", {}, () => "plain"));
  equal(client.server.capabilities.extensions, undefined);
  await rejects(client.request("tasks/get", { taskId: "t" }), isUnknown);
  equal((await client.callTool("work")).text, "plain");
});

verifies("tasks:legacy:not-advertised", "by a server", legacyWires, async ({ connect }) => {
  const client = await connect(new McpServer(me).tool("work", {}, () => "plain"));
  equal(client.server.capabilities.tasks, undefined);
  for (const method of METHODS) await rejects(client.request(method, { taskId: "t" }), isUnknown, method);
});

verifies("tasks:no-capability:ignore-task-param", "by a server", legacyWires, async ({ connect }) => {
  const client = await connect(new McpServer(me).tool("work", {}, () => "plain"));
  const { content } = await client.request("tools/call", { name: "work", task: { ttl: 5 } });
  deepEqual(content, [{ type: "text", text: "plain" }]);
});

/** Connects to a server that the test writes. */
async function asked(options: ClientOptions): Promise<ServerScript & AsyncDisposable> {
  const script = new ServerScript().legacy("2025-11-25");
  const client = await connect({ channel: script.channel }, { era: "legacy", ...options });
  return Object.assign(script, { [Symbol.asyncDispose]: () => client.close() });
}

proves("tasks:no-capability:ignore-task-param", { wire: "legacy-memory" }, "by a client", async () => {
  const sampled = { role: "assistant", content: { type: "text", text: "Ho" }, model: "m" } as const;
  await using script = await asked({ onElicit: () => ({ action: "decline" }), onSample: () => sampled });
  const task = { ttl: 5 };
  script.send({ id: "form", method: "elicitation/create", params: { ...form, task } });
  deepEqual((await script.next(undefined)).result, { action: "decline" });
  script.send({ id: "sample", method: "sampling/createMessage", params: { messages: [], maxTokens: 5, task } });
  deepEqual((await script.next(undefined)).result, sampled);
});

verifies("protocol:meta:related-task", "on a request and a result", legacyWires, async ({ connect }) => {
  let seen: unknown;
  const server = new McpServer(me).tool("work", {}, (_, ctx) => {
    seen = ctx.meta?.[RELATED];
    return { content: [], _meta: related };
  });
  const client = await connect(server);
  const { meta } = await client.callTool("work", {}, { meta: related });
  deepEqual([seen, meta?.[RELATED]], [{ taskId: "t" }, { taskId: "t" }]);
});

proves("protocol:meta:related-task", { wire: "legacy-memory" }, "on a question and a notification", async () => {
  const seen: unknown[] = [];
  await using script = await asked({
    onElicit: ({ _meta }) => {
      seen.push(_meta?.[RELATED]);
      return { action: "decline" };
    },
    onNotification: ({ params }) => void seen.push((params?._meta as typeof related | undefined)?.[RELATED]),
  });
  script.notify("notifications/message", { level: "info", data: "x", _meta: related });
  script.send({ id: "form", method: "elicitation/create", params: { ...form, _meta: related } });
  await script.next(undefined);
  deepEqual(seen, [{ taskId: "t" }, { taskId: "t" }]);
});
