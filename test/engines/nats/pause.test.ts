import { after } from "node:test";
import { natsCluster } from "#src/nats/nats-cluster.js";
import { pauseContract } from "../../contract/pause.js";
import { startNats } from "../../support/engines/nats.js";
import { clientOf, newPrefix } from "./world.js";

const server = await startNats();
after(() => server.end());

pauseContract("NATS", async (t) => {
  const prefix = newPrefix();
  const node = natsCluster({ client: clientOf(server.url), prefix });
  t.after(() => node.close());
  await node.ready;
  return { node, args: ["nats", server.url, prefix] };
});
