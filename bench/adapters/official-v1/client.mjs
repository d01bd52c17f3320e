import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { info, resources } from "../../workload/app.mjs";

export async function connect(wire, target) {
  const client = new Client(info);
  await client.connect(await transportTo(wire, target));
  return wrap(client);
}

async function transportTo({ transport }, target) {
  if (transport === "http") {
    const { StreamableHTTPClientTransport } = await import("@modelcontextprotocol/sdk/client/streamableHttp.js");
    return new StreamableHTTPClientTransport(new URL(target.url));
  }
  if (transport === "stdio") {
    const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
    return new StdioClientTransport(target);
  }
  const { InMemoryTransport } = await import("@modelcontextprotocol/sdk/inMemory.js");
  const { createServer } = await import("./server.mjs");
  const [near, far] = InMemoryTransport.createLinkedPair();
  await createServer().connect(far);
  return near;
}

/** Also used for SDKs whose users use this client. */
export function wrap(client) {
  return {
    echo: (text) => client.callTool({ name: "echo", arguments: { text } }),
    list: () => client.listTools(),
    read1k: () => client.readResource({ uri: resources[0].uri }),
    read1m: () => client.readResource({ uri: resources[1].uri }),
    progress: (onprogress) => client.callTool({ name: "progress", arguments: {} }, undefined, { onprogress }),
    slow: (tag, signal) => client.callTool({ name: "slow", arguments: { tag } }, undefined, { signal }),
  };
}
