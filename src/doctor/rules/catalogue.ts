import { isObject } from "../../protocol/json.js";
import type { Tool } from "../../protocol/types/index.js";
import type { CatalogueFacts, Listing } from "../facts.js";
import type { Problem, Rule } from "../rule.js";
import { keyOf, listingsOf, newest } from "./era.js";
import { counted, linesOf, list, quoted, share } from "./words.js";

const METHOD_NOT_FOUND = -32601;

/** Length up to which models accept the name of a tool. */
const MOST_CHARS = 64;
/** Length of the names of server and tool together that editors accept. */
const MOST_TOGETHER = 60;

/** Characters that the specification allows in the name of a tool. */
const ALLOWED = /^[A-Za-z0-9_.-]+$/;

/**
 * Characters that a reader does not see: controls, and formats such as those that change the direction of text. The joiners
 * of scripts and emoji are no threat, and neither are the tags of a flag.
 */
const HIDDEN = /(?!\t|\n|\r|\u200c|\u200d|\u00ad)(?:\p{Cc}|(?<!\u{1f3f4}[\u{e0020}-\u{e007f}]*)\p{Cf})/u;

/** Rules of what a server lists. */
export const CATALOGUE: readonly Rule[] = [
  {
    id: "catalogue/pages",
    finds: "cursors that repeat or never end, pages that fail, and duplicates",
    remedy: "Return a new cursor for each page and none with the last, and list each item once.",
    needs: [],
    check: (facts) => {
      const era = newest(facts);
      return era && listingsOf(era.catalogue).flatMap((listing) => pageProblems(listing, era.capabilities));
    },
  },
  {
    id: "catalogue/names",
    finds: "names of tools that are too long, have other characters, or are equal but for case",
    remedy: "Name tools with at most 64 letters, digits, _ and -, and leave room for the prefix of a host.",
    needs: [],
    check: (facts) => {
      const era = newest(facts);
      if (era === undefined || era.catalogue.tools.items.length === 0) return undefined;
      const { items, lines } = era.catalogue.tools;
      const names = items.map(({ name }) => String(name));
      const server = era.server?.name ?? "";
      const found = (level: Problem["level"], those: readonly string[], what: string): Problem[] =>
        those.length === 0 ? [] : [{ level, place: list(those.map(quoted)), text: `${what}: ${list(those)}`, lines }];
      const long = names.filter((name) => name.length > MOST_CHARS);
      const crowded = names.filter(
        (name) => name.length <= MOST_CHARS && name.length + server.length + 1 > MOST_TOGETHER,
      );
      return [
        ...found("warning", long, `models refuse names of more than ${MOST_CHARS} characters`),
        ...found(
          "warning",
          names.filter((name) => !ALLOWED.test(name)),
          "the specification allows letters, digits, _, - and . in names of tools, and models refuse others",
        ).map((problem) => ({ ...problem, requirement: "tools:name:slash-not-allowed" })),
        ...found(
          "note",
          names.filter((name) => ALLOWED.test(name) && name.includes(".")),
          "some models refuse a . in names of tools, so that hosts rename them",
        ),
        ...found("warning", twins(names), "names that are equal but for case are one name for some hosts"),
        ...found(
          "note",
          crowded,
          `with the server's name (${server.length} characters), names have more than ${MOST_TOGETHER} characters, and some editors leave such tools out`,
        ),
      ];
    },
  },
  {
    id: "catalogue/text",
    finds: "tools or parameters without a description, and characters that a reader does not see",
    remedy: "Describe each tool and each parameter: a model knows nothing else. Remove invisible characters.",
    needs: [],
    check: (facts) => {
      const era = newest(facts);
      if (era === undefined) return undefined;
      const { tools } = era.catalogue;
      const { lines } = tools;
      const silent = tools.items.filter(({ description }) => blank(description)).map(({ name }) => String(name));
      const parameters = tools.items.flatMap(undescribed);
      const problems: Problem[] = [];
      if (silent.length > 0)
        problems.push({
          level: "warning",
          place: list(silent),
          text: `${share(silent.length, tools.items.length, "tool")} ${silent.length === 1 ? "has" : "have"} no description: ${list(silent)}`,
          lines,
          remedy: "Describe each tool: a model knows nothing else.",
        });
      if (parameters.length > 0)
        problems.push({
          level: "note",
          place: list(parameters),
          text: `${counted(parameters.length, "parameter")} without a description: ${list(parameters)}`,
          lines,
          remedy: "Describe each parameter: a model knows nothing else.",
        });
      return [...problems, ...hiddenTexts(era.catalogue, era.server?.instructions, linesOf(era.line))];
    },
  },
  {
    id: "catalogue/hints",
    finds: "tools without hints, so that clients can neither repeat calls nor know when to ask the user",
    remedy: "Set annotations: readOnlyHint, and destructiveHint and idempotentHint for a tool that changes something.",
    needs: [],
    check: (facts) => {
      const tools = newest(facts)?.catalogue.tools;
      if (tools === undefined || tools.items.length === 0) return undefined;
      const bare = tools.items.filter(isBare);
      if (bare.length === 0) return [];
      const have = bare.length === 1 ? "has" : "have";
      const text = `${share(bare.length, tools.items.length, "tool")} ${have} none of ${list(HINTS)}: ${list(bare.map(({ name }) => String(name)))}`;
      return [{ level: "note", place: list(bare.map(({ name }) => String(name))), text, lines: tools.lines }];
    },
  },
  {
    id: "catalogue/declared",
    finds: "capabilities without items, and items without a capability",
    remedy: "Declare a capability if, and only if, the server has such items.",
    needs: [],
    check: (facts) => {
      const era = newest(facts);
      if (era === undefined) return undefined;
      const { catalogue, capabilities = {} } = era;
      const { tools, prompts, resources, resourceTemplates } = catalogue;
      const kinds = [
        ["tools", [tools]],
        ["prompts", [prompts]],
        ["resources", [resources, resourceTemplates]],
      ] as const;
      return kinds.flatMap(([kind, listings]) =>
        declaredProblems(kind, listings, (capabilities as Readonly<Record<string, unknown>>)[kind] !== undefined),
      );
    },
  },
];

