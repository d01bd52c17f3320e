export { Denied, type NatsClient, type NatsLine, type NatsMessage, NotSent } from "../nats/client.js";
export { fromNats, type NatsLibrary } from "../nats/from-nats.js";
export { type NatsCluster, type NatsClusterOptions, natsCluster } from "../nats/nats-cluster.js";
