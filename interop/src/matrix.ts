import type { Era } from "./driver.js";

export type Sdk = "bowline" | "v1" | "v2";

/** One line of the matrix: a client on a server over one wire in one era. */
export interface Pair {
  readonly client: Sdk;
  readonly server: Sdk;
  /** How the server is started: its program's argument. All but stdio are HTTP. */
  readonly mode: string;
  readonly era: Era;
  /** Checks that make no sense here. */
  readonly lacks: readonly string[];
}

interface ServerMode {
  readonly sdk: Sdk;
  readonly mode: string;
  readonly eras: readonly Era[];
  readonly lacks?: readonly string[];
}

/** A JSON document has no room for what happens on the way. */
const JSON_LACKS = ["progress", "log"];
/** Bowline does not put a call's questions on another stream than the call's, and in JSON mode there is none. */
const QUESTIONS = ["elicit", "sample", "roots"];
/** A client without a session cannot be asked or told anything outside of its own requests. */
const STATELESS_LACKS = [...QUESTIONS, "log", "changes"];

/** What each server can be started as, and the eras that it speaks then. */
const SERVERS: readonly ServerMode[] = [
  { sdk: "bowline", mode: "stdio", eras: ["legacy", "modern"] },
  { sdk: "bowline", mode: "http", eras: ["legacy", "modern"] },
  { sdk: "bowline", mode: "json", eras: ["legacy"], lacks: [...JSON_LACKS, ...QUESTIONS] },
  { sdk: "bowline", mode: "resumable", eras: ["legacy"] },
  { sdk: "v1", mode: "stdio", eras: ["legacy"] },
  { sdk: "v1", mode: "http", eras: ["legacy"] },
  { sdk: "v1", mode: "json", eras: ["legacy"], lacks: JSON_LACKS },
  { sdk: "v1", mode: "resumable", eras: ["legacy"] },
  { sdk: "v2", mode: "stdio", eras: ["legacy", "modern"] },
  { sdk: "v2", mode: "http", eras: ["legacy", "modern"] },
  { sdk: "v2", mode: "json", eras: ["legacy", "modern"], lacks: JSON_LACKS },
  { sdk: "v2", mode: "resumable", eras: ["legacy"] },
  { sdk: "v2", mode: "stateless", eras: ["legacy"], lacks: STATELESS_LACKS },
];

/** Every pair in which exactly one side is Bowline. */
export const pairs: readonly Pair[] = SERVERS.flatMap(({ sdk, mode, eras, lacks = [] }) =>
  eras.flatMap((era) => {
    const clients: readonly Sdk[] = sdk !== "bowline" ? ["bowline"] : era === "modern" ? ["v2"] : ["v1", "v2"];
    return clients.map((client) => ({ client, server: sdk, mode, era, lacks }));
  }),
);

export function nameOf({ client, server, mode, era }: Pair): string {
  return `${client} -> ${server} ${mode} ${era}`;
}
