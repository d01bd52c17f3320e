import { serveHttp as serveBowlineHttp, serveStdio as serveBowlineStdio } from "bowline/node";
import { McpServer } from "bowline/server";
import { descriptions, extraTools, handlers, hasProgress, hasSlow, info, resources } from "../../workload/app.mjs";
import { Echo, Extra, Slow } from "../../workload/schemas.mjs";

/** A server accepts ten thousand sessions by default. One measurement opens a few more. */
const sessions = { max: 20_000 };

export function createServer({ json } = {}) {
  const server = new McpServer(info, { http: { preferJson: json === true, sessions } });
  server.tool("echo", { description: descriptions.echo, input: Echo }, handlers.echo);
  for (const { name, description } of extraTools) server.tool(name, { description, input: Extra }, handlers.extra);
  if (hasProgress) {
    server.tool("progress", { description: descriptions.progress }, (_, ctx) =>
      handlers.progress((progress, total) => ctx.progress(progress, total)),
    );
  }
  if (hasSlow) {
    server.tool("slow", { description: descriptions.slow, input: Slow }, ({ tag }, ctx) =>
      handlers.slow(tag, ctx.signal),
    );
  }
  for (const { name, uri, mimeType, text } of resources) server.resource(uri, { name, mimeType }, () => text);
  return server;
}

export async function serveHttp(wire) {
  const { port } = await serveBowlineHttp(createServer(wire), { port: 0 });
  return port;
}

export function serveStdio() {
  void serveBowlineStdio(createServer());
}
