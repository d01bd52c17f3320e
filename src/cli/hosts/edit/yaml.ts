import type { isMap, Pair, parseDocument, stringify, YAMLMap } from "yaml";
import { UsageError } from "../../failures.js";
import { type Edit, type Editor, indentAt, lineBreakOf } from "./edits.js";

/** What is used of the package `yaml`. */
export interface YamlPackage {
  readonly parseDocument: typeof parseDocument;
  readonly stringify: typeof stringify;
  readonly isMap: typeof isMap;
}

/** Edits YAML: a member is added as lines of its own, below the others. */
export function yamlEditor(yaml: YamlPackage): Editor {
  const membersOf = (text: string) => {
    const { contents } = yaml.parseDocument(text);
    return yaml.isMap(contents) ? contents : undefined;
  };
  return {
    insert(text, [outer = "", key = ""], value) {
      const eol = lineBreakOf(text);
      const written = (member: object, indent: string) =>
        yaml
          .stringify(member, { lineWidth: 0 })
          .trimEnd()
          .split("\n")
          .map((line) => indent + line + eol)
          .join("");
      const pair = pairOf(membersOf(text), outer);
      if (pair === undefined) {
        const lead = text === "" || text.endsWith("\n") ? "" : eol;
        return [{ start: text.length, end: text.length, text: lead + written({ [outer]: { [key]: value } }, "") }];
      }
      const base = indentAt(text, startOf(pair.key));
      const map = pair.value;
      if (yaml.isMap(map) && map.items.length > 0) {
        if (map.flow === true) throw inBraces(outer);
        const indent = indentAt(text, startOf(map.items[0]!.key));
        return lineAfter(text, endOf(map.items.at(-1)!), written({ [key]: value }, indent));
      }
      const [start, end] = rangeOf(pair.value);
      const after = lineAfter(text, Math.max(end, startOf(pair.key)), written({ [key]: value }, `${base}  `));
      return start === end ? after : [{ start, end, text: "" }, ...after];
    },
    remove(text, [outer = "", key = ""]) {
      const map = pairOf(membersOf(text), outer)?.value;
      const pair = yaml.isMap(map) ? pairOf(map, key) : undefined;
      if (!yaml.isMap(map) || pair === undefined) return [];
      if (map.flow === true) throw inBraces(outer);
      const start = text.lastIndexOf("\n", startOf(pair.key) - 1) + 1;
      const last = endOf(pair);
      const end = lineEnd(text, last);
      if (map.items.length > 1) {
        const isUnended = end === text.length && !text.endsWith("\n");
        return [
          { start: isUnended ? start - (/\r?\n$/.exec(text.slice(0, start))?.[0].length ?? 0) : start, end, text: "" },
        ];
      }
      // Without members, nothing would stand for the object.
      const colon = text.lastIndexOf(":", start);
      return [
        { start: colon + 1, end: colon + 1, text: " {}" },
        { start, end, text: "" },
      ];
    },
  };
}

function inBraces(name: string): UsageError {
  return new UsageError(`${name} is written in braces, which is left as it is; --print prints the entry`);
}

function pairOf(map: YAMLMap | undefined, key: string): Pair | undefined {
  return map?.items.find((item) => String((item.key as { readonly value?: unknown }).value) === key) as
    | Pair
    | undefined;
}

function rangeOf(node: unknown): readonly [start: number, end: number] {
  const [start, end] = (node as { readonly range?: readonly number[] } | null)?.range ?? [0, 0];
  return [start ?? 0, end ?? 0];
}

function startOf(node: unknown): number {
  return rangeOf(node)[0];
}

/** Returns the end of the last value in a member. */
function endOf({ key, value }: Pair): number {
  const items = (value as { readonly items?: readonly unknown[]; readonly flow?: boolean } | null)?.items;
  const last = (value as { readonly flow?: boolean } | null)?.flow === true ? undefined : items?.at(-1);
  if (last === undefined) return Math.max(rangeOf(value)[1], rangeOf(key)[1]);
  return "key" in (last as object) ? endOf(last as Pair) : rangeOf(last)[1];
}

/** Returns the position after the line that a value ends in. A block text ends after its line break. */
function lineEnd(text: string, position: number): number {
  if (text[position - 1] === "\n") return position;
  const end = text.indexOf("\n", position);
  return end === -1 ? text.length : end + 1;
}

function lineAfter(text: string, position: number, lines: string): Edit[] {
  const at = lineEnd(text, position);
  const isEnded = at === 0 || text[at - 1] === "\n";
  const eol = lineBreakOf(text);
  return [{ start: at, end: at, text: isEnded ? lines : eol + lines.slice(0, -eol.length) }];
}
