import { serveHttp } from "bowline/node";
import { McpServer } from "bowline/server";
import { tasks } from "bowline/tasks/server";
import { redisCluster } from "#src/redis/cluster.js";

/** Program of a process that a test kills. Its arguments are the address of Redis, and a prefix. */
const [url = "", prefix = ""] = process.argv.slice(2);

/** Message of the process to the test. */
export interface Served {
  readonly url: string;
}

const FORM = { type: "object", properties: { name: { type: "string" } }, required: ["name"] } as const;
const stateKeys = [{ id: "k", secret: new Uint8Array(32).fill(1) }];

// A test that imports the types of this file starts nothing.
if (process.send !== undefined && prefix !== "") {
  const { libraries } = await import("../../engines/redis/world.js");
  const cluster = redisCluster({ client: libraries.redis(url), prefix, heartbeatMs: 200 });
  await cluster.ready;
  const limits = { nodeLeaseMs: 1_000 };
  const server = new McpServer(
    { name: "node", version: "1" },
    { cluster, stateKeys, limits, http: { resumable: true } },
  )
    .extend(tasks({ limits: { leaseMs: 1_000 } }))
    .tool("greet", { task: { support: "required", restartable: true } }, async (_, ctx) => {
      const { content } = await ctx.elicit("Your name?", FORM);
      return `hello ${content?.name}`;
    });
  const running = await serveHttp(server, { host: "127.0.0.1", port: 0 });
  process.on("disconnect", () => process.exit());
  process.send({ url: running.url } satisfies Served);
}
