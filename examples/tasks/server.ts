import { setTimeout as sleep } from "node:timers/promises";
import { serveHttp } from "bowline/node";
import { McpServer } from "bowline/server";
import { sqliteCluster } from "bowline/sqlite";
import { tasks } from "bowline/tasks/server";
import * as z from "zod";

/**
 * Server whose tasks are kept in a file. If it is killed and started again, its tasks continue, and repeat nothing that
 * is done. Several processes may serve the same file.
 *
 * Needs Node.js 22.13 or newer, for SQLite: `node server.js [file] [port]`. Prints its address.
 */
const [path = "harbour.db", port = "3000"] = process.argv.slice(2);

const cluster = sqliteCluster({ path });
await cluster.ready;

const server = new McpServer({ name: "harbour", version: "1.0.0" }, { logger: console })
  .extend(tasks({ cluster, pollIntervalMs: 500, limits: { leaseMs: 3_000, statusIntervalMs: 200 } }))
  .tool(
    "survey",
    {
      description: "Sounds a harbour and publishes its chart. Asks before it publishes",
      input: z.object({
        harbour: z.string().describe("Name of the harbour"),
        soundings: z.int().min(1).max(100).default(5).describe("Number of soundings"),
      }),
      annotations: { destructiveHint: false, idempotentHint: false },
      task: { support: "required", restartable: true },
    },
    async ({ harbour, soundings }, ctx) => {
      const depths: number[] = [];
      for (let number = 1; number <= soundings; number++) {
        const sound = async () => {
          ctx.progress(number, soundings, `sounding ${number} of ${soundings} in process ${process.pid}`);
          await sleep(1_000, undefined, { signal: ctx.signal });
          console.log(`sounded ${number}`);
          return 10 + number;
        };
        depths.push(await ctx.step(`sounding ${number}`, sound));
      }
      const chart = `${harbour}: ${depths.join(", ")} m`;
      const { action } = await ctx.elicit(`Publish the chart "${chart}"?`, z.object({}));
      if (action !== "accept") return `${chart} (not published)`;
      // A service that accepts an idempotency key publishes once, even if the process is killed before the step is recorded.
      const at = await ctx.step("publish", () => `https://example.com/charts/${ctx.idempotencyKey}`);
      return `${chart}, published at ${at}`;
    },
  );

const running = await serveHttp(server, { port: Number(port) });
console.log(running.url);

for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, async () => {
    await running.close();
    await cluster.close();
  });
