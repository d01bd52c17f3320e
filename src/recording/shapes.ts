import { isObject } from "../protocol/json.js";
import { type EventKind, RECORDING_VERSION, type RecordingEvent } from "./events.js";

/** What a member of a line must be: a kind, one of some words, or members of its own. */
type Shape =
  | "any"
  | "count"
  | "number"
  | "text"
  | "flag"
  | "counts"
  | "texts"
  | "map"
  | "exit"
  | readonly string[]
  | Members;

/** Members of an object by name. A name that ends in `?` is optional. */
interface Members {
  readonly [name: string]: Shape;
}

/** Names of the members of an event, as they are written in {@link EVENTS}. */
type Described<E> = {
  readonly [K in Exclude<keyof E, "t" | "k"> as undefined extends E[K] ? `${K & string}?` : K]: Shape;
};

const WIRES = ["stdio", "http", "memory", "custom"];
const DIRECTIONS = [">", "<"];

/** Members of each kind of line, beside `t` and `k`. */
const EVENTS: { readonly [K in EventKind]: Described<Extract<RecordingEvent, { readonly k: K }>> } = {
  open: {
    c: "count",
    wire: WIRES,
    role: ["client", "server", "tap"],
    "server?": { "name?": "text", "url?": "text", "command?": "text", "args?": "texts" },
  },
  close: { c: "count", "exit?": "exit", "error?": "text" },
  frame: {
    c: "count",
    d: DIRECTIONS,
    "x?": "count",
    "id?": "text",
    "event?": "text",
    "retry?": "count",
    "m?": "any",
    "raw?": "text",
  },
  request: { c: "count", x: "count", method: "text", path: "text", headers: "map" },
  response: { c: "count", x: "count", status: "count", headers: "map" },
  end: { c: "count", x: "count", by: ["server", "client", "lost"], "error?": "text" },
  comment: { c: "count", x: "count", count: "count" },
  auth: { "c?": "count", step: "text", url: "text", "status?": "count", "us?": "count", "error?": "text" },
  stderr: { c: "count", text: "text" },
  noise: { c: "count", text: "text" },
  ask: { c: "count", n: "count", method: "text", "params?": "any" },
  answer: { c: "count", n: "count", "result?": "any", "error?": "text" },
  outcome: {
    c: "count",
    method: "text",
    "name?": "text",
    from: "number",
    "error?": { code: "text", message: "text", "rpcCode?": "number", "delivery?": "text", "retrySafe?": "flag" },
  },
  fault: { "c?": "count", what: "text", "d?": DIRECTIONS, "x?": "count" },
  gap: { lines: "count", reason: "text" },
  note: { text: "text" },
  verdict: { rule: "text", level: ["error", "warning", "note"], "lines?": "counts", text: "text", "remedy?": "text" },
  done: { lines: "count", bytes: "count", "redacted?": "any" },
};

const HEADER: Members = {
  mcpRecording: "count",
  by: "text",
  at: "text",
  unit: ["us"],
  redaction: { profile: ["default", "off"], "redact?": "texts", "keep?": "texts" },
};

type Plain = Exclude<Shape, Members | readonly string[]>;

const isCount = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;
const isText = (value: unknown): value is string => typeof value === "string";

/** Each kind of value: what it is called, its test, and its JSON Schema. */
const PLAIN: { readonly [kind in Plain]: readonly [name: string, fits: (value: unknown) => boolean, schema: object] } =
  {
    any: ["a value", () => true, {}],
    count: ["a whole number of 0 or more", isCount, { type: "integer", minimum: 0 }],
    number: ["a number", Number.isFinite, { type: "number" }],
    text: ["a string", isText, { type: "string" }],
    flag: ["a boolean", (value) => typeof value === "boolean", { type: "boolean" }],
    counts: [
      "a list of whole numbers",
      (value) => Array.isArray(value) && value.every(isCount),
      { type: "array", items: { type: "integer", minimum: 0 } },
    ],
    texts: [
      "a list of strings",
      (value) => Array.isArray(value) && value.every(isText),
      { type: "array", items: { type: "string" } },
    ],
    map: [
      "an object of strings",
      (value) => isObject(value) && Object.values(value).every(isText),
      { type: "object", additionalProperties: { type: "string" } },
    ],
    exit: [
      "a string or a whole number",
      (value) => isText(value) || Number.isSafeInteger(value),
      { type: ["string", "integer"] },
    ],
  };

