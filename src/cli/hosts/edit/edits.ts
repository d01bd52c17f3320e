/** Change of a text: the characters from `start` to `end` become `text`. */
export interface Edit {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/** Inserts and removes members in the text of a format. Everything else stays as it is. The text must be valid. */
export interface Editor {
  /** Adds a member that does not exist, with the objects around it that are missing. */
  insert(text: string, path: readonly string[], value: object): Edit[];
  /** Removes a member that exists. */
  remove(text: string, path: readonly string[]): Edit[];
}

/** Applies changes that do not overlap. */
export function applyEdits(text: string, edits: readonly Edit[]): string {
  return [...edits]
    .sort((one, two) => two.start - one.start)
    .reduce((changed, { start, end, text: part }) => changed.slice(0, start) + part + changed.slice(end), text);
}

/** Returns the line break of a text: that of its first line. */
export function lineBreakOf(text: string): "\r\n" | "\n" {
  return /^[^\n]*\r\n/.test(text) ? "\r\n" : "\n";
}

/** Returns the spaces at the beginning of the line of a position. */
export function indentAt(text: string, position: number): string {
  return /^[^\S\n]*/.exec(text.slice(text.lastIndexOf("\n", position - 1) + 1))![0];
}
