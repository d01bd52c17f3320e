import { isObject, isTextList } from "../../protocol/json.js";
import { sortedJson } from "../../protocol/sorted-json.js";
import { lookUp } from "../schema-pointer.js";
import { toJson } from "../text.js";
import { docComment, safeLine, type Tag } from "./doc-comment.js";

type Schema = Readonly<Record<string, unknown>>;

/** Depth of a schema from which its types are `unknown`. */
const MOST_DEPTH = 200;

/** Length of the definitions that a reference needs up to which they are compared with those of other documents. */
const MOST_CHARS = 100_000;

/** Keywords that say nothing about the type. */
const SILENT: ReadonlySet<string> = new Set([
  ...["$schema", "$id", "$comment", "$anchor", "$defs", "definitions", "title", "description", "default", "examples"],
  ...["deprecated", "readOnly", "writeOnly", "required"],
]);

/** A type as text. A looser one needs parentheses where a tighter one is expected. */
interface TypeText {
  readonly text: string;
  readonly binds: "tight" | "and" | "or";
}

const UNKNOWN: TypeText = { text: "unknown", binds: "tight" };

/** Place of a schema: its document, the alias of which it is the top, and its depth. */
interface Place {
  readonly root: unknown;
  /** Name of the document's own type, if a reference to it needs one. */
  readonly rootName: string;
  /** Alias whose type this is a part of, not inside an object or array. Such an alias must not contain itself. */
  readonly alias: string | undefined;
  readonly indent: string;
  readonly depth: number;
}

/** Writes JSON Schemas as TypeScript. Definitions become named types, once for all schemas that have the same one. */
export class SchemaTypes {
  readonly #prefix: string;
  /** Names of aliases by what they mean. */
  readonly #names = new Map<string, string>();
  /** What the references of each document mean. */
  readonly #documents = new Map<unknown, { readonly number: number; readonly meanings: Map<string, string> }>();
  readonly #taken: Set<string>;
  readonly #aliases: string[] = [];
  /** Aliases that each alias contains as itself, not inside an object or array. */
  readonly #contains = new Map<string, Set<string>>();

  /** `prefix` begins the names of definitions, and `taken` are names that they must not have. */
  constructor(prefix: string, taken: Set<string>) {
    this.#prefix = prefix;
    this.#taken = taken;
  }

  /** Returns the type of a schema. `name` names the type if the schema refers to itself. */
  typeOf(schema: unknown, name: string, indent: string): string {
    return this.#type(schema, { root: schema, rootName: name, alias: undefined, indent, depth: 0 }).text;
  }

  /** Named types that the types so far refer to. */
  get declarations(): readonly string[] {
    return this.#aliases;
  }

