import { tokensOf, toolBytes } from "../doctor/tokens.js";
import { isObject } from "../protocol/json.js";
import { visibleLine } from "./text.js";

type Schema = Readonly<Record<string, unknown>>;

const MOST = 4;

/** How a parameter is written on the command line. */
export type Kind = "text" | "number" | "integer" | "boolean" | "choice" | "list" | "object" | "json";

/** Follows references inside the schema, and takes the part of a nullable type that is not null. */
export function resolveSchema(schema: unknown, root: Schema): Schema {
  let found: unknown = schema;
  for (let step = 0; step < 10; step++) {
    if (!isObject(found)) return {};
    const { $ref, anyOf, oneOf, ...rest } = found;
    if (typeof $ref === "string") {
      found = { ...(lookUp($ref, root) as object), ...rest };
      continue;
    }
    const union = (anyOf ?? oneOf) as unknown;
    const others = Array.isArray(union) ? union.filter((one) => !isObject(one) || one.type !== "null") : [];
    if (!Array.isArray(union) || others.length !== 1 || others.length === union.length) return found;
    found = { ...rest, ...(others[0] as object) };
  }
  return {};
}

function lookUp(reference: string, root: Schema): unknown {
  if (!reference.startsWith("#")) return {};
  let found: unknown = root;
  for (const part of reference.slice(2).split("/").filter(Boolean)) {
    const key = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
    found = isObject(found) && Object.hasOwn(found, key) ? found[key] : {};
  }
  return found;
}

/** Returns the type of a resolved schema, without null. */
export function typeOf({ type }: Schema): unknown {
  if (!Array.isArray(type)) return type;
  const others = type.filter((one) => one !== "null");
  return others.length === 1 ? others[0] : undefined;
}

/** Returns how a value of a resolved schema is written. What is neither simple nor a list of something is JSON. */
export function kindOf(schema: Schema): Kind {
  const { enum: choices } = schema;
  if (Array.isArray(choices) && choices.every((one) => typeof one === "string" || one === null)) return "choice";
  if (schema.anyOf !== undefined || schema.oneOf !== undefined || schema.allOf !== undefined) return "json";
  switch (typeOf(schema)) {
    case "string":
      return "text";
    case "number":
      return "number";
    case "integer":
      return "integer";
    case "boolean":
      return "boolean";
    case "array":
      return "list";
    case "object":
      return "object";
    default:
      return "json";
  }
}

/** Returns the choices of a schema as texts. */
export function choicesOf({ enum: choices }: Schema): readonly string[] {
  return Array.isArray(choices) ? choices.filter((one): one is string => typeof one === "string") : [];
}

/** Returns the value of a parameter as help writes it: `<text>`, `<n1|n2>`. */
export function valueText(schema: Schema, root: Schema): string {
  const kind = kindOf(schema);
  if (kind === "choice") {
    const choices = choicesOf(schema);
    return `<${choices
      .slice(0, MOST * 2)
      .map(visibleLine)
      .join("|")}${choices.length > MOST * 2 ? "|..." : ""}>`;
  }
  if (kind === "list") return valueText(resolveSchema(schema.items, root), root);
  return kind === "object" ? "<json>" : `<${kind}>`;
}

/** Returns a schema as a short type: `{ ship: string, lines: number }`. */
export function typeText(given: unknown, root: Schema, depth = 0): string {
  const schema = resolveSchema(given, root);
  const { enum: choices, const: only } = schema;
  if (only !== undefined) return visibleLine(JSON.stringify(only));
  if (Array.isArray(choices)) return choices.map((one) => visibleLine(JSON.stringify(one))).join(" | ");
  const union = (schema.anyOf ?? schema.oneOf) as unknown;
  if (Array.isArray(union)) return union.map((one) => typeText(one, root, depth + 1)).join(" | ");
  const type = typeOf(schema);
  if (type === "array") {
    const item = typeText(schema.items, root, depth + 1);
    return item.includes(" ") && !item.startsWith("{") ? `(${item})[]` : `${item}[]`;
  }
  if (type === "object" && isObject(schema.properties)) {
    if (depth > 2) return "object";
    const required = new Set(Array.isArray(schema.required) ? schema.required : []);
    const members = Object.entries(schema.properties).map(
      ([name, part]) => `${visibleLine(name)}${required.has(name) ? "" : "?"}: ${typeText(part, root, depth + 1)}`,
    );
    return members.length === 0 ? "{}" : `{ ${members.join(", ")} }`;
  }
  return typeof type === "string" ? visibleLine(type) : "any";
}

/** About how many tokens the definition of a tool costs a model. */
export function aboutTokens(tool: Parameters<typeof toolBytes>[0]): number {
  return tokensOf(toolBytes(tool));
}
