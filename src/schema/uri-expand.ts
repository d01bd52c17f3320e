import { DefinitionError } from "./errors.js";

const MAX_LENGTH = 2048;
const MAX_VARIABLES = 32;
const NAME = /^(?:\w|%[0-9A-Fa-f]{2})+(?:\.(?:\w|%[0-9A-Fa-f]{2})+)*$/;
const NOT_LITERAL = /[\s\p{Cc}"<>\\^`|}]|%(?![0-9A-Fa-f]{2})/u;

/** How an expression's operator shapes its expansion (RFC 6570, appendix A). */
export interface Operator {
  readonly first: string;
  readonly separator: string;
  readonly named: boolean;
  /** What follows the name of an empty value. */
  readonly ifEmpty: string;
  readonly reserved: boolean;
}

export interface TemplateVariable {
  readonly name: string;
  readonly explode: boolean;
  /** The longest prefix to use, in characters. */
  readonly prefix: number | undefined;
}

export type TemplatePart =
  | string
  | { readonly operator: string; readonly variables: readonly TemplateVariable[]; readonly at: number };

export type TemplateValue =
  | string
  | number
  | boolean
  | null
  | undefined
  | readonly (string | number | boolean)[]
  | { readonly [key: string]: string | number | boolean };

const NONE: Operator = { first: "", separator: ",", named: false, ifEmpty: "", reserved: false };

export const OPERATORS: Readonly<Record<string, Operator>> = {
  "": NONE,
  "+": { ...NONE, reserved: true },
  "#": { ...NONE, first: "#", reserved: true },
  ".": { ...NONE, first: ".", separator: "." },
  "/": { ...NONE, first: "/", separator: "/" },
  ";": { ...NONE, first: ";", separator: ";", named: true },
  "?": { ...NONE, first: "?", separator: "&", named: true, ifEmpty: "=" },
  "&": { ...NONE, first: "&", separator: "&", named: true, ifEmpty: "=" },
};

/** Expands a URI template by RFC 6570, level 4. */
export function expandUriTemplate(text: string, values: { readonly [name: string]: TemplateValue }): string {
  return expandParts(parseTemplateParts(text), values);
}

/** Reads the syntax of a URI template: literal texts and expressions, in order. */
export function parseTemplateParts(text: string): readonly TemplatePart[] {
  const wrong = (problem: string, at: number) =>
    new DefinitionError(`URI template ${JSON.stringify(text.slice(0, 100))}: ${problem} at position ${at}`);
  if (text.length > MAX_LENGTH) throw wrong(`longer than ${MAX_LENGTH} characters`, MAX_LENGTH);
  const parts: TemplatePart[] = [];
  let count = 0;
  for (let at = 0; at < text.length; ) {
    const open = text.indexOf("{", at);
    const literal = text.slice(at, open < 0 ? text.length : open);
    const foreign = literal.search(NOT_LITERAL);
    if (foreign >= 0) throw wrong("a character that a URI template must not have", at + foreign);
    if (literal !== "") parts.push(literal);
    if (open < 0) break;
    const close = text.indexOf("}", open);
    if (close < 0) throw wrong("an expression that is not closed", open);
    const body = text.slice(open + 1, close);
    const operator = /^[+#./;?&]/.exec(body)?.[0] ?? "";
    const variables = body.slice(operator.length).split(",").map(parseVariable);
    if (variables.includes(undefined)) throw wrong("a malformed expression", open);
    count += variables.length;
    if (count > MAX_VARIABLES) throw wrong(`more than ${MAX_VARIABLES} variables`, open);
    parts.push({ operator, variables: variables as TemplateVariable[], at: open });
    at = close + 1;
  }
  return parts;
}

function parseVariable(text: string): TemplateVariable | undefined {
  const explode = text.endsWith("*");
  const prefix = /:([1-9]\d{0,3})$/.exec(text);
  const name = explode ? text.slice(0, -1) : prefix === null ? text : text.slice(0, prefix.index);
  return NAME.test(name) ? { name, explode, prefix: prefix === null ? undefined : Number(prefix[1]) } : undefined;
}

export function expandParts(
  parts: readonly TemplatePart[],
  values: { readonly [name: string]: TemplateValue },
): string {
  let uri = "";
  for (const part of parts) uri += typeof part === "string" ? encodeText(part, true) : expandExpression(part, values);
  return uri;
}

function expandExpression(
  part: Exclude<TemplatePart, string>,
  values: { readonly [name: string]: TemplateValue },
): string {
  const operator = OPERATORS[part.operator]!;
  const pieces: string[] = [];
  for (const variable of part.variables) {
    const value = Object.hasOwn(values, variable.name) ? values[variable.name] : undefined;
    pieces.push(...expandVariable(variable, value, operator));
  }
  return pieces.length === 0 ? "" : operator.first + pieces.join(operator.separator);
}

function expandVariable(
  { name, explode, prefix }: TemplateVariable,
  value: TemplateValue,
  operator: Operator,
): string[] {
  const encode = (item: unknown) => encodeText(String(item), operator.reserved);
  const label = (text: string) => (operator.named ? name + (text === "" ? operator.ifEmpty : `=${text}`) : text);
  if (value === undefined || value === null) return [];
  if (typeof value !== "object") {
    const text = String(value);
    return [label(encode(prefix === undefined ? text : Array.from(text).slice(0, prefix).join("")))];
  }
  if (Array.isArray(value)) {
    if (value.length === 0) return [];
    return explode ? value.map((item) => label(encode(item))) : [label(value.map(encode).join())];
  }
  const pairs = Object.entries(value);
  if (pairs.length === 0) return [];
  if (!explode) return [label(pairs.flatMap(([key, item]) => [encode(key), encode(item)]).join())];
  return pairs.map(
    ([key, item]) => `${encode(key)}${item === "" && operator.named ? operator.ifEmpty : `=${encode(item)}`}`,
  );
}

/** Percent-encodes all but unreserved characters; with `reserved`, also leaves reserved ones and escapes as they are. */
function encodeText(text: string, reserved: boolean): string {
  const kept = reserved ? /%[0-9A-Fa-f]{2}|[\w.~:/?#[\]@!$&'()*+,;=-]/y : /[\w.~-]/y;
  let out = "";
  for (let at = 0; at < text.length; ) {
    kept.lastIndex = at;
    const plain = kept.exec(text)?.[0];
    const char = plain ?? String.fromCodePoint(text.codePointAt(at)!);
    out += plain ?? percent(char);
    at += char.length;
  }
  return out;
}

function percent(char: string): string {
  let out = "";
  for (const byte of new TextEncoder().encode(char)) out += `%${byte.toString(16).toUpperCase().padStart(2, "0")}`;
  return out;
}
