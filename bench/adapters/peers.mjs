import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { peer as bare } from "./bare/peer.mjs";
import { peer as bowline } from "./bowline/peer.mjs";
import { peer as fastmcp } from "./fastmcp/peer.mjs";
import { peer as mcpLite } from "./mcp-lite/peer.mjs";
import { peer as officialV1 } from "./official-v1/peer.mjs";
import { peer as officialV2 } from "./official-v2/peer.mjs";
import { peer as tmcp } from "./tmcp/peer.mjs";

/** What is measured, by the name of its folder. What a peer.mjs says loads nothing of the peer itself. */
export const peers = {
  bare,
  bowline,
  "official-v2": officialV2,
  "official-v1": officialV1,
  fastmcp,
  tmcp,
  "mcp-lite": mcpLite,
};

export const floor = "bare";

/** Leaves those out that a run is not about. */
export function choosePeers(names) {
  const unknown = names.filter((name) => peers[name] === undefined);
  if (unknown.length > 0) throw new Error(`there is no peer ${unknown.join(", ")}; there are ${Object.keys(peers)}`);
  for (const name of Object.keys(peers)) if (![floor, "bowline", ...names].includes(name)) delete peers[name];
}

/** The names of those that speak a wire. */
export const on = (wire) => Object.keys(peers).filter((name) => peers[name].wires.includes(wire));

/** The path of a small program of a peer: `stdio`, `http` or `client`; undefined when it has none. */
export function programOf(name, kind) {
  const path = fileURLToPath(new URL(`${name}/programs/${kind}.mjs`, import.meta.url));
  return existsSync(path) ? path : undefined;
}
