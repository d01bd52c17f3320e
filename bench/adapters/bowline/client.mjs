import { connect as connectBowline } from "bowline/client";
import { resources } from "../../workload/app.mjs";

export async function connect(wire, target) {
  const client = await connectBowline(
    await targetOf(wire, target),
    wire.modern ? { version: "2026-07-28" } : { era: "legacy" },
  );
  return {
    echo: (text) => client.callTool("echo", { text }),
    list: () => client.listTools(),
    read1k: () => client.readResource(resources[0].uri),
    read1m: () => client.readResource(resources[1].uri),
    progress: (onProgress) => client.callTool("progress", {}, { onProgress }),
    slow: (tag, signal) => client.callTool("slow", { tag }, { signal }),
  };
}

async function targetOf(wire, target) {
  if (wire.transport === "http") return target.url;
  if (wire.transport === "stdio") return target;
  const { createServer } = await import("./server.mjs");
  return createServer();
}
