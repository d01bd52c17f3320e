import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { createValidator } from "#src/schema/json-schema/validator.js";

const root = new URL("../../../", import.meta.url);
const folder = process.env.MCP_SPEC_SCHEMA ?? fileURLToPath(new URL("../shared/spec/schema", root));

/** True when the specification's own schemas are at hand. */
export const hasSchemas: boolean = existsSync(`${folder}/2026-07-28/schema.json`);

type Check = (value: unknown) => readonly { readonly path: string; readonly message: string }[];
const validator = createValidator();
const documents = new Map<string, Record<string, Record<string, unknown>>>();
const checks = new Map<string, Check>();

function document(version: string): Record<string, Record<string, unknown>> {
  let found = documents.get(version);
  if (found === undefined) {
    found = JSON.parse(readFileSync(`${folder}/${version}/schema.json`, "utf8"));
    documents.set(version, found as Record<string, Record<string, unknown>>);
  }
  return found as Record<string, Record<string, unknown>>;
}

/** What is wrong with a value, by the specification's definition of that name in that version. */
export function problemsAt(version: string, definition: string, value: unknown): string[] {
  const key = `${version}#${definition}`;
  let check = checks.get(key);
  if (check === undefined) {
    const { $schema, definitions, $defs } = document(version);
    const place = definitions === undefined ? "$defs" : "definitions";
    const members = definitions ?? $defs;
    check = validator.compile({ $schema, [place]: members, allOf: [{ $ref: `#/${place}/${definition}` }] } as never);
    checks.set(key, check);
  }
  return check(value).map(({ path, message }) => `${definition} ${path} ${message}`);
}

/** The members that a definition knows, its own and those of what it is made of; undefined when it takes any. */
export function membersAt(version: string, definition: string): ReadonlySet<string> | undefined {
  const { definitions, $defs } = document(version);
  const found = (definitions ?? $defs)?.[definition] as { properties?: object } | undefined;
  return found?.properties === undefined ? undefined : new Set(Object.keys(found.properties));
}

/** Whether the version defines this method, by any request or notification. */
export function methodsAt(version: string): ReadonlySet<string> {
  const { definitions, $defs } = document(version);
  const found = Object.values(definitions ?? $defs ?? {}).flatMap((definition) => {
    const method = (definition as { properties?: { method?: { const?: string } } }).properties?.method?.const;
    return method === undefined ? [] : [method];
  });
  return new Set(found);
}
