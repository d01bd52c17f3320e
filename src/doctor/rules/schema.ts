import { isObject } from "../../protocol/json.js";
import type { JsonSchema, Tool } from "../../protocol/types/index.js";
import { defaultValidator } from "../../schema/json-schema/validator.js";
import { ageOf, OLD_DAYS, RESTRICTIONS, type Restriction } from "../portability.js";
import type { Problem, Rule } from "../rule.js";
import { visit } from "../subschemas.js";
import { newest } from "./era.js";
import { linesOf, list, quoted, share } from "./words.js";

/** Rules of the schemas of tools. */
export const SCHEMA: readonly Rule[] = [
  {
    id: "schema/invalid",
    finds: "schemas that are no JSON Schema, have an unknown dialect, or whose root is not an object",
    remedy: "Correct the schema; JSON Schema 2020-12 is the default dialect.",
    needs: [],
    requirement: "tools:input-schema:root-object",
    check: (facts) => {
      const tools = newest(facts)?.catalogue.tools;
      if (tools === undefined || tools.items.length === 0) return undefined;
      return tools.items.flatMap((tool) => schemaProblems(tool).map((problem) => ({ ...problem, lines: tools.lines })));
    },
  },
  {
    id: "schema/portable",
    finds: "keywords that a host or a model refuses",
    remedy: "Write schemas with the keywords that all hosts accept.",
    needs: [],
    check: (facts) => {
      const tools = newest(facts)?.catalogue.tools;
      if (tools === undefined || tools.items.length === 0) return undefined;
      const { hosts, now } = facts.scope;
      return RESTRICTIONS.filter(({ host, removed }) =>
        hosts === undefined ? removed !== true : hosts.includes(host),
      ).flatMap((restriction) => restrictionProblems(restriction, tools.items, tools.lines, now));
    },
  },
  {
    id: "schema/output",
    finds: "a result that does not match the output schema of its tool",
    remedy: "Return structured content that matches the output schema: clients refuse the result otherwise.",
    needs: ["try"],
    requirement: "mcpserver:output-schema:server-validate",
    check: ({ trial }) => {
      const { outputSchema, name } = trial?.tool ?? {};
      const { result, line } = trial?.call ?? {};
      if (!isObject(outputSchema) || result === undefined || result.isError === true) return undefined;
      const text = outputProblem(outputSchema, result);
      return text === undefined ? [] : [{ level: "error", place: quoted(String(name)), text, lines: linesOf(line) }];
    },
  },
];

function schemaProblems({ name, inputSchema, outputSchema }: Tool): Omit<Problem, "lines">[] {
  const place = quoted(String(name));
  const problems: Omit<Problem, "lines">[] = [];
  const root = isObject(inputSchema) ? inputSchema.type : undefined;
  if (root !== "object")
    problems.push({
      level: "error",
      place,
      text: `the root of the input schema of ${place} has not the type object: hosts leave out such a tool, or all tools`,
    });
  for (const [what, schema] of [
    ["input", inputSchema],
    ["output", outputSchema],
  ] as const) {
    if (!isObject(schema)) continue;
    const problem = compileProblem(schema);
    if (problem === undefined) continue;
    const text = `the ${what} schema of ${place} cannot be used: ${problem.message}`;
    const { level } = problem;
    problems.push({ level, place, text, requirement: "tools:input-schema:json-schema-2020-12" });
  }
  return problems;
}

function compileProblem(
  schema: JsonSchema,
): { readonly level: "error" | "warning"; readonly message: string } | undefined {
  let dialect: string | undefined;
  try {
    defaultValidator.compile(schema, (problem) => {
      if (problem.includes("dialect")) dialect = problem;
    });
  } catch (error) {
    return { level: "error", message: (error as Error).message };
  }
  return dialect === undefined ? undefined : { level: "warning", message: dialect };
}

function restrictionProblems(
  restriction: Restriction,
  tools: readonly Tool[],
  lines: readonly number[],
  now: number,
): Problem[] {
  const { keyword, effect, remedy, source, host, level, where } = restriction;
  const found = tools.filter(({ inputSchema }) => carries(restriction, inputSchema)).map(({ name }) => String(name));
  if (found.length === 0) return [];
  const days = ageOf(restriction, now);
  const age = days > OLD_DAYS ? `, read ${days} days ago` : "";
  const evidence = source === undefined ? "no evidence is known" : `${source}${age}`;
  const at = where === "root" && !keyword.includes("root") ? " at the root" : "";
  const carry = found.length === 1 ? "carries" : "carry";
  const text = `${host}: ${share(found.length, tools.length, "tool")} ${carry} ${keyword}${at} (${list(found)}); ${effect} (${evidence})`;
  return [{ level: source === undefined ? "note" : level, place: list(found), text, lines, remedy }];
}

function carries({ where, has }: Restriction, schema: unknown): boolean {
  if (!isObject(schema)) return false;
  if (where === "root") return has(schema);
  let isFound = false;
  visit(schema, (one) => {
    isFound ||= has(one);
    return !isFound;
  });
  return isFound;
}

function outputProblem(
  schema: JsonSchema,
  { structuredContent }: Readonly<Record<string, unknown>>,
): string | undefined {
  if (structuredContent === undefined) return "the tool has an output schema, and its result has no structured content";
  let issues: readonly { readonly path: string; readonly message: string }[];
  try {
    issues = defaultValidator.compile(schema, () => {})(structuredContent);
  } catch {
    // `schema/invalid` reports a schema that cannot be used.
    return undefined;
  }
  const [first] = issues;
  return first && `the result does not match the output schema: ${first.path || "the value"} ${first.message}`;
}
