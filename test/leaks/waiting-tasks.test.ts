import { equal } from "node:assert/strict";
import { test } from "node:test";
import type { Context, McpServer } from "bowline/server";
import { until } from "../support/census.js";
import { accept } from "../support/task-client.js";
import { TaskNodes } from "../support/task-nodes.js";

const COUNT = 1_000;
const FORM = { type: "object", properties: {} } as const;
/** Time after which no timer of a request is left. */
const QUIET_MS = 60_000;

test("a thousand tasks that wait for answers share one timer", async (t) => {
  const world = new TaskNodes(t);
  let runs = 0;
  const define = (server: McpServer) =>
    void server.tool("ask", { task: "required" }, async (_: unknown, ctx: Context) => {
      runs++;
      await ctx.elicit("Go on?", FORM);
      return "gone on";
    });
  const limits = { maxTasksPerPrincipal: COUNT + 1, maxRunningPerPrincipal: COUNT };
  const { client, extension, errors } = world.node(define, { tasks: { limits } });
  const ids: string[] = [];
  while (ids.length < COUNT) ids.push(await client.start("ask"));
  await until("each task has run", () => runs === COUNT);
  await extension.idle();
  world.clock.advance(QUIET_MS);
  equal(world.clock.pending, 1);
  const last = ids.at(-1) as string;
  await client.update(last, { "ask-1": accept({}) });
  equal(await client.text(last), "gone on", "they wait and have not ended");
  equal(runs, COUNT + 1);
  equal(errors.length, 0);
});
