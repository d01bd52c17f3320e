import { isObject } from "../protocol/json.js";
import { messageOf } from "../protocol/text.js";
import { SkillError } from "./error.js";
import type { SkillFrontmatter } from "./types.js";

/** Parses YAML 1.2 with the core schema. Throws for invalid text. */
export type ParseYaml = (text: string) => unknown;

/** SKILL.md in its two parts. */
export interface SkillText {
  readonly frontmatter: SkillFrontmatter;
  /** Markdown after the frontmatter. */
  readonly body: string;
}

const MAX_NAME = 64;
const MAX_DESCRIPTION = 1024;
const NAME = /^[\p{L}\p{N}]+(?:-[\p{L}\p{N}]+)*$/u;
/** Maximum length of a frontmatter. */
const MAX_CHARS = 16_384;
const MAX_DEPTH = 64;
/** Lists in one line, each in the one before. */
const NESTED_LINE = new RegExp(`(?:[-?:][ \\t]+){${MAX_DEPTH}}`);
const START = /^\uFEFF?---[ \t]*\r?\n/;
const END = /(?<=^|\n)---[ \t]*(?:\r?\n|$)/;

/** Loads the optional peer dependency `yaml`. */
export async function loadYaml(): Promise<ParseYaml> {
  const yaml = await import("yaml").catch((cause: unknown) => {
    throw new SkillError("yaml_missing", "Reading SKILL.md needs the package yaml: npm install yaml", { cause });
  });
  return (text) => parseYaml(text, yaml);
}

function parseYaml(text: string, { LineCounter, parseDocument, visit }: typeof import("yaml")): unknown {
  const lineCounter = new LineCounter();
  const document = parseDocument(text, {
    version: "1.2",
    schema: "core",
    resolveKnownTags: false,
    stringKeys: true,
    // The parser compares each key with all others.
    uniqueKeys: false,
    prettyErrors: false,
    lineCounter,
  });
  const refuse = (message: string, offset: number | undefined) => {
    const { line, col } = lineCounter.linePos(offset ?? 0);
    // The first line of the file is the separator.
    throw new Error(`line ${line + 1}, column ${col}: ${message}`);
  };
  const [error] = [...document.errors, ...document.warnings];
  if (error !== undefined) refuse(error.message, error.pos[0]);
  visit(document, {
    Alias: (_, alias) => refuse("aliases are not allowed", alias.range?.[0]),
    Map: (_, { items }) => {
      const keys = new Set<unknown>();
      for (const { key } of items) {
        const { value, range } = key as { readonly value: unknown; readonly range?: readonly number[] };
        if (keys.has(value)) refuse(`the key ${JSON.stringify(value)} is there twice`, range?.[0]);
        keys.add(value);
      }
    },
  });
  return document.toJS({ maxAliasCount: 0 });
}

/** Splits a SKILL.md and parses its frontmatter. Throws an error without the file's name for an invalid one. */
export function readSkillText(text: string, parser: ParseYaml): SkillText {
  const { yaml, body } = splitSkillText(text);
  return { frontmatter: assertFrontmatter(parse(yaml, parser)), body };
}

/** Splits a SKILL.md. Throws unless it has a frontmatter of a size that is parsed in a short time. */
export function splitSkillText(text: string): { readonly yaml: string; readonly body: string } {
  const start = START.exec(text);
  if (start === null) throw new Error("line 1: must begin with YAML frontmatter between lines of ---");
  const rest = text.slice(start[0].length);
  const end = END.exec(rest);
  if (end === null) throw new Error("the frontmatter has no line --- at its end");
  if (end.index > MAX_CHARS) throw new Error(`the frontmatter has more than ${MAX_CHARS} characters`);
  const yaml = rest.slice(0, end.index);
  if (isDeep(yaml)) throw new Error("the frontmatter is nested too deeply");
  return { yaml, body: rest.slice(end.index + end[0].length) };
}

/** True if the text has so many brackets in brackets, or lists in lists, that parsing it takes long. */
function isDeep(yaml: string): boolean {
  let depth = 0;
  for (const character of yaml) {
    if (character === "[" || character === "{") depth++;
    else if (character === "]" || character === "}") depth = Math.max(0, depth - 1);
    if (depth > MAX_DEPTH) return true;
  }
  return NESTED_LINE.test(yaml);
}

