import { Client, InMemoryTransport, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { info, resources } from "../../workload/app.mjs";

export async function connect(wire, target) {
  const client = new Client(info, wire.modern ? { versionNegotiation: { mode: { pin: "2026-07-28" } } } : {});
  await client.connect(await transportTo(wire, target));
  return {
    echo: (text) => client.callTool({ name: "echo", arguments: { text } }),
    list: () => client.listTools(),
    read1k: () => client.readResource({ uri: resources[0].uri }),
    read1m: () => client.readResource({ uri: resources[1].uri }),
    progress: (onprogress) => client.callTool({ name: "progress", arguments: {} }, { onprogress }),
    slow: (tag, signal) => client.callTool({ name: "slow", arguments: { tag } }, { signal }),
  };
}

async function transportTo({ transport, modern }, target) {
  if (transport === "http") return new StreamableHTTPClientTransport(new URL(target.url));
  if (transport === "stdio") {
    const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
    return new StdioClientTransport(target);
  }
  const { createServer } = await import("./server.mjs");
  if (modern) {
    // Its linked pair supports the legacy era only. In the modern era, its tests call the web handler.
    const { createMcpHandler } = await import("@modelcontextprotocol/server");
    const handler = createMcpHandler(createServer);
    const fetch = (url, init) => handler.fetch(new Request(url, init));
    return new StreamableHTTPClientTransport(new URL("http://127.0.0.1/mcp"), { fetch });
  }
  const [near, far] = InMemoryTransport.createLinkedPair();
  await createServer().connect(far);
  return near;
}
