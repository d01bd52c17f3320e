import type { Era } from "./driver.js";
import type { PeerSdk } from "./peers.js";

export type Sdk = "bowline" | "v1" | "v2" | PeerSdk;

/** One line of the matrix: a client on a server over one wire in one era. */
export interface Pair {
  readonly client: Sdk;
  readonly server: Sdk;
  /** How the server is started: its program's argument, or the gateway before it. */
  readonly mode: string;
  readonly era: Era;
  /** Whether the mode names another's program in between, which has to be fetched. */
  readonly isGateway: boolean;
  /** What a client with a choice ends up with. */
  readonly newest: Era;
  /** Checks that make no sense here. */
  readonly lacks: readonly string[];
  /** Checks that come last, since the gateway is of less use after them. */
  readonly late: readonly string[];
}

interface ServerMode {
  readonly sdk: Sdk;
  readonly mode: string;
  readonly eras: readonly Era[];
  readonly lacks?: readonly string[];
  readonly late?: readonly string[];
  /** The newest era that passes; modern unless told. */
  readonly newest?: Era;
  readonly clients?: readonly Sdk[];
}

/** A JSON document has no room for what happens on the way. */
const JSON_LACKS = ["progress", "log"];
/** Bowline does not put a call's questions on another stream than the call's, and in JSON mode there is none. */
const QUESTIONS = ["elicit", "sample", "roots"];
/** A client without a session cannot be asked or told anything outside of its own requests. */
const STATELESS_LACKS = [...QUESTIONS, "log", "changes"];

/** Up to 2025-11-25 its server declares that it does not tell of changes, and has no log level to set. */
const PYTHON_LACKS = ["log", "changes"];

/** All clients but Bowline's own. */
const CLIENTS: readonly Sdk[] = ["v1", "v2", "python", "fastmcp", "go", "rust"];

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
  { sdk: "python", mode: "stdio", eras: ["legacy"], lacks: PYTHON_LACKS },
  { sdk: "python", mode: "stdio", eras: ["modern"] },
  { sdk: "python", mode: "http", eras: ["legacy"], lacks: PYTHON_LACKS },
  { sdk: "python", mode: "http", eras: ["modern"] },
  { sdk: "fastmcp", mode: "stdio", eras: ["legacy", "modern"] },
  { sdk: "fastmcp", mode: "http", eras: ["legacy", "modern"] },
  { sdk: "go", mode: "stdio", eras: ["legacy", "modern"] },
  { sdk: "go", mode: "http", eras: ["legacy"], newest: "legacy" },
  { sdk: "go", mode: "stateless", eras: ["legacy"], lacks: ["timeout", ...STATELESS_LACKS] },
  { sdk: "go", mode: "stateless", eras: ["modern"] },
  { sdk: "rust", mode: "stdio", eras: ["legacy", "modern"] },
  { sdk: "rust", mode: "http", eras: ["legacy", "modern"] },
];

/** It starts a server for each request: calls do not meet each other's effects, and a short time is over before one runs. */
const SUPERGATEWAY_STATELESS_LACKS = ["parallel", "timeout", "changes"];

/**
 * Others' gateways between two sides. What two SDKs do with each other is seen above, so few clients are
 * enough, and what a gateway does not do is waited for once.
 */
const GATEWAYS: readonly ServerMode[] = [
  { sdk: "bowline", mode: "mcp-remote", eras: ["legacy"], clients: ["bowline", "v1"] },
  { sdk: "bowline", mode: "mcp-remote", eras: ["modern"], clients: ["bowline"], lacks: ["timeout"] },
  { sdk: "bowline", mode: "mcp-remote", eras: ["modern"], clients: ["v2"], lacks: ["cancel", "timeout"] },
  { sdk: "bowline", mode: "mcp-remote:newest", eras: ["legacy"], clients: ["bowline"], lacks: ["cancel", "timeout"] },
  { sdk: "bowline", mode: "supergateway:sse", eras: ["legacy"], clients: ["bowline"], newest: "legacy" },
  {
    sdk: "bowline",
    mode: "supergateway:stdio",
    eras: ["legacy"],
    clients: ["bowline"],
    newest: "legacy",
    lacks: ["progress", ...QUESTIONS, "log", "changes"],
  },
  {
    sdk: "bowline",
    mode: "supergateway:sessions",
    eras: ["legacy"],
    clients: ["bowline"],
    late: ["cancel", "timeout"],
  },
  {
    sdk: "bowline",
    mode: "supergateway:stateless",
    eras: ["legacy"],
    clients: ["bowline"],
    lacks: [...SUPERGATEWAY_STATELESS_LACKS, ...QUESTIONS, "log"],
  },
  {
    sdk: "bowline",
    mode: "supergateway:stateless",
    eras: ["modern"],
    clients: ["bowline"],
    lacks: SUPERGATEWAY_STATELESS_LACKS,
  },
];

/** Every pair in which exactly one side is Bowline, and Bowline's own server behind each gateway. */
export const pairs: readonly Pair[] = [
  ...SERVERS.flatMap((server) => pairsOf(server, false)),
  ...GATEWAYS.flatMap((server) => pairsOf(server, true)),
];

function pairsOf(
  { sdk, mode, eras, lacks = [], late = [], newest = "modern", clients }: ServerMode,
  isGateway: boolean,
): Pair[] {
  return eras.flatMap((era) => {
    const others = CLIENTS.filter((client) => era === "legacy" || client !== "v1");
    const choice = (client: Sdk) => (client === "v1" || sdk === "v1" ? "legacy" : newest);
    return (clients ?? (sdk === "bowline" ? others : ["bowline" as const])).map((client) => ({
      client,
      server: sdk,
      mode,
      era,
      isGateway,
      newest: choice(client),
      lacks,
      late,
    }));
  });
}

export function nameOf({ client, server, mode, era }: Pair): string {
  return `${client} -> ${server} ${mode} ${era}`;
}