/** Returns the problem of a header, or undefined. */
export function headerProblem(value: unknown): string | undefined {
  if (!isObject(value) || value.mcpRecording === undefined)
    return 'is not the header of a recording, {"mcpRecording":1,...}';
  if (isCount(value.mcpRecording) && (value.mcpRecording as number) > RECORDING_VERSION)
    return `has version ${String(value.mcpRecording)}; this release reads versions up to ${RECORDING_VERSION}: update it`;
  return problemIn(value, HEADER, "");
}

/** Returns the problem of a line after the header, or undefined. Lines of unknown kinds have none. */
export function eventProblem(value: unknown): string | undefined {
  if (!isObject(value)) return "is not a JSON object";
  if (!isText(value.k)) return "k must be a string: the kind of the line";
  if (!(Number.isFinite(value.t) && (value.t as number) >= 0)) return "t must be a number of microseconds of 0 or more";
  if (!isKnownKind(value.k)) return undefined;
  if (value.k === "frame" && (value.m === undefined) === (value.raw === undefined)) return "must have either m or raw";
  return problemIn(value, EVENTS[value.k], "");
}

/** True for a kind of line that this release knows. */
export function isKnownKind(kind: string): kind is EventKind {
  return Object.hasOwn(EVENTS, kind);
}

function problemIn(value: Record<string, unknown>, members: Members, path: string): string | undefined {
  for (const [written, shape] of Object.entries(members)) {
    const name = written.replace("?", "");
    const member = value[name];
    if (member === undefined) {
      if (name === written) return `${path}${name} is missing`;
      continue;
    }
    const problem = memberProblem(member, shape, path + name);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function memberProblem(value: unknown, shape: Shape, path: string): string | undefined {
  if (typeof shape === "string") return PLAIN[shape][1](value) ? undefined : `${path} must be ${PLAIN[shape][0]}`;
  if (Array.isArray(shape)) return shape.includes(value) ? undefined : `${path} must be ${shape.join(" or ")}`;
  return isObject(value) ? problemIn(value, shape as Members, `${path}.`) : `${path} must be an object`;
}

/** Returns the JSON Schema (draft 2020-12) of a line of a recording. */
export function recordingSchema(): Record<string, unknown> {
  const head = { ...(schemaOf(HEADER) as object), title: "header" };
  const kinds = Object.entries(EVENTS).map(([kind, members]) => {
    const { properties, required } = schemaOf(members) as { properties: object; required: readonly string[] };
    const own = {
      type: "object",
      title: kind,
      properties: { t: { type: "number", minimum: 0 }, k: { const: kind }, ...properties },
    };
    const schema = { ...own, required: ["t", "k", ...required] };
    return kind === "frame" ? { ...schema, oneOf: [{ required: ["m"] }, { required: ["raw"] }] } : schema;
  });
  const other = {
    type: "object",
    title: "a kind of a later release",
    properties: { t: { type: "number", minimum: 0 }, k: { type: "string", not: { enum: Object.keys(EVENTS) } } },
    required: ["t", "k"],
  };
  return {
    $schema: "https://json-schema.org/draft/2020-12/schema",
    title: "Line of an MCP recording",
    anyOf: [head, ...kinds, other],
  };
}

function schemaOf(shape: Shape): object {
  if (typeof shape === "string") return PLAIN[shape][2];
  if (Array.isArray(shape)) return { enum: shape };
  const members = Object.entries(shape as Members);
  return {
    type: "object",
    properties: Object.fromEntries(members.map(([name, inner]) => [name.replace("?", ""), schemaOf(inner)])),
    required: members.flatMap(([name]) => (name.endsWith("?") ? [] : [name])),
  };
}
