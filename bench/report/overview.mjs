import { dateOf, table } from "./markdown.mjs";

/** Wires of the overview in the README, with names for newcomers. Older versions have both forms of a response. */
export const overview = {
  "http modern": "Streamable HTTP, 2026-07-28",
  "http legacy json": "Streamable HTTP, 2025-11-25, JSON",
  "http legacy sse": "Streamable HTTP, 2025-11-25, events",
  "stdio modern": "stdio, 2026-07-28",
};

/** Packages of the peers: of npm, and of the registries of Rust and Go. */
const packages = {
  bowline: "bowline",
  "official-v2": "@modelcontextprotocol/server",
  "official-v1": "@modelcontextprotocol/sdk",
  fastmcp: "fastmcp",
  tmcp: "tmcp",
  "mcp-lite": "mcp-lite",
  rmcp: "rmcp",
  "go-sdk": "github.com/modelcontextprotocol/go-sdk",
};

/**
 * Returns the overview for the README: the chart, and a table with a row per peer. Without the commit that was measured
 * nobody can repeat the figures, so that the README shows none.
 */
export function toOverview(document) {
  const { run } = document;
  return run.commit === undefined ? "" : `![${chart}](docs/overview.svg)\n\n${toOverviewTable(document)}`;
}

const chart = "Tool calls per second of each SDK as a share of bare Node";

/** Returns the overview as a table. It has the peers and the figures of the chart. */
export function toOverviewTable({ calls = {}, size = {}, run }) {
  const wires = Object.keys(overview).filter((wire) => calls[wire] !== undefined);
  const isShown = (peer) => wires.some((wire) => figureOf(calls, wire, peer) !== undefined);
  const rows = Object.keys(packages)
    .filter(isShown)
    .map((peer) => [
      `${peer} (\`${packages[peer]}\` ${run.versions[packages[peer]] ?? run.versions[peer]})`,
      ...wires.map((wire) => figureOf(calls, wire, peer) ?? ""),
      String(size.installed?.server[peer]?.packages ?? ""),
    ]);
  const head = ["calls per second", ...wires.map((wire) => overview[wire]), "packages of a server"];
  return `${table(head, rows)}\n\n${dateOf(run)}, Node ${run.node}, ${run.processor}, 16 calls at a time. An empty field was not measured.\n`;
}

function figureOf(calls, wire, peer) {
  const figure = calls[wire][peer]?.["echo@16"]?.perSecond.median;
  return figure === undefined ? undefined : Math.round(figure).toLocaleString("en-US");
}
