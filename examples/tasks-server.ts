import { setTimeout as sleep } from "node:timers/promises";
import { serveHttp } from "bowline/node";
import { McpServer } from "bowline/server";
import { tasks } from "bowline/tasks/server";

/**
 * Server with a tool that takes a while, on two processes of this machine. The tool runs as a task: if the process that
 * runs it is killed, the other one continues, and repeats nothing that is done. Prints its address.
 */
const SOUNDINGS = 5;

const server = new McpServer({ name: "survey", version: "1.0.0" })
  .extend(tasks({ pollIntervalMs: 100, limits: { statusIntervalMs: 50 } }))
  .tool(
    "survey",
    {
      description: "Sound the harbour",
      task: { support: "required", restartable: true },
      annotations: { readOnlyHint: true },
    },
    async (_, ctx) => {
      const depths: string[] = [];
      for (let number = 1; number <= SOUNDINGS; number++) {
        const sound = async () => {
          ctx.progress(number, SOUNDINGS, `sounding ${number} of ${SOUNDINGS} in process ${process.pid}`);
          await sleep(400, undefined, { signal: ctx.signal });
          return `${10 + number * 3} m in process ${process.pid}`;
        };
        depths.push(await ctx.step(`sounding ${number}`, sound));
      }
      return depths.join(", ");
    },
  );

const running = await serveHttp(server, { workers: 2 });
for (const signal of ["SIGINT", "SIGTERM"]) process.once(signal, () => running.close());
if (running.worker === undefined) console.log(running.url);
