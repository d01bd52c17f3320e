import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { peer as bare } from "./bare/peer.mjs";
import { peer as bowline } from "./bowline/peer.mjs";
import { peer as fastmcp } from "./fastmcp/peer.mjs";
import { peer as goSdk } from "./go-sdk/peer.mjs";
import { peer as mcpLite } from "./mcp-lite/peer.mjs";
import { peer as officialV1 } from "./official-v1/peer.mjs";
import { peer as officialV2 } from "./official-v2/peer.mjs";
import { peer as rmcp } from "./rmcp/peer.mjs";
import { peer as tmcp } from "./tmcp/peer.mjs";

/** Peers that are measured, by the name of their folder. Importing a peer.mjs does not load the peer itself. */
export const peers = {
  bare,
  bowline,
  "official-v2": officialV2,
  "official-v1": officialV1,
  fastmcp,
  tmcp,
  "mcp-lite": mcpLite,
  rmcp,
  "go-sdk": goSdk,
};

export const floor = "bare";

/** Removes the peers that are not chosen. */
export function choosePeers(names) {
  const unknown = names.filter((name) => peers[name] === undefined);
  if (unknown.length > 0) throw new Error(`there is no peer ${unknown.join(", ")}; there are ${Object.keys(peers)}`);
  for (const name of Object.keys(peers)) if (![floor, "bowline", ...names].includes(name)) delete peers[name];
}

/** Returns the names of the peers that support a wire. */
export const on = (wire) => Object.keys(peers).filter((name) => peers[name].wires.includes(wire));

/** Returns the names of the peers that also serve a legacy wire without sessions. */
export const sessionlessOn = (wire) => Object.keys(peers).filter((name) => peers[name].sessionless?.includes(wire));

/** Returns the name of a peer where it serves without sessions. */
export const sessionless = (name) => `${name} without sessions`;

/** Returns the path of a small program of a peer (`stdio`, `http` or `client`), or undefined if it has none. */
export function programOf(name, kind) {
  const path = fileURLToPath(new URL(`${name}/programs/${kind}.mjs`, import.meta.url));
  return existsSync(path) ? path : undefined;
}
