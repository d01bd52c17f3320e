import { type EraName, HANDSHAKE_VERSIONS, type ProtocolVersion, STATELESS_VERSIONS } from "./versions.js";

/** An era as a peer from outside sees it: its versions, and how a connection begins. */
export interface SpokenEra {
  readonly name: EraName;
  readonly versions: readonly ProtocolVersion[];
  /** Request that begins a connection, or tells what the server offers. */
  readonly opening: "initialize" | "server/discover";
}

/** All eras. The first can be asked of any server without an end of the process. */
export const SPOKEN_ERAS: readonly SpokenEra[] = [
  { name: "legacy", versions: HANDSHAKE_VERSIONS, opening: "initialize" },
  { name: "modern", versions: STATELESS_VERSIONS, opening: "server/discover" },
];
