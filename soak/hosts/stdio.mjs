import { serveStdio } from "bowline/node";
import { createApp } from "../app.mjs";
import { countHandles, measureHeap } from "../census.mjs";
import { isOrdinaryReport } from "../tally.mjs";

/** Program: the server of the soak on its standard streams, which also reports what it holds. */
const { server } = createApp({
  onReport: (error) => {
    if (!isOrdinaryReport(error)) process.stderr.write(`report: ${error?.stack ?? error}\n`);
  },
});
server
  .tool("pid", {}, () => ({ pid: process.pid }))
  .tool("stats", {}, () => ({ ...server.stats() }))
  .tool("census", {}, async () => ({ heap: await measureHeap(), handles: countHandles() }));
await serveStdio(server);
