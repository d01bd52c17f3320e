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
/** The inspector needs Node 22.19. */
const NODE = "22.23.3";

/** A JavaScript program and the Node executable that runs it. */
export interface Program {
  readonly node: string;
  readonly file: string;
}

export type PeerName = "inspector" | "mcp-remote" | "supergateway";

const FETCH: Readonly<Record<PeerName, () => Promise<Program>>> = {
  inspector: async () => {
    const node = await fetchNode(NODE);
    return { node, file: `${await fetchPackage(INSPECTOR)}/clients/launcher/build/index.js` };
  },
  "mcp-remote": () => programIn(MCP_REMOTE, "dist/proxy.js"),
  supergateway: () => programIn(SUPERGATEWAY, "dist/index.js"),
};

const fetched = new Map<string, Promise<Program>>();

/** Returns a program, fetched once; rejects with the reason if it is not available. */
export function programOf(peer: PeerName): Promise<Program> {
  return once(peer, FETCH[peer]);
}

/** Returns a program of a package `name@version`, fetched once; rejects with the reason if it is not available. */
export function programIn(source: string, file: string): Promise<Program> {
  return once(source, async () => ({ node: process.execPath, file: `${await fetchPackage(source)}/${file}` }));
}

function once(name: string, fetch: () => Promise<Program>): Promise<Program> {
  const known = fetched.get(name) ?? fetch().catch((error: Error) => refuse(name, error));
  fetched.set(name, known);
  return known;
}

function refuse(name: string, { message }: Error): never {
  throw new Error(message.includes(name) ? message : `${name}: ${message}`);
}
