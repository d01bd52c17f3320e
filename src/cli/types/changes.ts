import { isObject } from "../../protocol/json.js";
import { sortedJson } from "../../protocol/sorted-json.js";
import { HINT_NAMES } from "./hints.js";
import { type Definition, type LockedServer, PARTS, type Part } from "./lock.js";
import { type Effect, schemaChanges } from "./schema-change.js";

/**
 * Kinds of changes: `breaking` ones make calls or programs fail, `compatible` ones do not, `text` is what people and models
 * read, `hints` is what a tool says about its effects.
 */
export const CHANGE_KINDS = ["breaking", "compatible", "text", "hints"] as const;
export type ChangeKind = (typeof CHANGE_KINDS)[number];

/** Difference between a server and its lock. */
export interface Change {
  readonly kind: ChangeKind;
  /** What changed: the server, or an item such as `tool moor`. */
  readonly item: string;
  readonly message: string;
}

const ITEM: Readonly<Record<Part, string>> = { tools: "tool", prompts: "prompt", templates: "template" };

/** Compares what a server offers now with its lock. */
export function changesOf(before: LockedServer, after: LockedServer): Change[] {
  return [...serverChanges(before, after), ...PARTS.flatMap((part) => partChanges(part, before, after))];
}

function serverChanges(before: LockedServer, after: LockedServer): Change[] {
  const texts = (["name", "title", "instructions"] as const).flatMap((member): Change[] =>
    before[member] === after[member] ? [] : [{ kind: "text", item: "server", message: `its ${member} changed` }],
  );
  if (before.version === after.version) return texts;
  const message = `its version was ${before.version ?? "unknown"} and is ${after.version ?? "unknown"}`;
  return [...texts, { kind: "compatible", item: "server", message }];
}

function partChanges(part: Part, { [part]: before }: LockedServer, { [part]: after }: LockedServer): Change[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].sort();
  return names.flatMap((name) => {
    const item = `${ITEM[part]} ${name}`;
    const was = Object.hasOwn(before, name) ? before[name] : undefined;
    const is = Object.hasOwn(after, name) ? after[name] : undefined;
    if (is === undefined) return [{ kind: "breaking", item, message: "is gone" } as const];
    if (was === undefined) return [{ kind: "compatible", item, message: "is new" } as const];
    if (was.digest === is.digest) return [];
    const found = COMPARE[part](was.definition, is.definition);
    const told = found.map(([kind, message]): Change => ({ kind, item, message }));
    return told.length > 0 ? told : [{ kind: "compatible", item, message: "is written in another way" } as const];
  });
}

type Told = readonly [kind: ChangeKind, message: string];

const COMPARE: Readonly<Record<Part, (before: Definition, after: Definition) => Told[]>> = {
  tools: (before, after) => [
    ...textChanges(before, after),
    ...hintChanges(before.annotations, after.annotations),
    ...schemaPart("input", before.inputSchema, after.inputSchema),
    ...outputChanges(before.outputSchema, after.outputSchema),
  ],
  prompts: (before, after) => [
    ...textChanges(before, after),
    ...schemaPart("argument", argumentSchema(before), argumentSchema(after)),
  ],
  templates: (before, after) => [...textChanges(before, after), ...restChanges(before, after, ["mimeType"])],
};

function textChanges(before: Definition, after: Definition): Told[] {
  return ["title", "description"].flatMap((member): Told[] =>
    before[member] === after[member] ? [] : [["text", `its ${member} changed`]],
  );
}

/** A hint that is lost counts as one that changed: hosts ask, and repeat calls, by what the hints say. */
function hintChanges(before: unknown, after: unknown): Told[] {
  const [was, is] = [isObject(before) ? before : {}, isObject(after) ? after : {}];
  return [...new Set([...HINT_NAMES, ...Object.keys(was), ...Object.keys(is)])].flatMap((name): Told[] => {
    if (sortedJson(was[name] ?? null) === sortedJson(is[name] ?? null)) return [];
    if (name === "title") return [["text", "the title of its annotations changed"]];
    if (is[name] === undefined) return [["hints", `lost ${name}, which was ${String(was[name])}`]];
    const then = was[name] === undefined ? "not given" : String(was[name]);
    return [["hints", `${name} was ${then} and is ${String(is[name])}`]];
  });
}

/** Fewer values that an input accepts break callers; more values that an output has break readers. */
const BREAKING: Readonly<Record<"input" | "argument" | "output", readonly Effect[]>> = {
  input: ["narrower", "other"],
  argument: ["narrower", "other"],
  output: ["wider", "other"],
};

function schemaPart(side: keyof typeof BREAKING, before: unknown, after: unknown): Told[] {
  return schemaChanges(before ?? {}, after ?? {}).map(({ path, effect, what }) => {
    const kind = effect === "text" ? "text" : BREAKING[side].includes(effect) ? "breaking" : "compatible";
    return [kind, `${side}${path === "" ? "" : ` ${path}`}: ${what}`];
  });
}

function outputChanges(before: unknown, after: unknown): Told[] {
  if (before === undefined && after !== undefined) return [["compatible", "output: has a schema now"]];
  if (before !== undefined && after === undefined) return [["breaking", "output: has no schema any more"]];
  return schemaPart("output", before, after);
}

/** Returns the arguments of a prompt as the schema of an object that accepts no others. */
function argumentSchema({ arguments: declared }: Definition): object {
  const named = (Array.isArray(declared) ? declared : []).filter(isObject);
  const properties = named.map(({ name, title, description }) => [
    String(name),
    { type: "string", title, description },
  ]);
  const required = named.filter((one) => one.required === true).map(({ name }) => String(name));
  return { type: "object", properties: Object.fromEntries(properties), required };
}

function restChanges(before: Definition, after: Definition, members: readonly string[]): Told[] {
  return members.flatMap((member): Told[] =>
    before[member] === after[member]
      ? []
      : [["compatible", `its ${member} was ${String(before[member])} and is ${String(after[member])}`]],
  );
}
