import type { Era } from "./driver.js";
import type { PeerSdk } from "./peers.js";

export type Sdk = "bowline" | "v1" | "v2" | PeerSdk;

/** A line of the matrix: a client and a server, in one mode and one era. */
export interface Pair {
  readonly client: Sdk;
  readonly server: Sdk;
  /** Argument of the server's program, or the gateway in front of it. */
  readonly mode: string;
  readonly era: Era;
  /** True if the mode names a gateway, which has to be fetched. */
  readonly isGateway: boolean;
  /** Era that a client negotiates. */
  readonly newest: Era;
  /** Checks that do not apply. */
  readonly lacks: readonly string[];
  /** Checks that run last, because they impair the gateway. */
  readonly late: readonly string[];
  /** Checks that run for this mode only. */
  readonly adds: readonly string[];
}

interface ServerMode {
  readonly sdk: Sdk;
  readonly mode: string;
  readonly eras: readonly Era[];
  readonly lacks?: readonly string[];
  readonly late?: readonly string[];
  readonly adds?: readonly string[];
  /** Newest era that the mode supports. @default "modern" */
  readonly newest?: Era;
  readonly clients?: readonly Sdk[];
}

/** A JSON response carries no notifications. */
const JSON_LACKS = ["progress", "log"];
/** Bowline sends the requests of a call only on the stream of the call, and JSON mode has none. */
const QUESTIONS = ["elicit", "sample", "roots"];
/** Without a session a server cannot send requests, or notifications outside of a request. */
const STATELESS_LACKS = [...QUESTIONS, "log", "changes"];

/** In the legacy era its server declares `listChanged: false` and has no `logging/setLevel`. */
const PYTHON_LACKS = ["log", "changes"];

/** All clients but Bowline's own. */
const CLIENTS: readonly Sdk[] = ["v1", "v2", "python", "fastmcp", "go", "rust", "java"];

/** SDKs without the modern era. */
const LEGACY_ONLY: readonly Sdk[] = ["v1", "java"];

/** Modes of each server, and the eras of each mode. */
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
  { sdk: "java", mode: "stdio", eras: ["legacy"] },
  { sdk: "java", mode: "http", eras: ["legacy"] },
];

/** It starts a process per request: calls share no state, and a short timeout ends before the process runs. */
const SUPERGATEWAY_STATELESS_LACKS = ["parallel", "timeout", "changes"];

/**
 * Gateways in front of Bowline's server. The pairs above cover the SDKs, so that few clients suffice here. A feature that
 * a gateway lacks is waited for in one check only.
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

/** Two nodes of Bowline behind nginx without affinity, by an engine. */
const NODES: readonly ServerMode[] = ["nginx:redis", "nginx:postgres"].flatMap((mode) => [
  { sdk: "bowline", mode, eras: ["legacy"], clients: ["v1", "v2", "python"], adds: ["subscription", "resume", "end"] },
  { sdk: "bowline", mode, eras: ["modern"], clients: ["v2", "python"], adds: ["subscription"] },
]);

/** Every pair in which exactly one side is Bowline, and Bowline's own server behind each gateway. */
export const pairs: readonly Pair[] = [
  ...SERVERS.flatMap((server) => pairsOf(server, false)),
  ...GATEWAYS.flatMap((server) => pairsOf(server, true)),
  ...NODES.flatMap((server) => pairsOf(server, false)),
];

function pairsOf(
  { sdk, mode, eras, lacks = [], late = [], adds = [], newest = "modern", clients }: ServerMode,
  isGateway: boolean,
): Pair[] {
  return eras.flatMap((era) => {
    const others = CLIENTS.filter((client) => era === "legacy" || !LEGACY_ONLY.includes(client));
    const choice = (client: Sdk) => ([client, sdk].some((one) => LEGACY_ONLY.includes(one)) ? "legacy" : newest);
    return (clients ?? (sdk === "bowline" ? others : ["bowline" as const])).map((client) => ({
      client,
      server: sdk,
      mode,
      era,
      isGateway,
      newest: choice(client),
      lacks,
      late,
      adds,
    }));
  });
}

export function nameOf({ client, server, mode, era }: Pair): string {
  return `${client} -> ${server} ${mode} ${era}`;
}
