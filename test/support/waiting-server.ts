import { setImmediate as turn } from "node:timers/promises";
import { serveStdio } from "bowline/node";
import { createWaiting, type WaitCounts } from "./abort-many.js";
import { takeCensus } from "./census.js";

/** A program: the waiting server on its standard streams, which also tells what it holds. */
const { server, reached } = createWaiting();
server.tool("reached", { input: { type: "object" } }, async (input) => {
  const { kind, count } = input as { readonly kind: keyof WaitCounts; readonly count: number };
  await reached(kind, count);
  return "reached";
});
server.tool("stats", {}, async () => {
  await turn();
  return { ...server.stats() };
});
server.tool("census", {}, async () => ({ ...(await takeCensus()) }));
await serveStdio(server);
