import { equal, ok } from "node:assert/strict";
import { McpServer } from "bowline/server";
import { bareChannels } from "../support/bare-wire.js";
import { takeCensus } from "../support/census.js";
import { verifies } from "../support/verifies.js";

const LEGS = 10_000;
const WARM_UP = 1000;
const AT_ONCE = 100;
const HEAP_BOUND = 1_000_000;
const form = { type: "object", properties: {} } as const;
const wires = bareChannels.filter(({ name }) => name === "modern-memory");

verifies(
  "mrtr:server:independent-legs",
  "ten thousand questions that are never answered leave nothing at the server",
  wires,
  async (world) => {
    const server = new McpServer({ name: "asking", version: "1.0.0" }).tool("ask", {}, async (_, ctx) => {
      return (await ctx.elicit("Sure?", form)).action;
    });
    const { client } = await world.connect(server, { input: "manual", onElicit: () => ({ action: "decline" }) });
    const leave = async (count: number) => {
      for (let made = 0; made < count; made += AT_ONCE) {
        const legs = Array.from({ length: AT_ONCE }, () => client.request("tools/call", { name: "ask" }));
        for (const leg of await Promise.all(legs)) equal((leg as { resultType?: string }).resultType, "input_required");
      }
      const { running = 0, openRequests = 0 } = server.stats();
      equal(running + openRequests, 0);
      return (await takeCensus()).heap;
    };
    const before = await leave(WARM_UP);
    const growth = (await leave(LEGS)) - before;
    ok(growth < HEAP_BOUND, `the heap grew by ${growth} bytes in ${LEGS} legs`);
  },
);
