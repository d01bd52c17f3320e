import { FastMCP } from "fastmcp";
import { descriptions, extraTools, handlers, hasProgress, hasSlow, info, resources } from "../../workload/app.mjs";
import { Echo, Extra, Slow } from "../../workload/schemas.mjs";
import { freePort } from "../listen.mjs";

const logger = { debug() {}, error() {}, info() {}, log() {}, warn() {} };

export function createServer() {
  const server = new FastMCP({ ...info, logger });
  const add = (name, description, parameters, execute) => server.addTool({ name, description, parameters, execute });
  add("echo", descriptions.echo, Echo, async (args) => handlers.echo(args));
  for (const { name, description } of extraTools) add(name, description, Extra, async (args) => handlers.extra(args));
  if (hasProgress) {
    add("progress", descriptions.progress, undefined, (_, { reportProgress }) =>
      handlers.progress((progress, total) => reportProgress({ progress, total })),
    );
  }
  if (hasSlow) add("slow", descriptions.slow, Slow, ({ tag }, { signal }) => handlers.slow(tag, signal));
  for (const { name, uri, mimeType, text } of resources) {
    server.addResource({ name, uri, mimeType, load: async () => ({ text }) });
  }
  return server;
}

export async function serveStdio() {
  await createServer().start({ transportType: "stdio" });
}

export async function serveHttp({ json }) {
  const port = await freePort();
  const httpStream = { port, host: "127.0.0.1", endpoint: "/mcp", enableJsonResponse: json === true };
  await createServer().start({ transportType: "httpStream", httpStream });
  return port;
}
