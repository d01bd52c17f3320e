import type { Problem } from "./json.js";

const MAX_CHARS = 300;

/**
 * Reduces text from a peer to one short line, so that it cannot forge output where it is shown. Replaces control
 * characters, which can control a terminal or start a log line, and invisible characters, which can change the text
 * direction, by spaces.
 */
export function oneLine(text: string, maxChars = MAX_CHARS): string {
  // Limits the work on a long text.
  const line = text
    .slice(0, maxChars * 4)
    .replace(/[\s\p{Cc}\p{Cf}\p{Cs}]+/gu, " ")
    .trim();
  return line.length > maxChars ? `${line.slice(0, maxChars).replace(/[\ud800-\udbff]$/, "")}...` : line;
}

/** Reduces text to one line and returns it as a JSON string, for a message about an unexpected value. */
export function quoted(text: string, maxChars?: number): string {
  return JSON.stringify(oneLine(text, maxChars));
}

/** True if a text has no lone surrogates. Texts that have some become equal to others when they are encoded as UTF-8. */
export function isWellFormed(text: string): boolean {
  return !/\p{Cs}/u.test(text);
}

/** Returns the message of a thrown value as one line. */
export function messageOf(cause: unknown): string {
  return oneLine(cause instanceof Error ? cause.message : String(cause));
}

const MOST_ISSUES = 20;

/** Describes a mistake by its place and the expected value. */
export function mustBe({ path, expected }: Problem): string {
  return `${oneLine(path) || "/"} must be ${expected}`;
}

/**
 * Formats issues with their paths. Lists up to twenty, so that the caller can fix them in one attempt, and counts the
 * rest.
 */
export function describeIssues(
  issues: readonly { readonly path: string; readonly message: string }[],
  below = "",
): string {
  const shown = issues
    .slice(0, MOST_ISSUES)
    .map(({ path, message }) => `${oneLine(below + path) || "/"} ${oneLine(message, 1_000)}`);
  const more = issues.length - shown.length;
  return shown.join("; ") + (more > 0 ? `; and ${more} more` : "");
}
