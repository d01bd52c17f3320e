import type { LoggingLevel } from "../schema/types.js";

/** From the least to the most severe. */
const LEVELS: readonly LoggingLevel[] = [
  "debug",
  "info",
  "notice",
  "warning",
  "error",
  "critical",
  "alert",
  "emergency",
];

export function isLoggingLevel(value: unknown): value is LoggingLevel {
  return LEVELS.includes(value as LoggingLevel);
}

/** Whether a message of this level is wanted by one who asked for `least` and above; nobody asked, nobody wants. */
export function isWanted(level: LoggingLevel, least: LoggingLevel | undefined): boolean {
  return least !== undefined && LEVELS.indexOf(level) >= LEVELS.indexOf(least);
}
