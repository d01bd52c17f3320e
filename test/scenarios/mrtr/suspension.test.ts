import { deepEqual, equal } from "node:assert/strict";
import { type Context, isSuspension, McpServer, ToolError } from "bowline/server";
import { tasks } from "bowline/tasks/server";
import { eachWire, modernWires } from "../../support/each-wire.js";
import { accept, taskClient } from "../../support/task-client.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const FORM = { type: "object", properties: { city: { type: "string" } }, required: ["city"] } as const;
const onElicit = () => ({ action: "accept" as const, content: { city: "Oslo" } });

/** Asks a question, and notes what `catch` and `finally` see. */
function watching(seen: string[], then: (error: unknown) => unknown) {
  return async (_: unknown, ctx: Context): Promise<unknown> => {
    try {
      return (await ctx.elicit("Where?", FORM, { key: "where" })).content?.city;
    } catch (error) {
      seen.push(isSuspension(error) ? "suspension" : `error ${error}`);
      return then(error);
    } finally {
      seen.push("finally");
    }
  };
}

/** Each way in which a handler may go on after it has caught the suspension. */
const AFTER: Readonly<Record<string, (error: unknown) => unknown>> = {
  "throws it again": (error) => {
    throw error;
  },
  "returns a result": () => "nowhere",
  "returns an error": () => {
    throw new ToolError("nowhere");
  },
  "fails in a way of its own": () => {
    throw new TypeError("nowhere is not a function");
  },
};

for (const [title, then] of Object.entries(AFTER)) {
  verifies("mrtr:handler:suspension", `a handler that ${title}`, eachWire, async ({ connect, era }) => {
    const seen: string[] = [];
    const reports: unknown[] = [];
    const server = new McpServer(me, { onError: (error) => reports.push(error) });
    server.tool("t", {}, watching(seen, then));
    const client = await connect(server, { onElicit });
    const { text, isError } = await client.callTool("t");
    deepEqual([text, isError], ["Oslo", false]);
    deepEqual(seen, era === "modern" ? ["suspension", "finally", "finally"] : ["finally"]);
    if (title === "throws it again" || title === "returns a result") deepEqual(reports, []);
  });

  verifies("mrtr:handler:suspension", `a handler that ${title}, in a task`, modernWires, async (world, t) => {
    const seen: string[] = [];
    const server = new McpServer(me, { onError: () => {} });
    server.tool("t", { task: "optional" }, watching(seen, then)).extend(tasks());
    const client = await taskClient(world, server, t, { elicitation: {} });
    const taskId = await client.start("t");
    await client.until(taskId, "input_required");
    await client.update(taskId, { where: accept({ city: "Oslo" }) });
    equal(await client.text(taskId), "Oslo");
    deepEqual(seen, ["suspension", "finally", "finally"]);
  });
}

verifies("mrtr:handler:suspension", "an error of a question is none", eachWire, async ({ connect }) => {
  const seen: string[] = [];
  const server = new McpServer(me).tool(
    "t",
    {},
    watching(seen, () => "cannot ask"),
  );
  const client = await connect(server);
  equal((await client.callTool("t")).text, "cannot ask");
  deepEqual([seen.length, seen[0]?.startsWith("error "), seen[1]], [2, true, "finally"]);
});

verifies(
  "mrtr:handler:suspension",
  "a step after a caught suspension does not run",
  modernWires,
  async ({ connect }) => {
    const ran: string[] = [];
    const server = new McpServer(me).tool("t", {}, async (_, ctx) => {
      const city = await ctx.elicit("Where?", FORM).catch(() => undefined);
      await ctx.step("order", () => ran.push(String(city?.content?.city)));
      return "ordered";
    });
    const client = await connect(server, { onElicit });
    equal((await client.callTool("t")).text, "ordered");
    deepEqual(ran, ["Oslo"]);
  },
);
