import { type Edit, type Editor, indentAt, lineBreakOf } from "./edits.js";

/** Value in the text. Scalars have no items. */
interface Node {
  readonly start: number;
  readonly end: number;
  readonly opens: "{" | "[" | undefined;
  readonly items: readonly Item[];
}

/** Member of an object, or element of an array. */
interface Item {
  readonly start: number;
  readonly key: string | undefined;
  readonly value: Node;
  /** Position of the comma after it. */
  readonly comma: number | undefined;
}

const TRIVIA = /(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y;
const SCALAR = /"(?:[^"\\]|\\.)*"|[^\s,\]}/]+/y;
const REST_OF_LINE = /(?:[^\S\r\n]+|\/\*[\s\S]*?\*\/)*(?:\/\/[^\r\n]*)?/y;

/** Edits JSON with comments and trailing commas. */
export const jsonEditor: Editor = {
  insert(text, path, value) {
    const root = scan(text);
    // A file without a value is one without members.
    if (root === undefined) return [insertion(text.length, `${lastIndented(within(path, value), text)}`)];
    const [node, missing] = deepest(root, path);
    return insertItem(text, node, missing[0], within(missing.slice(1), value), unitOf(text, root));
  },
  remove(text, path) {
    const [node, missing] = deepest(scan(text)!, path.slice(0, -1));
    const item = missing.length > 0 ? undefined : memberOf(node, path.at(-1)!);
    return item === undefined ? [] : removeItem(text, node, item);
  },
};

/** Adds an element to the array at a path, which is created if it is missing. */
export function appendJson(text: string, path: readonly string[], value: object): Edit[] {
  const root = scan(text)!;
  const [node, missing] = deepest(root, path);
  if (missing.length > 0) return jsonEditor.insert(text, path, [value]);
  return insertItem(text, node, undefined, value, unitOf(text, root));
}

/** Removes an element of the array at a path. */
export function removeJsonElement(text: string, path: readonly string[], index: number): Edit[] {
  const [node] = deepest(scan(text)!, path);
  return removeItem(text, node, node.items[index]!);
}

/** Reads a text that `parseConfiguration` accepts. Returns undefined if it has no value. */
function scan(text: string): Node | undefined {
  let at = 0;
  const match = (pattern: RegExp) => {
    pattern.lastIndex = at;
    const found = pattern.exec(text)?.[0] ?? "";
    at += found.length;
    return found;
  };
  const scanValue = (): Node => {
    match(TRIVIA);
    const start = at;
    const opens = text[at];
    if (opens !== "{" && opens !== "[") {
      if (match(SCALAR) === "") throw new Error("the text is not JSON");
      return { start, end: at, opens: undefined, items: [] };
    }
    const items: Item[] = [];
    at++;
    for (match(TRIVIA); text[at] !== "}" && text[at] !== "]"; match(TRIVIA)) {
      const begin = at;
      const key = opens === "{" ? (JSON.parse(match(SCALAR)) as string) : undefined;
      if (key !== undefined) {
        match(TRIVIA);
        at++;
      }
      const value = scanValue();
      match(TRIVIA);
      const comma = text[at] === "," ? at++ : undefined;
      items.push({ start: begin, key, value, comma });
    }
    at++;
    return { start, end: at, opens, items };
  };
  match(TRIVIA);
  if (at === text.length) return undefined;
  return scanValue();
}

/** Returns the innermost value that exists on a path, and the rest of the path. */
function deepest(root: Node, path: readonly string[]): [node: Node, missing: readonly string[]] {
  let node = root;
  for (const [index, key] of path.entries()) {
    const member = memberOf(node, key);
    if (member === undefined) return [node, path.slice(index)];
    node = member.value;
  }
  return [node, []];
}

/** Returns the member that counts: the last with the name. */
function memberOf({ items }: Node, key: string): Item | undefined {
  return items.findLast((item) => item.key === key);
}

function within(path: readonly string[], value: object): object {
  return path.reduceRight((inner, key) => ({ [key]: inner }), value);
}

function lastIndented(value: object, text: string): string {
  const eol = lineBreakOf(text);
  return JSON.stringify(value, undefined, 2).replaceAll("\n", eol) + eol;
}

/** Returns one level of indentation: that of the first member of the file. */
function unitOf(text: string, { items: [first] }: Node): string {
  const indent = first !== undefined && beginsLine(text, first.start) ? indentAt(text, first.start) : "";
  return indent === "" ? "  " : indent;
}

function beginsLine(text: string, position: number): boolean {
  return /(?:^|\n)[^\S\n]*$/.test(text.slice(0, position));
}

function insertion(at: number, text: string): Edit {
  return { start: at, end: at, text };
}

function insertItem(text: string, node: Node, key: string | undefined, value: object, unit: string): Edit[] {
  const eol = lineBreakOf(text);
  const name = key === undefined ? "" : `${JSON.stringify(key)}: `;
  const written = (indent: string) =>
    eol + indent + name + JSON.stringify(value, undefined, unit).replaceAll("\n", eol + indent);
  const last = node.items.at(-1);
  const base = indentAt(text, node.start);
  if (last === undefined) {
    const at = node.start + 1 + text.slice(node.start + 1, node.end - 1).trimEnd().length;
    const tail = text.slice(at, node.end - 1);
    if (tail.includes("\n")) return [insertion(at, written(base + unit))];
    return [{ start: at, end: node.end - 1, text: written(base + unit) + eol + base }];
  }
  const end = last.comma === undefined ? last.value.end : last.comma + 1;
  const rest = restOfLine(text, end);
  const at = end + rest.trimEnd().length;
  const hasLines = text.slice(node.start, last.start).includes("\n") || rest.includes("//");
  const indent = beginsLine(text, last.start) ? indentAt(text, last.start) : base + unit;
  const added = hasLines ? written(indent) : ` ${name}${JSON.stringify(value)}`;
  if (last.comma !== undefined) return [insertion(at, `${added},`)];
  return at === end ? [insertion(at, `,${added}`)] : [insertion(end, ","), insertion(at, added)];
}

function restOfLine(text: string, position: number): string {
  REST_OF_LINE.lastIndex = position;
  return REST_OF_LINE.exec(text)?.[0] ?? "";
}

function removeItem(text: string, node: Node, item: Item): Edit[] {
  const { items } = node;
  const end = item.comma === undefined ? item.value.end : item.comma + 1;
  const around = text.slice(node.start + 1, item.start) + text.slice(end, node.end - 1);
  if (items.length === 1 && around.trim() === "") return [{ start: node.start + 1, end: node.end - 1, text: "" }];
  const edit = { start: startOf(text, item.start, end), end, text: "" };
  const before = items[items.indexOf(item) - 1];
  const isLast = item === items.at(-1);
  // Without a comma after the last member, the one before has none either.
  return isLast && item.comma === undefined && before?.comma !== undefined
    ? [{ start: before.comma, end: before.comma + 1, text: "" }, edit]
    : [edit];
}

/** Returns where the text of an item begins: with its line, unless a comment before it would swallow what follows. */
function startOf(text: string, start: number, end: number): number {
  const lead = /\r?\n[^\S\n]*$|[^\S\n]*$/.exec(text.slice(0, start))![0];
  const from = start - lead.length;
  const follows = text.slice(end).split("\n", 1)[0]!.trim() !== "";
  const line = text.slice(text.lastIndexOf("\n", from - 1) + 1, from);
  return lead.includes("\n") && follows && line.includes("//") ? from + lead.indexOf("\n") + 1 : from;
}
