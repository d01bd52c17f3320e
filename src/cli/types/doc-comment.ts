import { visible } from "../text.js";

const COLUMNS = 118;

/**
 * Returns text of a server as lines that are safe in a comment: they cannot end it, cannot deceive a reader, and have no
 * tags, links or images that an editor would act on.
 */
function safeLines(text: string): string[] {
  return visible(text)
    .replaceAll("*/", "*\\/")
    .replaceAll("{@", "{\\@")
    .replaceAll("![", "!\\[")
    .split("\n")
    .map((line) => line.trimEnd().replace(/^(\s*)@/, "$1\\@"));
}

/** Returns text of a server for a comment on one line. */
export function safeLine(text: string): string {
  return safeLines(text).join(" ").trim();
}

/** Returns a JSDoc comment of paragraphs and tags, indented, with a line break at its end. Without text it is empty. */
export function docComment(paragraphs: readonly (string | undefined)[], tags: readonly Tag[], indent: string): string {
  const texts = paragraphs.filter((text): text is string => text !== undefined && text.trim() !== "");
  const lines = texts.flatMap((text, index) => [...(index > 0 ? [""] : []), ...safeLines(text.trim())]);
  for (const [tag, text] of tags) {
    const [first = "", ...more] = safeLines(text);
    lines.push(`@${tag}${first === "" ? "" : ` ${first}`}`, ...more);
  }
  if (lines.length === 0) return "";
  const [only = ""] = lines;
  if (lines.length === 1 && indent.length + only.length + 7 <= COLUMNS) return `${indent}/** ${only} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} *${line === "" ? "" : ` ${line}`}\n`).join("")}${indent} */\n`;
}

/** Tag of a comment, such as `default`, with its text. */
export type Tag = readonly [name: string, text: string];