function parse(yaml: string, parser: ParseYaml): unknown {
  try {
    return parser(yaml);
  } catch (error) {
    throw new Error(`the frontmatter is not valid YAML: ${messageOf(error)}`, { cause: error });
  }
}

/** Returns the value as frontmatter. Throws unless it is a JSON object with a valid name and description. */
export function assertFrontmatter(value: unknown): SkillFrontmatter {
  if (!isObject(value)) throw new Error("the frontmatter must be a map of fields");
  const problem = nameProblem(value.name) ?? descriptionProblem(value.description) ?? jsonProblem(value, "");
  if (problem !== undefined) throw new Error(`the frontmatter is invalid: ${problem}`);
  return value as SkillFrontmatter;
}

/** Returns the place of a value that JSON cannot represent. */
function jsonProblem(value: unknown, place: string): string | undefined {
  if (typeof value === "number" && !Number.isFinite(value)) return `${place} is ${value}, which JSON cannot represent`;
  if (typeof value !== "object" || value === null) return undefined;
  for (const [key, item] of Object.entries(value)) {
    const problem = jsonProblem(item, place === "" ? key : `${place}.${key}`);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** Writes a SKILL.md. JSON is valid YAML, so the frontmatter reads back as it was given. */
export function writeSkillText(frontmatter: SkillFrontmatter, body: string): string {
  const fields = Object.entries(frontmatter).map(([field, value]) => `${fieldName(field)}: ${JSON.stringify(value)}\n`);
  return `---\n${fields.join("")}---\n${body}`;
}

function fieldName(field: string): string {
  return /^[a-z]+(?:[-_][a-z]+)*$/.test(field) && !/^(?:true|false|null)$/.test(field) ? field : JSON.stringify(field);
}

/** Returns the fields in which two frontmatters differ. The order of fields does not matter. */
export function differingFields(one: SkillFrontmatter, other: SkillFrontmatter): readonly string[] {
  const fields = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...fields].filter((field) => !isEqual(own(one, field), own(other, field)));
}

function own(object: object, field: string): unknown {
  return Object.hasOwn(object, field) ? (object as Record<string, unknown>)[field] : undefined;
}

function isEqual(one: unknown, other: unknown): boolean {
  if (Object.is(one, other) || (one === 0 && other === 0)) return true;
  if (Array.isArray(one) || Array.isArray(other)) {
    return Array.isArray(one) && Array.isArray(other) && sameItems(one, other);
  }
  return isObject(one) && isObject(other) && sameMembers(one, other);
}

function sameItems(one: readonly unknown[], other: readonly unknown[]): boolean {
  return one.length === other.length && one.every((item, index) => isEqual(item, other[index]));
}

function sameMembers(one: object, other: object): boolean {
  const keys = Object.keys(one);
  return (
    keys.length === Object.keys(other).length &&
    keys.every((key) => Object.hasOwn(other, key) && isEqual(own(one, key), own(other, key)))
  );
}

/** Returns the problem of a skill's name by the rules of Agent Skills, or undefined. */
function nameProblem(name: unknown): string | undefined {
  if (typeof name !== "string" || name === "") return "name is missing";
  if (name.length > MAX_NAME) return `name has ${name.length} characters; at most ${MAX_NAME} are allowed`;
  if (NAME.test(name) && name === name.toLowerCase()) return undefined;
  return `name ${JSON.stringify(name)} must consist of lowercase letters, digits and single hyphens between them`;
}

/** Returns the problem of a skill's description by the rules of Agent Skills, or undefined. */
function descriptionProblem(description: unknown): string | undefined {
  if (typeof description !== "string" || description.trim() === "") return "description is missing";
  // Agent Skills counts characters, of which some have two units in a string.
  const { length } = [...description.slice(0, 2 * MAX_DESCRIPTION + 2)];
  return length <= MAX_DESCRIPTION ? undefined : `description has more than ${MAX_DESCRIPTION} characters`;
}
