import { setImmediate as turn } from "node:timers/promises";
import { serveStdio } from "bowline/node";
import { createWaiting } from "./abort-many.js";
import { takeCensus } from "./census.js";

/** A program: the waiting server on its standard streams, which also tells what it holds. */
const { server, counts } = createWaiting();
server.tool("counts", {}, () => ({ ...counts() }));
server.tool("stats", {}, async () => {
  await turn();
  return { ...server.stats() };
});
server.tool("census", {}, async () => ({ ...(await takeCensus()) }));
await serveStdio(server);
