import { serveHttp as serveBowlineHttp, serveStdio as serveBowlineStdio } from "bowline/node";
import { McpServer } from "bowline/server";
import { descriptions, extraTools, handlers, hasProgress, hasSlow, info, resources } from "../../workload/app.mjs";
import { Echo, Extra, Slow } from "../../workload/schemas.mjs";

/** A server accepts ten thousand sessions by default. One measurement opens a few more. */
const MAX_SESSIONS = 20_000;

/** Creates a server. Older builds had the limit among the options of sessions, which later ones refuse there. */
function create({ json, sessions }, shared) {
  if (sessions === false)
    return new McpServer(info, { http: { responseMode: responseMode(json), sessions }, ...shared });
  const older = { preferJson: json };
  try {
    return new McpServer(info, { http: { ...older, sessions: { max: MAX_SESSIONS } }, ...shared });
  } catch {}
  const limits = { maxSessions: MAX_SESSIONS };
  try {
    return new McpServer(info, { http: older, limits, ...shared });
  } catch {
    return new McpServer(info, { http: { responseMode: responseMode(json) }, limits, ...shared });
  }
}

const responseMode = (json) => (json ? "prefer-json" : "auto");

export function createServer({ json = false, sessions } = {}, shared = {}) {
  const server = create({ json, sessions }, shared);
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

/** Returns the options of a server that shares its sessions by Redis at this address. */
async function sharedOptions(url) {
  if (url === undefined) return {};
  const [{ redisCluster, fromNodeRedis }, { createClient }] = await Promise.all([
    import("bowline/redis"),
    import("redis"),
  ]);
  const cluster = redisCluster({ client: fromNodeRedis(createClient({ url })) });
  await cluster.ready;
  return { cluster, stateKeys: [{ id: "1", secret: new Uint8Array(32) }] };
}

export async function serveHttp(wire) {
  const { port } = await serveBowlineHttp(createServer(wire, await sharedOptions(process.env.BENCH_CLUSTER)), {
    port: 0,
  });
  return port;
}

export function serveStdio() {
  void serveBowlineStdio(createServer());
}
