import { InMemoryTransport } from "@tmcp/transport-in-memory";
import { info, resources } from "../../workload/app.mjs";
import { createServer } from "./server.mjs";

/** Uses its transport for tests, which does not show progress. */
export async function connect({ modern }) {
  const transport = new InMemoryTransport(createServer());
  const client = modern ? transport.stateless({ clientCapabilities: {}, clientInfo: info }) : transport.session();
  if (!modern) await client.initialize("2025-11-25", {}, info);
  let calls = 0;
  return {
    echo: (text) => {
      // It keeps every message. Clear it now and then, so that the heap does not fill up.
      if ((++calls & 1023) === 0) transport.clear?.();
      return client.callTool("echo", { text });
    },
    list: () => client.listTools(),
    read1k: () => client.readResource(resources[0].uri),
    read1m: () => client.readResource(resources[1].uri),
  };
}
