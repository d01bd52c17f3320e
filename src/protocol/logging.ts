import type { LoggingLevel } from "./types/index.js";

/** From the least to the most severe. */
export const LOGGING_LEVELS: readonly LoggingLevel[] = [
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
  return LOGGING_LEVELS.includes(value as LoggingLevel);
}

/** Whether a message of this level is wanted by one who asked for `least` and above; nobody asked, nobody wants. */
export function isWanted(level: LoggingLevel, least: LoggingLevel | undefined): boolean {
  return least !== undefined && LOGGING_LEVELS.indexOf(level) >= LOGGING_LEVELS.indexOf(least);
}
