const MAX_CHARS = 300;

/**
 * Text that a peer chose, on one line and short, so that it can forge nothing where it is shown: without control characters,
 * which steer a terminal or begin a line of a log, and without invisible ones, which turn the direction of the text.
 */
export function oneLine(text: string, maxChars = MAX_CHARS): string {
  // Only so much of a long text is looked at.
  const line = text
    .slice(0, maxChars * 4)
    .replace(/[\s\p{Cc}\p{Cf}\p{Cs}]+/gu, " ")
    .trim();
  return line.length > maxChars ? `${line.slice(0, maxChars).replace(/[\ud800-\udbff]$/, "")}...` : line;
}

/** The same in quotes, for a value that was not the expected one. */
export function quoted(text: string, maxChars?: number): string {
  return JSON.stringify(oneLine(text, maxChars));
}

/** What went wrong, by whatever was thrown. */
export function messageOf(cause: unknown): string {
  return oneLine(cause instanceof Error ? cause.message : String(cause));
}

const MOST_ISSUES = 20;

/** The issues with their places, so that one more attempt can mend them all; beyond the first twenty, how many there are. */
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
