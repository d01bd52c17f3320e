import { deepEqual, equal } from "node:assert/strict";
import { McpServer } from "bowline/server";
import { tasks } from "bowline/tasks/server";
import { modernHttp, type World } from "../../support/each-wire.js";
import { modernRequest } from "../../support/modern-request.js";
import { TASKS } from "../../support/task-client.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "tasks", version: "1" };
const METHODS = ["tasks/get", "tasks/update", "tasks/cancel"] as const;
const meta = { "io.modelcontextprotocol/clientCapabilities": { extensions: { [TASKS]: {} } } };

type Reply = { readonly status: number; readonly body: { result?: { taskId?: string }; error?: { code: number } } };

/** Sends single requests to a server. */
async function poster(world: World, server: McpServer) {
  const url = world.transport === "node" ? await world.listen(server) : undefined;
  return async (method: string, params: Record<string, unknown>, name?: string): Promise<Reply> => {
    const { headers, body } = modernRequest(method, { params, meta, headers: name ? { "mcp-name": name } : {} });
    const init = { method: "POST", headers: headers as Record<string, string>, body: JSON.stringify(body) };
    const response = await (url === undefined
      ? server.fetch(new Request("http://localhost/mcp", init))
      : fetch(url, init));
    return { status: response.status, body: (await response.json()) as Reply["body"] };
  };
}

const define = () => new McpServer(me).tool("t", { task: "optional" }, () => "x");

verifies("tasks-ext:http:mcp-name-server", modernHttp, async (world, t) => {
  const server = define().extend(tasks());
  t.after(() => server.close());
  const post = await poster(world, server);
  const taskId = (await post("tools/call", { name: "t", arguments: {} })).body.result?.taskId as string;
  for (const method of METHODS) {
    for (const name of [undefined, "other", `${taskId},${taskId}`]) {
      const { status, body } = await post(method, { taskId, inputResponses: {} }, name);
      deepEqual([status, body.error?.code], [400, -32020], `${method} ${name}`);
    }
    const { status, body } = await post(method, { taskId, inputResponses: {} }, taskId);
    equal(status, 200);
    equal(body.error, undefined);
  }
});

verifies("tasks-ext:http:mcp-name-lenient", modernHttp, async (world, t) => {
  const server = define().extend(tasks({ requireName: false }));
  t.after(() => server.close());
  const post = await poster(world, server);
  const taskId = (await post("tools/call", { name: "t", arguments: {} })).body.result?.taskId as string;
  for (const method of METHODS) {
    for (const name of [undefined, taskId])
      equal((await post(method, { taskId, inputResponses: {} }, name)).status, 200, `${method} ${name}`);
    const { status, body } = await post(method, { taskId, inputResponses: {} }, "other");
    deepEqual([status, body.error?.code], [400, -32020]);
  }
});
