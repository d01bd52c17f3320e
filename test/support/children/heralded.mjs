// A server that listens, tells its address on stdout, and closes. Argument: options of serveHttp as JSON.
import { serveHttp } from "bowline/node";
import { McpServer } from "bowline/server";

const server = new McpServer({ name: "weather", version: "1.0.0" });
const running = await serveHttp(server, JSON.parse(process.argv[2]));
if (running.worker === undefined) {
  process.stdout.write(running.url);
  await running.close();
}
