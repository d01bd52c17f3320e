/**
 * Matches what can control a terminal or deceive a reader: control characters, and invisible ones such as those that change
 * the direction of text. The joiners of Persian, Indic scripts and emoji are no threat; `visible` keeps them.
 */
const HOSTILE = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/gu;

const KEPT: ReadonlySet<string> = new Set(["\t", "\n", "\u200c", "\u200d"]);

/**
 * Returns text of a server as a terminal may show it. Control characters become pictures (␛), and other characters that
 * cannot be seen become their code points, so that no text moves the cursor, sets the title or reverses a line.
 */
export function visible(text: string): string {
  return text.replaceAll("\r\n", "\n").replace(HOSTILE, (char) => (KEPT.has(char) ? char : pictureOf(char)));
}

/** The same on one line. Line breaks and tabs become spaces. */
export function visibleLine(text: string): string {
  return visible(text.trim().replace(/\s*[\n\t]\s*/g, " "));
}

function pictureOf(char: string): string {
  const code = char.codePointAt(0) ?? 0;
  if (code < 0x20) return String.fromCharCode(0x2400 + code);
  return code === 0x7f ? "␡" : `<U+${code.toString(16).toUpperCase().padStart(4, "0")}>`;
}

/** Writes a value as JSON. Characters that `visible` replaces are escaped, so that the value stays the same. */
export function toJson(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, undefined, indent) ?? "null";
  return text.replace(HOSTILE, (char) => (KEPT.has(char) ? char : escapeOf(char)));
}

function escapeOf(char: string): string {
  return char.replace(/[\s\S]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, "0")}`);
}

const WIDE =
  /[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe6f\uff00-\uff60\uffe0-\uffe6\u{1f300}-\u{1faff}\u{20000}-\u{3fffd}]/u;

/** Shortens a line of visible text to a number of columns. */
export function fitted(line: string, columns: number): string {
  let width = 0;
  let end = 0;
  for (const char of line) {
    width += WIDE.test(char) ? 2 : 1;
    if (width > columns) return `${line.slice(0, Math.max(0, end - 1))}…`;
    end += char.length;
  }
  return line;
}

/** Breaks a text into lines of at most `columns` characters, at spaces. */
export function wrapped(text: string, columns: number): string[] {
  const lines: string[] = [];
  for (const part of text.split("\n")) {
    let line = "";
    for (const word of part.split(" ")) {
      if (line !== "" && line.length + 1 + word.length > columns) {
        lines.push(line);
        line = word;
      } else line = line === "" ? word : `${line} ${word}`;
    }
    lines.push(line);
  }
  return lines;
}
