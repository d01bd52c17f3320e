import { isObject } from "../protocol/json.js";
import type { Level } from "./rule.js";

type Schema = Readonly<Record<string, unknown>>;

/** What a host or a model does not accept in the input schema of a tool. */
export interface Restriction {
  /** Keyword, or what is written in its place. */
  readonly keyword: string;
  /** Where in a schema it counts: at its root, or anywhere. */
  readonly where: "root" | "anywhere";
  readonly host: (typeof PORTABLE_HOSTS)[number];
  readonly effect: string;
  readonly remedy: string;
  /** Address of the evidence. Without it the level is `note`. */
  readonly source?: string;
  /** Day on which the source was read: year/month/day. */
  readonly checked: string;
  readonly level: Level;
  /** True if nearly all hosts remove the keyword themselves, so that it is told to those who ask for this host alone. */
  readonly removed?: boolean;
  readonly has: (schema: Schema) => boolean;
}

/** Hosts and models that restrictions, and the option `--for`, know. */
export const PORTABLE_HOSTS = ["claude", "cursor", "gemini", "openai", "vscode"] as const;

/** Age at which the evidence is told with its age. */
export const OLD_DAYS = 180;

const GEMINI = "the Gemini API refuses a request with such a tool, unless the host rewrites its schema";

const has =
  (...keywords: string[]) =>
  (schema: Schema) =>
    keywords.some((keyword) => schema[keyword] !== undefined);

/** Keys of parameters that a model accepts. */
const KEY = /^[a-zA-Z0-9_.-]{1,64}$/;

export const RESTRICTIONS: readonly Restriction[] = [
  {
    keyword: "anyOf, oneOf or allOf at the root",
    where: "root",
    host: "claude",
    effect: "the Claude API refuses each request with such a tool",
    remedy: "Move the alternatives into a property, or describe them in the text of the tool.",
    source: "https://github.com/anomalyco/opencode/issues/46628",
    checked: "2026/11/19",
    level: "error",
    has: has("anyOf", "oneOf", "allOf"),
  },
  {
    keyword: "names of parameters beyond [a-zA-Z0-9_.-]{1,64}",
    where: "root",
    host: "claude",
    effect: "the Claude API refuses each request with such a tool",
    remedy: "Rename these parameters.",
    source: "https://github.com/anthropics/claude-code/issues/79418",
    checked: "2026/11/19",
    level: "error",
    has: ({ properties }) => isObject(properties) && Object.keys(properties).some((name) => !KEY.test(name)),
  },
  {
    keyword: "anyOf, oneOf, allOf, enum or not at the root",
    where: "root",
    host: "openai",
    effect: "the OpenAI API refuses a request with such a tool, unless the host rewrites its schema",
    remedy: "Move the alternatives into a property, or describe them in the text of the tool.",
    source: "https://github.com/langchain-ai/langchainjs/issues/9804",
    checked: "2026/11/19",
    level: "warning",
    has: has("anyOf", "oneOf", "allOf", "enum", "not"),
  },
  {
    keyword: "an array without items",
    where: "anywhere",
    host: "vscode",
    effect: "VS Code does not offer such a tool",
    remedy: "Say what the array contains, in `items`.",
    source: "https://github.com/microsoft/vscode/issues/257537",
    checked: "2026/11/19",
    level: "error",
    has: ({ type, items, prefixItems }) => type === "array" && items === undefined && prefixItems === undefined,
  },
  {
    keyword: "$ref",
    where: "anywhere",
    host: "gemini",
    effect: GEMINI,
    remedy: "Inline the definitions that a tool uses, and leave out the others.",
    source: "https://github.com/google-gemini/gemini-cli/issues/13326",
    checked: "2026/11/19",
    level: "warning",
    has: has("$ref", "$defs", "definitions"),
  },
  {
    keyword: "a list of types",
    where: "anywhere",
    host: "gemini",
    effect: GEMINI,
    remedy: "Name one type. A parameter that may be left out needs no null.",
    source: "https://github.com/zed-industries/zed/issues/44875",
    checked: "2026/11/19",
    level: "warning",
    has: ({ type }) => Array.isArray(type),
  },
  {
    keyword: "const",
    where: "anywhere",
    host: "gemini",
    effect: GEMINI,
    remedy: "Write an `enum` with the one value.",
    source: "https://github.com/taylorwilsdon/google_workspace_mcp/issues/1099",
    checked: "2026/11/19",
    level: "warning",
    has: has("const"),
  },
  {
    keyword: "exclusiveMinimum or exclusiveMaximum",
    where: "anywhere",
    host: "gemini",
    effect: GEMINI,
    remedy: "Write `minimum` and `maximum`; for integers, the next value.",
    source: "https://github.com/modelcontextprotocol/servers/issues/1624",
    checked: "2026/11/19",
    level: "warning",
    has: has("exclusiveMinimum", "exclusiveMaximum"),
  },
  {
    keyword: "an enum of other values than strings",
    where: "anywhere",
    host: "gemini",
    effect: GEMINI,
    remedy: "List the values as strings, or name them in the description.",
    source: "https://github.com/google-gemini/gemini-cli/issues/4127",
    checked: "2026/11/19",
    level: "warning",
    has: ({ enum: values }) => Array.isArray(values) && values.some((value) => typeof value !== "string"),
  },
  {
    keyword: "properties without the type object",
    where: "anywhere",
    host: "gemini",
    effect: "the Gemini API may refuse such a tool",
    remedy: 'Add "type": "object".',
    checked: "2026/11/19",
    level: "note",
    has: ({ properties, type }) => isObject(properties) && type !== "object",
  },
  {
    keyword: "$schema",
    where: "root",
    host: "gemini",
    effect: GEMINI,
    remedy: "Leave $schema out: the default is JSON Schema 2020-12.",
    source: "https://github.com/router-for-me/CLIProxyAPI/issues/97",
    checked: "2026/11/19",
    level: "note",
    removed: true,
    has: has("$schema"),
  },
  {
    keyword: "additionalProperties",
    where: "anywhere",
    host: "gemini",
    effect: GEMINI,
    remedy: "Leave it out where unknown members do no harm.",
    source: "https://github.com/anomalyco/opencode/pull/14234",
    checked: "2026/11/19",
    level: "note",
    removed: true,
    has: has("additionalProperties"),
  },
];

/** Returns the age of the evidence of a restriction in days. */
export function ageOf({ checked }: Pick<Restriction, "checked">, now: number): number {
  const [year = 0, month = 1, day = 1] = checked.split("/").map(Number);
  return Math.floor((now - Date.UTC(year, month - 1, day)) / 86_400_000);
}
