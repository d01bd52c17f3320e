import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { examine } from "#src/doctor/examine.js";
import { ageOf, OLD_DAYS, PORTABLE_HOSTS, RESTRICTIONS } from "#src/doctor/portability.js";
import { RULES } from "#src/doctor/rules/index.js";
import { MOOR, NOW, withTools } from "./facts.js";

const rules = RULES.filter(({ id }) => id === "schema/portable");
const quote = { quote: () => undefined, redact: (text: string) => text };

/** Schemas that were refused, as the evidence of each restriction has them, by host and keyword. */
const REFUSED: Readonly<Record<string, object>> = {
  "claude: anyOf, oneOf or allOf at the root": { anyOf: [{ required: ["route"] }, { required: ["file"] }] },
  "claude: names of parameters beyond [a-zA-Z0-9_.-]{1,64}": { properties: { $top: { type: "integer" } } },
  "openai: anyOf, oneOf, allOf, enum or not at the root": { not: { required: ["file"] } },
  "vscode: an array without items": { properties: { loc: { type: "array" } } },
  "gemini: $ref": { properties: { to: { $ref: "#/$defs/Place" } }, $defs: { Place: { type: "string" } } },
  "gemini: a list of types": { properties: { limit: { type: ["integer", "null"] } } },
  "gemini: const": { properties: { kind: { anyOf: [{ const: "insert_text" }] } } },
  "gemini: exclusiveMinimum or exclusiveMaximum": { properties: { max: { type: "integer", exclusiveMinimum: 0 } } },
  "gemini: an enum of other values than strings": { properties: { phases: { type: "integer", enum: [0, 1, 3] } } },
  "gemini: properties without the type object": { properties: { at: { properties: { x: { type: "number" } } } } },
  "gemini: $schema": { $schema: "http://json-schema.org/draft-07/schema#" },
  "gemini: additionalProperties": { properties: { to: { type: "object", additionalProperties: false } } },
};

function findingsOf(schema: object, hosts?: readonly string[], now = NOW) {
  const tools = [{ ...MOOR, inputSchema: { type: "object", ...schema } }];
  return examine(withTools(tools, { scope: { now, hosts } }), rules, quote).findings;
}

for (const restriction of RESTRICTIONS) {
  const { host, keyword, level, source, removed } = restriction;
  test(`${host} refuses ${keyword}`, () => {
    const schema = REFUSED[`${host}: ${keyword}`];
    ok(schema !== undefined, "a restriction needs the schema that was refused");
    const told = findingsOf(schema, [host]).filter(({ text }) => text.includes(`carries ${keyword}`));
    deepEqual(
      told.map((finding) => finding.level),
      [level],
    );
    const unasked = findingsOf(schema).some(({ text }) => text.startsWith(`${host}:`) && text.includes(keyword));
    equal(unasked, removed !== true);
    // Evidence makes the difference between a claim and a note.
    ok(source !== undefined || level === "note");
    ok((PORTABLE_HOSTS as readonly string[]).includes(host));
    ok(ageOf(restriction, NOW) >= 0);
  });
}

test("old evidence is told with its age", () => {
  const day = 86_400_000;
  const [restriction] = RESTRICTIONS;
  const checked = NOW - ageOf(restriction!, NOW) * day;
  const text = (days: number) => findingsOf({ anyOf: [] }, ["claude"], checked + days * day)[0]?.text ?? "";
  doesNotMatch(text(OLD_DAYS), /days ago/);
  match(text(OLD_DAYS + 1), new RegExp(`read ${OLD_DAYS + 1} days ago`));
});

test("a schema of ordinary keywords is refused by nobody", () => {
  const at = { type: "object", properties: { x: { type: "number", minimum: 0 } }, required: ["x"] };
  const kind = { type: "string", enum: ["a", "b"], description: "Kind" };
  const tags = { type: "array", items: { type: "string" } };
  deepEqual(findingsOf({ properties: { at, kind, tags }, required: ["at"] }, PORTABLE_HOSTS), []);
});
