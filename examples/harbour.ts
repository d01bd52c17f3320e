import { McpServer } from "bowline/server";
import * as z from "zod";

const BERTH = z.string().describe("Name of the berth");

/** Creates a small server that reports progress, asks the user, and stops when a call is cancelled. */
export function createHarbour(onInterrupted: () => void = () => {}) {
  const berths = new Map<string, string>();
  const server = new McpServer({ name: "harbour", version: "1.0.0" }, { instructions: "Moor ships, and let them go." });
  return server
    .tool(
      "moor",
      {
        description: "Bring a ship to a berth",
        input: z.object({ ship: z.string().describe("Name of the ship"), berth: BERTH }),
        output: z.object({ ship: z.string(), berth: z.string(), lines: z.number() }),
        annotations: { destructiveHint: false, idempotentHint: false },
      },
      async ({ ship, berth }, ctx) => {
        for (let line = 1; line <= 4; line++) {
          await sleep(120, ctx.signal);
          ctx.progress(line, 4, `line ${line} made fast`);
        }
        berths.set(berth, ship);
        server.changes.resourceUpdated(`berth://${berth}`);
        return { ship, berth, lines: 4 };
      },
    )
    .tool(
      "cast-off",
      {
        description: "Let a ship leave, after asking the harbour master",
        input: z.object({ berth: BERTH }),
        annotations: { destructiveHint: true, idempotentHint: false },
      },
      async ({ berth }, ctx) => {
        const ship = await ctx.step("look", () => berths.get(berth) ?? "nothing");
        const answer = await ctx.elicit(`Let ${ship} go from ${berth}?`, z.object({ sure: z.boolean() }));
        if (answer.action !== "accept" || !answer.content.sure) return `${ship} stays`;
        await ctx.step("let go", () => void berths.delete(berth));
        return `${ship} is off`;
      },
    )
    .tool(
      "sound-the-horn",
      { description: "Sounds the horn until the call is cancelled", annotations: { destructiveHint: false } },
      async (_args, ctx) => {
        ctx.signal.addEventListener("abort", onInterrupted, { once: true });
        ctx.progress(1, undefined, "toot");
        await sleep(60_000, ctx.signal);
      },
    )
    .resource("berth://{name}", { name: "berth" }, ({ name }) => berths.get(name) ?? "free")
    .prompt(
      "log-entry",
      { arguments: z.object({ ship: z.string() }) },
      ({ ship }) => `Write a log entry for the ${ship}.`,
    );
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, ms);
    signal.addEventListener("abort", () => {
      clearTimeout(timer);
      reject(signal.reason);
    });
  });
}
