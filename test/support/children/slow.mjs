// Takes long to start: appends "start" to the file of the first argument, tells its pid on stderr, and reads nothing until
// SIGUSR2. Then it is a server of the package, of the versions of the second argument as JSON.
import { appendFileSync } from "node:fs";
import { serveStdio } from "bowline/node";
import { McpServer } from "bowline/server";

const [log, versions] = process.argv.slice(2);
const server = new McpServer({ name: "slow", version: "1" }, { versions: JSON.parse(versions), onError: () => {} });
server.tool("pid", {}, () => String(process.pid));
appendFileSync(log, "start ");
const waiting = setInterval(() => {}, 1 << 30);
process.once("SIGUSR2", () => {
  clearInterval(waiting);
  void serveStdio(server);
});
process.stderr.write(`pid ${process.pid}\n`);