function pageProblems(
  { method, items, lines, pages, error, endless }: Listing<object>,
  capabilities: object = {},
): Problem[] {
  const problems: Problem[] = [];
  const place = method;
  if (endless !== undefined) {
    const how =
      endless === "repeated cursor" ? "a cursor is returned twice" : `there are more than ${pages.length} pages`;
    problems.push({
      level: "error",
      place,
      text: `${method} has no end: ${how}`,
      lines: lines.slice(-2),
      requirement: "pagination:server:stable-cursors",
    });
  }
  if (error !== undefined && pages.length > 0)
    problems.push({
      level: "error",
      place,
      text: `page ${pages.length + 1} of ${method} fails although the server returned its cursor: ${quoted(error.message)}`,
      lines: linesOf(error.line),
    });
  // What a server does not declare it need not list, and `catalogue/declared` tells of a method that is not known.
  else if (error !== undefined && error.code !== METHOD_NOT_FOUND && method.split("/")[0]! in capabilities)
    problems.push({
      level: "error",
      place,
      text: `${method} fails: ${quoted(error.message)}`,
      remedy: "Answer with what the server has, or with an empty page: a host shows nothing of a listing that fails.",
      lines: linesOf(error.line),
    });
  // A listing without end repeats its items.
  const seen = new Set<string>();
  const twice = endless === undefined ? items.map(keyOf).filter((key) => seen.size === seen.add(key).size) : [];
  if (twice.length > 0)
    problems.push({
      level: method === "tools/list" ? "error" : "warning",
      place: list([...new Set(twice)]),
      text: `${method} has items twice: ${list([...new Set(twice)])}`,
      lines,
    });
  return problems;
}

