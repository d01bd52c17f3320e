import { support } from "../support.mjs";

export async function openEngine() {
  const { startNats } = await support("engines/nats.js");
  const server = await startNats();
  return { address: server.url, kill: server.kill, start: server.start, end: server.end };
}

export async function connectNode(url) {
  const { connect, headers } = await import("@nats-io/transport-node");
  const { fromNats, natsCluster } = await import("bowline/nats");
  const cluster = natsCluster({ client: fromNats({ connect, headers }, { servers: url }), prefix: "chaos" });
  await cluster.ready;
  return cluster;
}
