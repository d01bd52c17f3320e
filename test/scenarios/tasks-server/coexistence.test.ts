import { deepEqual, equal, rejects } from "node:assert/strict";
import type { TestContext } from "node:test";
import { type ClientOptions, connect, ProtocolError } from "bowline/client";
import { ServerScript } from "../../support/server-script.js";
import { proves } from "../../support/verifies.js";

const legacy = { wire: "legacy-memory" };
const RELATED = "io.modelcontextprotocol/related-task";

async function dial(t: TestContext, script: ServerScript, options: ClientOptions) {
  const client = await connect({ channel: script.channel }, options);
  t.after(() => client.close());
  return client;
}

proves("tasks-ext:capability:default-off", { wire: "modern-memory" }, "a task is no result for a client", async (t) => {
  const now = new Date(0).toISOString();
  const task = { taskId: "x", status: "working", createdAt: now, lastUpdatedAt: now, ttlMs: null };
  const script = new ServerScript().modern().on("tools/call", { result: { resultType: "task", ...task } });
  const client = await dial(t, script, { era: "modern" });
  await rejects(client.callTool("t"), ProtocolError);
  equal(script.all("tasks/get").length, 0);
  equal(JSON.stringify(script.received).includes("io.modelcontextprotocol/tasks"), false);
});

proves("tasks:no-capability:ignore-task-param", legacy, "a client", async (t) => {
  const script = new ServerScript().legacy("2025-11-25");
  await dial(t, script, {
    era: "legacy",
    onElicit: () => ({ action: "decline" }),
    onSample: () => ({ role: "assistant", content: { type: "text", text: "hi" }, model: "m" }),
  });
  const task = { ttl: 60_000 };
  script.send({
    id: 1,
    method: "elicitation/create",
    params: { message: "?", requestedSchema: { type: "object", properties: {} }, task },
  });
  deepEqual((await script.next(undefined)).result, { action: "decline" });
  const messages = [{ role: "user", content: { type: "text", text: "?" } }];
  script.send({ id: 2, method: "sampling/createMessage", params: { messages, maxTokens: 1, task } });
  const { result } = await script.next(undefined);
  deepEqual(result, { role: "assistant", content: { type: "text", text: "hi" }, model: "m" });
});

proves("tasks:legacy:not-advertised", legacy, "a client", async (t) => {
  const script = new ServerScript().legacy("2025-11-25");
  await dial(t, script, { era: "legacy", onElicit: () => ({ action: "decline" }) });
  const { params } = script.all("initialize")[0] ?? {};
  equal(JSON.stringify(params?.capabilities).includes("tasks"), false);
  for (const [id, method] of ["tasks/get", "tasks/list", "tasks/result", "tasks/cancel"].entries()) {
    script.send({ id, method, params: { taskId: "x" } });
    equal((await script.next(undefined)).error?.code, -32601, method);
  }
});

proves("protocol:meta:related-task", legacy, "a client", async (t) => {
  const related = { [RELATED]: { taskId: "t-1" } };
  const seen: unknown[] = [];
  const script = new ServerScript().legacy("2025-11-25").on("tools/call", { result: { content: [], _meta: related } });
  const client = await dial(t, script, {
    era: "legacy",
    onElicit: (params) => {
      seen.push(params._meta?.[RELATED]);
      return { action: "decline" };
    },
  });
  const requestedSchema = { type: "object", properties: {} };
  script.send({ id: 1, method: "elicitation/create", params: { message: "?", requestedSchema, _meta: related } });
  await script.next(undefined);
  deepEqual(seen, [{ taskId: "t-1" }]);
  deepEqual((await client.callTool("t")).meta, related);
});