/** Returns the names that differ from another name by case alone. */
function twins(names: readonly string[]): string[] {
  const byKey = new Map<string, Set<string>>();
  for (const name of names) {
    const key = name.toLowerCase();
    byKey.set(key, (byKey.get(key) ?? new Set()).add(name));
  }
  return [...byKey.values()].flatMap((those) => (those.size > 1 ? [...those] : []));
}

function blank(text: unknown): boolean {
  return typeof text !== "string" || text.trim() === "";
}

/** Returns the parameters of a tool that have neither a description nor a title. */
function undescribed({ name, inputSchema }: Tool): string[] {
  const properties = isObject(inputSchema) ? inputSchema.properties : undefined;
  if (!isObject(properties)) return [];
  return Object.entries(properties).flatMap(([parameter, schema]) =>
    isObject(schema) && !("$ref" in schema) && blank(schema.description) && blank(schema.title)
      ? [`${name}.${parameter}`]
      : [],
  );
}

function hiddenTexts(
  { tools, prompts, resources, resourceTemplates }: CatalogueFacts,
  instructions: string | undefined,
  line: readonly number[],
): Problem[] {
  const found = (place: string, text: unknown, lines: readonly number[]): Problem[] => {
    const hidden = textsIn(text)
      .map((one) => HIDDEN.exec(one)?.[0])
      .find((char) => char !== undefined);
    if (hidden === undefined) return [];
    const code = hidden.codePointAt(0)!.toString(16).toUpperCase().padStart(4, "0");
    const what = `the text of ${place} has the invisible character U+${code}, which can hide instructions from a reader`;
    return [{ level: "error", place, text: what, lines, remedy: "Remove invisible characters." }];
  };
  return [
    ...found("the instructions", instructions, line),
    ...[tools, prompts, resources, resourceTemplates].flatMap((listing: Listing<object>) =>
      listing.items.flatMap((item) => found(quoted(keyOf(item)), item, listing.lines)),
    ),
  ];
}

/** Deepest value whose texts are searched. */
const MAX_DEPTH = 64;

/** Returns all texts of a value, names of members included. */
function textsIn(value: unknown, depth = 0): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null || depth > MAX_DEPTH) return [];
  return Object.entries(value).flatMap(([name, member]) => [name, ...textsIn(member, depth + 1)]);
}

const HINTS = ["readOnlyHint", "destructiveHint", "idempotentHint"];

function isBare({ annotations }: Tool): boolean {
  return !isObject(annotations) || HINTS.every((hint) => annotations[hint] === undefined);
}

function declaredProblems(kind: string, listings: readonly Listing<object>[], isDeclared: boolean): Problem[] {
  const count = listings.reduce((sum, { items }) => sum + items.length, 0);
  const lines = listings.flatMap((listing) => listing.lines.slice(0, 1));
  if (!isDeclared)
    return count === 0
      ? []
      : [
          {
            level: "error",
            place: kind,
            text: `the server lists ${counted(count, kind.slice(0, -1))}, and does not declare the capability ${kind}: clients do not ask for them`,
            lines,
            requirement: `${kind}:capability:declared`,
          },
        ];
  if (count > 0) return [];
  const failed = listings.find(({ error }) => error !== undefined)?.error;
  // A listing that is known, and fails, is a problem of `catalogue/pages`.
  if (listings.some(({ error }) => error !== undefined && error.code !== METHOD_NOT_FOUND)) return [];
  const isRefused = listings.every(({ error }) => error !== undefined);
  if (isRefused && failed !== undefined)
    return [
      {
        level: "error",
        place: kind,
        text: `the server declares the capability ${kind}, and refuses to list them: ${quoted(failed.message)}`,
        lines: linesOf(failed.line),
        requirement: `${kind}:capability:declared`,
      },
    ];
  return [{ level: "note", place: kind, text: `the server declares the capability ${kind}, and lists none`, lines }];
}
