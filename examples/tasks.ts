import { connect } from "bowline/client";
import { serveHttp } from "bowline/node";
import { McpServer } from "bowline/server";
import { tasks as followTasks, TasksClient } from "bowline/tasks/client";
import { tasks } from "bowline/tasks/server";
import * as z from "zod";

// A task whose process is killed while it runs: `node examples/dist/tasks.js`. This program runs in three processes. The
// first one starts two workers that serve, and calls them as a client.

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

const server = new McpServer({ name: "harbour", version: "1.0.0" }).extend(tasks({ pollIntervalMs: 250 }));
server.tool(
  "survey",
  { input: z.object({ berths: z.number() }), task: { support: "required", restartable: true } },
  async ({ berths }, ctx) => {
    const { content } = await ctx.elicit("Who surveys?", z.object({ name: z.string() }));
    const depths: string[] = [];
    for (let berth = 1; berth <= berths; berth++) {
      // A step that is done is not run again, whichever process goes on.
      const depth = await ctx.step(`berth ${berth}`, async () => {
        await ctx.progress(berth, berths, `berth ${berth}, sounded by process ${process.pid}`);
        await pause(1_500);
        return `${10 + berth} m by ${process.pid}`;
      });
      depths.push(depth);
    }
    return `${content?.name}: ${depths.join(", ")}`;
  },
);

const running = await serveHttp(server, { workers: 2, lameDuckMs: 0 });
if (running.worker === undefined) {
  await follow(running.url);
  await running.close();
}

/** Starts the task, kills the process that runs it, and waits for its end. */
async function follow(url: string): Promise<void> {
  const client = await connect(url, {
    extensions: followTasks(),
    onElicit: ({ message }) => {
      console.log(`question: ${message}`);
      return { action: "accept", content: { name: "Ada" } };
    },
  });
  const handle = await new TasksClient(client).startTool("survey", { berths: 4 });
  console.log(`task ${handle.id}`);
  let isKilled = false;
  for await (const { status, statusMessage = "" } of handle) {
    console.log(`${status} ${statusMessage}`);
    const runner = Number(/berth 2, sounded by process (\d+)/.exec(statusMessage)?.[1]);
    if (isKilled || !runner) continue;
    isKilled = true;
    console.log(`kill -9 ${runner}`);
    process.kill(runner, "SIGKILL");
  }
  console.log((await handle.result).text);
  await client.close();
}