  #type(schema: unknown, place: Place): TypeText {
    if (schema === false) return { text: "never", binds: "tight" };
    if (!isObject(schema)) return UNKNOWN;
    if (place.depth > MOST_DEPTH) return unknown("nested too deeply");
    const at = { ...place, depth: place.depth + 1 };
    const { $ref, const: only, enum: choices, anyOf, oneOf, allOf, nullable } = schema;
    const parts: TypeText[] = [];
    if (typeof $ref === "string") parts.push(this.#reference($ref, at));
    if (only !== undefined) parts.push({ text: literal(only), binds: "tight" });
    else if (Array.isArray(choices)) parts.push(union(choices.map((one) => ({ text: literal(one), binds: "tight" }))));
    else parts.push(this.#base(schema, at));
    for (const branches of [anyOf, oneOf])
      if (Array.isArray(branches)) parts.push(union(branches.map((one) => this.#type(one, at))));
    if (Array.isArray(allOf)) parts.push(...allOf.map((one) => this.#type(one, at)));
    const whole = intersection(parts, isBareObject(schema));
    if (whole.text === "unknown") return unknown(saidBy(schema), whole);
    return nullable === true ? union([whole, NULL]) : whole;
  }

  /** Returns the type that the keyword `type` names, or the one that other keywords are about. */
  #base(schema: Schema, at: Place): TypeText {
    const { type } = schema;
    const named = typeof type === "string" ? [type] : isTextList(type) ? type : [];
    if (named.length > 0) return union(named.map((one) => this.#named(one, schema, at)));
    if (["properties", "additionalProperties", "patternProperties"].some((key) => schema[key] !== undefined))
      return this.#object(schema, at);
    return schema.items !== undefined || schema.prefixItems !== undefined ? this.#array(schema, at) : UNKNOWN;
  }

  #named(type: string, schema: Schema, at: Place): TypeText {
    switch (type) {
      case "string":
      case "number":
      case "boolean":
      case "null":
        return { text: type, binds: "tight" };
      case "integer":
        return { text: "number", binds: "tight" };
      case "array":
        return this.#array(schema, at);
      case "object":
        return this.#object(schema, at);
      default:
        return unknown(`type ${toJson(type)}`);
    }
  }

  #array(schema: Schema, at: Place): TypeText {
    const inside = { ...at, alias: undefined };
    const { items, prefixItems, additionalItems, minItems } = schema;
    const first = Array.isArray(prefixItems) ? prefixItems : Array.isArray(items) ? items : undefined;
    if (first === undefined) return { text: `${tight(this.#type(items, inside))}[]`, binds: "tight" };
    const more = Array.isArray(prefixItems) ? items : additionalItems;
    const least = typeof minItems === "number" ? minItems : 0;
    const members = first.map((one, index) => {
      const type = this.#type(one, inside);
      return index < least ? type.text : `${tight(type)}?`;
    });
    if (more !== false) members.push(`...${tight(this.#type(more, inside))}[]`);
    return { text: `[${members.join(", ")}]`, binds: "tight" };
  }

  #object(schema: Schema, at: Place): TypeText {
    const properties = isObject(schema.properties) ? Object.entries(schema.properties) : [];
    const required = new Set(isTextList(schema.required) ? schema.required : []);
    const inside = { ...at, alias: undefined, indent: `${at.indent}  ` };
    const members = properties.map(([name, part]) => {
      const isRequired = required.has(name);
      return { name, part, isRequired, type: this.#type(part, inside) };
    });
    const lines = members.map(
      ({ name, part, isRequired, type }) =>
        `${commentOf(part, inside.indent)}${inside.indent}${propertyName(name)}${isRequired ? "" : "?"}: ${type.text};\n`,
    );
    const others = this.#others(schema, inside);
    if (others !== undefined) {
      // The type of an index must include those of all members.
      const own = members.flatMap(({ type, isRequired }) => (isRequired ? [type] : [type, UNDEFINED]));
      lines.push(`${inside.indent}[key: string]: ${union([others, ...own]).text};\n`);
    } else if (members.length === 0)
      lines.push(`${inside.indent}[key: string]: ${schema.additionalProperties === false ? "never" : "unknown"};\n`);
    if (lines.length === 1 && members.length === 0)
      return { text: `{ ${lines[0]!.trim().slice(0, -1)} }`, binds: "tight" };
    return { text: `{\n${lines.join("")}${at.indent}}`, binds: "tight" };
  }

  /** Returns the type of the members that have no name in the schema, if it says something about them. */
  #others({ patternProperties, additionalProperties }: Schema, inside: Place): TypeText | undefined {
    const patterns = isObject(patternProperties) ? Object.values(patternProperties) : [];
    const more = additionalProperties === undefined || additionalProperties === false ? [] : [additionalProperties];
    const open = patterns.length > 0 && additionalProperties === undefined ? [true] : [];
    const schemas = [...patterns, ...more, ...open];
    return schemas.length === 0 ? undefined : union(schemas.map((one) => this.#type(one, inside)));
  }

  #reference(reference: string, at: Place): TypeText {
    const local = withoutId(reference, at.root);
    const target = lookUp(local, at.root);
    if (target === undefined) return unknown(`$ref ${toJson(reference)} is not in the schema`);
    if (!isObject(target)) return this.#type(target, at);
    const meaning = this.#meaning(local, at.root);
    const name = this.#names.get(meaning) ?? this.#declare(meaning, local, target, at);
    if (at.alias !== undefined && !this.#include(at.alias, name)) return unknown(`${toJson(reference)} is itself`);
    return { text: name, binds: "tight" };
  }

  /**
   * Returns a text that is equal for references with equal definitions, in any document: all definitions that the reference
   * needs. If that is long, the reference counts as another one in each document.
   */
  #meaning(reference: string, root: unknown): string {
    const document = this.#documents.get(root) ?? { number: this.#documents.size, meanings: new Map<string, string>() };
    this.#documents.set(root, document);
    const { number, meanings } = document;
    const meaning = meanings.get(reference) ?? this.#written(reference, root) ?? `${number} ${reference}`;
    meanings.set(reference, meaning);
    return meaning;
  }

  #written(reference: string, root: unknown): string | undefined {
    const texts = new Map<string, string>();
    const open = [reference];
    let length = 0;
    for (const one of open) {
      if (texts.has(one)) continue;
      const schema = lookUp(one, root);
      const text = sortedJson(schema ?? null);
      texts.set(one, text);
      length += text.length;
      if (length > MOST_CHARS) return undefined;
      for (const next of referencesIn(schema)) open.push(withoutId(next, root));
    }
    return [...texts].flat().join("\n");
  }

  #declare(meaning: string, reference: string, target: Schema, { root, rootName, depth }: Place): string {
    const own = reference === "#" ? rootName : `${this.#prefix}${pascal(reference.split("/").at(-1) ?? "")}`;
    const name = freeName(own, this.#taken);
    this.#names.set(meaning, name);
    const place = { root, rootName, alias: name, indent: "", depth };
    const index = this.#aliases.push("") - 1;
    const { text } = this.#type(target, place);
    this.#aliases[index] = `${commentOf(target, "")}export type ${name} = ${text};\n`;
    return name;
  }

  /** Notes that an alias contains another one. Returns false if it would contain itself. */
  #include(alias: string, other: string): boolean {
    const reached = new Set([other]);
    for (const one of reached) for (const next of this.#contains.get(one) ?? []) reached.add(next);
    if (reached.has(alias)) return false;
    this.#contains.set(alias, (this.#contains.get(alias) ?? new Set()).add(other));
    return true;
  }
}

const NULL: TypeText = { text: "null", binds: "tight" };
const UNDEFINED: TypeText = { text: "undefined", binds: "tight" };

/** Returns the reference inside of the document if it names the document by its own id. */
function withoutId(reference: string, root: unknown): string {
  const id = isObject(root) && typeof root.$id === "string" ? root.$id.replace(/#$/, "") : undefined;
  if (id === undefined || reference.startsWith("#")) return reference;
  return reference === id ? "#" : reference.startsWith(`${id}#`) ? reference.slice(id.length) : reference;
}

function referencesIn(schema: unknown): string[] {
  const found: string[] = [];
  const open: unknown[] = [schema];
  for (const one of open) {
    if (typeof one !== "object" || one === null) continue;
    if (isObject(one) && typeof one.$ref === "string") found.push(one.$ref);
    for (const value of Object.values(one)) open.push(value);
  }
  return found;
}

function union(types: readonly TypeText[]): TypeText {
  if (types.length === 0) return { text: "never", binds: "tight" };
  const texts = new Map(types.map((type) => [type.text, type]));
  const vague = types.find(({ text }) => /^unknown\b/.test(text));
  if (vague !== undefined) return vague;
  if (texts.size > 1) texts.delete("never");
  const all = [...texts.values()];
  return all.length === 1 ? all[0]! : { text: all.map(({ text }) => text).join(" | "), binds: "or" };
}

/** Joins parts that all apply. With `isBare`, the part for an object without members adds nothing to others. */
function intersection(parts: readonly TypeText[], isBare: boolean): TypeText {
  const known = new Map(parts.filter(({ text }) => !/^unknown\b/.test(text)).map((part) => [part.text, part]));
  if (isBare && known.size > 1) known.delete(ANY_OBJECT);
  const all = [...known.values()];
  if (all.length === 0) return parts.find(({ text }) => text !== "unknown") ?? UNKNOWN;
  if (all.length === 1) return all[0]!;
  return { text: all.map((part) => (part.binds === "or" ? `(${part.text})` : part.text)).join(" & "), binds: "and" };
}

const ANY_OBJECT = "{ [key: string]: unknown }";

function isBareObject({ type, properties, additionalProperties, patternProperties }: Schema): boolean {
  return type === "object" && [properties, additionalProperties, patternProperties].every((one) => one === undefined);
}

function tight({ text, binds }: TypeText): string {
  return binds === "tight" ? text : `(${text})`;
}

/** Returns `unknown` with the reason, unless there is a text with a reason already. */
function unknown(why: string, before: TypeText = UNKNOWN): TypeText {
  return why === "" || before !== UNKNOWN ? before : { text: `unknown /* ${safeLine(why)} */`, binds: "tight" };
}

/** Names the keywords of a schema that say something that no type can say. */
function saidBy(schema: Schema): string {
  return Object.keys(schema)
    .filter((key) => !SILENT.has(key))
    .join(", ");
}

/** Returns a JSON value as a type that has this value only. */
function literal(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(literal).join(", ")}]`;
  if (!isObject(value)) return toJson(value);
  const members = Object.entries(value).map(([name, one]) => `${propertyName(name)}: ${literal(one)}`);
  return members.length === 0 ? "{ [key: string]: never }" : `{ ${members.join("; ")} }`;
}

/** Returns the name of a member as TypeScript writes it. */
export function propertyName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : toJson(name);
}

function commentOf(schema: unknown, indent: string): string {
  if (!isObject(schema)) return "";
  const { title, description, default: preset, deprecated, format } = schema;
  const text = typeof description === "string" ? description : typeof title === "string" ? title : undefined;
  const tags: Tag[] = [];
  if (typeof format === "string") tags.push(["format", format]);
  if (preset !== undefined) tags.push(["default", toJson(preset)]);
  if (deprecated === true) tags.push(["deprecated", ""]);
  return docComment([text], tags, indent);
}

/** Returns a name in the form of types: `my-server/notes` is `MyServerNotes`. It may be empty. */
export function pascal(text: string): string {
  const words = text.split(/[^A-Za-z0-9]+/).filter(Boolean);
  return words.map((word) => word[0]!.toUpperCase() + word.slice(1)).join("");
}

/** Returns the name, or the name with a number if it is taken, and takes it. */
export function freeName(wanted: string, taken: Set<string>): string {
  let name = wanted;
  for (let count = 2; taken.has(name); count++) name = `${wanted}${count}`;
  taken.add(name);
  return name;
}
