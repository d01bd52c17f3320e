import type { LoggingLevel } from "./types/index.js";

/** Levels from the least to the most severe. */
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

/** True if `level` is at or above `least`. False if `least` is undefined: the client receives no log messages. */
export function isWanted(level: LoggingLevel, least: LoggingLevel | undefined): boolean {
  return least !== undefined && LOGGING_LEVELS.indexOf(level) >= LOGGING_LEVELS.indexOf(least);
}
