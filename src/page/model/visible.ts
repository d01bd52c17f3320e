/**
 * What hides or reorders text: control characters but tabs and line ends, marks of direction, spaces without width, tags.
 * Joiners stay, which scripts and emoji need.
 */
const HIDDEN =
  /[\p{Cc}\u00ad\u061c\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\u{e0000}-\u{e007f}]/gu;
const KEPT = /[\t\n\r]/;

/** Writes what is hidden in a text as its code, so that a server cannot show something else than it sent: `\u{202e}`. */
export function visible(text: string): string {
  return text.replace(HIDDEN, (char) => (KEPT.test(char) ? char : `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`));
}
