import { UsageError } from "../../failures.js";
import { readTomlItems } from "../toml.js";
import { type Editor, lineBreakOf } from "./edits.js";

/** Edits TOML: a member is a table of its own, at the end of the file. */
export const tomlEditor: Editor = {
  insert(text, path, value) {
    const eol = lineBreakOf(text);
    // A table in braces must not be extended by a header.
    if (readTomlItems(text, "").some((item) => !item.isTable && item.path.length === 1 && item.path[0] === path[0]))
      throw new UsageError(`${path[0]} is written in one line, which is left as it is; --print prints the entry`);
    const lines = [
      `[${path.map(keyText).join(".")}]`,
      ...Object.entries(value).map(([key, one]) => `${keyText(key)} = ${valueText(one)}`),
    ].join(eol);
    const end = { start: text.length, end: text.length };
    if (text === "") return [{ ...end, text: lines + eol }];
    return [{ ...end, text: text.endsWith("\n") ? eol + lines + eol : eol + eol + lines }];
  },
  remove(text, path) {
    const items = readTomlItems(text, "");
    const lines = text.split(/(?<=\n)/);
    const offsets = [0];
    for (const line of lines) offsets.push(offsets.at(-1)! + line.length);
    const isOwn = (other: readonly string[]) => path.every((key, index) => other[index] === key);
    const own = items.filter((item) => isOwn(item.path));
    const ranges: { from: number; to: number }[] = [];
    for (const { isTable, from, to } of own) {
      const last = ranges.at(-1);
      if (!isTable && last !== undefined && !items.some((item) => item.from > last.to && item.from < from))
        last.to = to;
      else ranges.push({ from, to });
    }
    return ranges.map(({ from, to }) => {
      // The empty line before a table goes with it.
      const first = from > 0 && lines[from - 1]!.trim() === "" ? from - 1 : from;
      const start = offsets[first]!;
      const end = offsets[to + 1]!;
      const isUnended = end === text.length && !text.endsWith("\n");
      return { start: isUnended ? start - breakBefore(text, start) : start, end, text: "" };
    });
  },
};

function breakBefore(text: string, position: number): number {
  return /\r?\n$/.exec(text.slice(0, position))?.[0].length ?? 0;
}

function keyText(key: string): string {
  return /^[\w-]+$/.test(key) ? key : stringText(key);
}

function stringText(text: string): string {
  return JSON.stringify(text).replaceAll("\u007f", "\\u007F");
}

function valueText(value: unknown): string {
  if (typeof value === "string") return stringText(value);
  if (Array.isArray(value)) return `[${value.map(valueText).join(", ")}]`;
  if (typeof value !== "object") return String(value);
  const pairs = Object.entries(value as object).map(([key, one]) => `${keyText(key)} = ${valueText(one)}`);
  return `{ ${pairs.join(", ")} }`;
}
