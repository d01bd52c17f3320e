import { type McpServer, RpcError } from "bowline/server";
import { tasks } from "bowline/tasks/server";
import * as z from "zod";

const INTERNAL_ERROR = -32603;

/** Adds the tools of the tasks extension under the names that the suite expects. */
export function addTasks(server: McpServer): void {
  server.extend(tasks({ pollIntervalMs: 100 }));

  server.tool(
    "greet",
    { description: "Greets", input: z.object({ name: z.string() }) },
    ({ name }) => `Hello, ${name}!`,
  );

  server.tool(
    "slow_compute",
    {
      description: "Computes for a time",
      input: z.object({ seconds: z.number().min(0).max(60), label: z.string().optional() }),
      task: "optional",
    },
    async ({ seconds, label }, ctx) => {
      await passed(seconds * 1_000, ctx.signal);
      return `Computed ${label ?? "nothing"} for ${seconds} s`;
    },
  );

  server.tool("failing_job", { description: "Fails", task: "required" }, () => ({
    content: [{ type: "text", text: "The job has failed" }],
    isError: true,
  }));

  server.tool("protocol_error_job", { description: "Fails with a protocol error", task: "optional" }, () => {
    throw new RpcError(INTERNAL_ERROR, "The job cannot run");
  });

  server.tool(
    "confirm_delete",
    { description: "Asks before it deletes", input: z.object({ filename: z.string() }), task: "optional" },
    async ({ filename }, ctx) => {
      const answer = await ctx.elicit(`Delete ${filename}?`, z.object({ confirm: z.boolean() }));
      return answer.content?.confirm === true ? `Deleted ${filename}` : `Kept ${filename}`;
    },
  );

  server.tool("multi_input", { description: "Asks two questions at once", task: "optional" }, async (_, ctx) => {
    const [first, second] = await Promise.all([
      ctx.elicit("What is your name?", z.object({ name: z.string() })),
      ctx.elicit("What is your friend's name?", z.object({ name: z.string() })),
    ]);
    return `${first.content?.name} and ${second.content?.name}`;
  });

  // The name is asked for in the ordinary way, since the call is not yet a task then.
  server.tool(
    "test_tool_with_task",
    { description: "Asks for a name, then works", task: { promoteAfterMs: 50 } },
    async (_, ctx) => {
      const answer = await ctx.elicit("What is your name?", z.object({ name: z.string() }), { key: "user_name" });
      await passed(200, ctx.signal);
      return `Hello, ${answer.content?.name}!`;
    },
  );
}

/** Resolves after the time, or rejects when the call has ended. */
function passed(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}
