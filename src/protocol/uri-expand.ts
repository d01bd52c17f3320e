import { OPERATORS, parseTemplateParts, type TemplatePart, type TemplateVariable } from "./uri-template.js";

/** Value of a template variable. */
export type TemplateValue =
  | string
  | number
  | boolean
  | null
  | undefined
  | readonly (string | number | boolean)[]
  | { readonly [key: string]: string | number | boolean };

/** Expands a URI template as defined by RFC 6570, level 4. */
export function expandUriTemplate(text: string, values: { readonly [name: string]: TemplateValue }): string {
  let uri = "";
  for (const part of parseTemplateParts(text)) {
    uri += typeof part === "string" ? encodeText(part, true) : expandExpression(part, values);
  }
  return uri;
}

function expandExpression(
  part: Exclude<TemplatePart, string>,
  values: { readonly [name: string]: TemplateValue },
): string {
  const { first, separator } = OPERATORS[part.operator]!;
  const pieces: string[] = [];
  for (const variable of part.variables) {
    const value = Object.hasOwn(values, variable.name) ? values[variable.name] : undefined;
    for (const piece of expandVariable(variable, value, part.operator)) pieces.push(piece);
  }
  return pieces.length === 0 ? "" : first + pieces.join(separator);
}

function expandVariable({ name, explode, prefix }: TemplateVariable, value: TemplateValue, operator: string): string[] {
  const { named } = OPERATORS[operator]!;
  const reserved = operator === "+" || operator === "#";
  // A path parameter with an empty value is written as its name only. A query parameter keeps its equals sign.
  const ifEmpty = operator === ";" ? "" : "=";
  const encode = (item: unknown) => encodeText(String(item), reserved);
  const label = (text: string) => (named ? name + (text === "" ? ifEmpty : `=${text}`) : text);
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
  return pairs.map(([key, item]) => `${encode(key)}${item === "" && named ? ifEmpty : `=${encode(item)}`}`);
}

/**
 * Percent-encodes all characters except unreserved ones. If `reserved` is true, also keeps reserved characters and
 * existing escapes.
 */
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
