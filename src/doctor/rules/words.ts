/** Longest text of a server that a finding has in one piece. */
const MAX_QUOTED = 120;
const MAX_LISTED = 5;

/** Returns text of a server in quotes, shortened. */
export function quoted(text: string): string {
  const line = text.trim();
  return JSON.stringify(line.length > MAX_QUOTED ? `${line.slice(0, MAX_QUOTED)}...` : line);
}

/** Returns a number with its noun: `1 tool`, `2 tools`. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;
}

/** Returns names as a list, shortened. */
export function list(names: readonly string[]): string {
  const shown = names.slice(0, MAX_LISTED).join(", ");
  return names.length > MAX_LISTED ? `${shown} and ${names.length - MAX_LISTED} more` : shown;
}

/** Returns a line as the lines of a problem. */
export function linesOf(line: number | undefined): readonly number[] {
  return line === undefined ? [] : [line];
}

/** Returns the lines of a request and its answer, which are one if there was no answer. */
export function exchangeLines({
  asked,
  line,
}: {
  readonly asked?: number | undefined;
  readonly line?: number | undefined;
}): readonly number[] {
  return [...new Set([...linesOf(asked), ...linesOf(line)])];
}

/** Returns a share of a number: `3 of 24 tools`. */
export function share(part: number, whole: number, noun: string): string {
  return part === whole && whole === 1 ? `the ${noun}` : `${part} of ${counted(whole, noun)}`;
}
