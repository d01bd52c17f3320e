/** The functions of `scripts/lib/fetch.mjs`, which fetch packages that are not in the lockfile. */
interface Fetch {
  fetchNode(version: string): Promise<string>;
  fetchPackage(source: string): Promise<string>;
}

const script = new URL("../../../scripts/lib/fetch.mjs", import.meta.url);
const { fetchNode, fetchPackage } = (await import(script.href)) as Fetch;

const INSPECTOR = "@modelcontextprotocol/inspector@2.12.0";
const MCP_REMOTE = "mcp-remote@0.15.1";
const SUPERGATEWAY = "supergateway@4.0.0";
const MEMORY = "@modelcontextprotocol/server-memory@2026.8.31";
const ESLINT = "@eslint/mcp@0.3.13";
const MAPBOX = "@mapbox/mcp-server@0.14.0";
const FIGMA = "figma-developer-mcp@0.13.2";
/** The inspector needs Node 22.19. */
const NODE = "22.23.3";

/** A JavaScript program and the Node executable that runs it. */
export interface Program {
  readonly node: string;
  readonly file: string;
}

export type PeerName = "inspector" | "mcp-remote" | "supergateway" | "memory" | "eslint" | "mapbox" | "figma";

const FETCH: Readonly<Record<PeerName, () => Promise<Program>>> = {
  inspector: async () => {
    const node = await fetchNode(NODE);
    return { node, file: `${await fetchPackage(INSPECTOR)}/clients/launcher/build/index.js` };
  },
  "mcp-remote": () => programIn(MCP_REMOTE, "dist/proxy.js"),
  supergateway: () => programIn(SUPERGATEWAY, "dist/index.js"),
  memory: () => programIn(MEMORY, "dist/index.js"),
  eslint: () => programIn(ESLINT, "src/mcp-cli.js"),
  mapbox: () => programIn(MAPBOX, "dist/esm/index.js"),
  figma: () => programIn(FIGMA, "dist/bin.js"),
};

async function programIn(source: string, file: string): Promise<Program> {
  return { node: process.execPath, file: `${await fetchPackage(source)}/${file}` };
}

const fetched = new Map<PeerName, Promise<Program>>();

/** Returns a program, fetched once; rejects with the reason if it is not available. */
export function programOf(peer: PeerName): Promise<Program> {
  const known = fetched.get(peer) ?? FETCH[peer]().catch((error: Error) => refuse(peer, error));
  fetched.set(peer, known);
  return known;
}

function refuse(peer: PeerName, { message }: Error): never {
  throw new Error(`${peer}: ${message}`);
}
