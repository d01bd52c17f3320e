import { randomUUID } from "node:crypto";
import { connect, headers } from "@nats-io/transport-node";
import type { Cluster } from "#src/cluster/cluster.js";
import { fromNats } from "#src/nats/from-nats.js";
import { type NatsClusterOptions, natsCluster } from "#src/nats/nats-cluster.js";
import type { Open } from "../../contract/contract.js";
import { until } from "../../contract/world.js";
import { cuttable, type NatsServer } from "../../support/engines/nats.js";

export const clientOf = (url: string) => fromNats({ connect, headers }, { servers: url });

/** Returns a prefix that no other test uses. */
export const newPrefix = () => `test-${randomUUID().slice(0, 23)}`;

/** Creates worlds of the contract on one server. Each has a prefix of its own. */
export function openOn(server: () => NatsServer, options: Partial<NatsClusterOptions> = {}): Open {
  return async () => {
    await server().start();
    const prefix = newPrefix();
    const cuts = new Map<Cluster, () => void>();
    return {
      async node() {
        const client = cuttable(clientOf(server().url));
        const node = natsCluster({ client, prefix, ...options });
        cuts.set(node, () => client.cut());
        // A busy machine may need more than one attempt.
        await until(() => node.available, "a node starts").catch(async (error: unknown) => {
          await node.close();
          throw error;
        });
        return node;
      },
      crash: (node) => cuts.get(node)?.(),
      engine: { kill: () => server().kill(), start: () => server().start() },
    };
  };
}
