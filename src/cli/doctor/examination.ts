import type { Report } from "../../doctor/examine.js";
import type { Facts } from "../../doctor/facts.js";

/** Examination of a server, as it is reported. */
export interface Examination extends Report {
  /** Undefined if configuration files alone were examined. */
  readonly summary?: Summary | undefined;
  /** File with the traffic. */
  readonly recording?: string | undefined;
}

/** What was examined. */
export interface Summary {
  readonly name: string;
  readonly version?: string | undefined;
  readonly wire: "stdio" | "http";
  /** Protocol versions in which it was examined. */
  readonly speaks: readonly string[];
  /** Newest version of each era that it does not speak. */
  readonly lacks: readonly string[];
  readonly ms: number;
  /** Lines of the recording. */
  readonly lines: number;
}

/** Returns what was examined. A server that says no name has that of the command line. */
export function summaryOf({ wire, eras = [] }: Facts, label: string, ms: number, lines: number): Summary {
  const spoken = eras.filter(({ outcome }) => outcome === "spoken");
  const server = spoken.find((era) => era.server?.name !== undefined)?.server;
  const lacks = eras.filter(({ outcome }) => outcome !== "spoken").flatMap(({ versions }) => versions.slice(0, 1));
  return {
    name: server?.name ?? label,
    ...(server?.version !== undefined && { version: server.version }),
    wire,
    speaks: spoken.flatMap(({ version }) => (version === undefined ? [] : [version])),
    lacks,
    ms: Math.round(ms),
    lines,
  };
}
