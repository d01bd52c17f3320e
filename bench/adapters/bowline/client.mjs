import { connect as connectBowline } from "bowline/client";
import { resources } from "../../workload/app.mjs";

export async function connect(wire, target) {
  const client = await open(await targetOf(wire, target), wire);
  return {
    echo: (text) => client.callTool("echo", { text }),
    list: () => client.listTools(),
    read1k: () => client.readResource(resources[0].uri),
    read1m: () => client.readResource(resources[1].uri),
    progress: (onProgress) => client.callTool("progress", {}, { onProgress }),
    slow: (tag, signal) => client.callTool("slow", { tag }, { signal }),
  };
}

/** An older build negotiates `versions` with one version, and has the option `version` for none. */
function open(target, { modern }) {
  if (!modern) return connectBowline(target, { era: "legacy" });
  const version = "2026-07-28";
  return connectBowline(target, { version }).catch(() => connectBowline(target, { versions: [version] }));
}

async function targetOf(wire, target) {
  if (wire.transport === "http") return target.url;
  if (wire.transport === "stdio") return target;
  const { createServer } = await import("./server.mjs");
  return createServer();
}
