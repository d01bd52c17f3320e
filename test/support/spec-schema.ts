import { existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { jsonSchemaValidator } from "#src/schema/json-schema/validator.js";

const root = new URL("../../../", import.meta.url);
const folder = process.env.MCP_SPEC_SCHEMA ?? fileURLToPath(new URL("../shared/spec/schema", root));

/** True when the specification's own schemas are at hand. */
export const hasSchemas: boolean = existsSync(`${folder}/2026-07-28/schema.json`);

type Check = (value: unknown) => readonly { readonly path: string; readonly message: string }[];
const validator = jsonSchemaValidator();
const documents = new Map<string, Document>();
const checks = new Map<string, Check>();

interface Document {
  readonly $schema: string;
  readonly definitions?: Record<string, unknown>;
  readonly $defs?: Record<string, unknown>;
}

function document(version: string): Document {
  let found = documents.get(version);
  if (found === undefined) {
    found = closed(JSON.parse(readFileSync(`${folder}/${version}/schema.json`, "utf8"))) as Document;
    documents.set(version, found);
  }
  return found;
}

/** The schema with every object limited to the members it names, but for what authors write. */
function closed(schema: unknown, key = ""): unknown {
  if (Array.isArray(schema)) return schema.map((item) => closed(item));
  if (typeof schema !== "object" || schema === null) return schema;
  if (key === "inputSchema" || key === "outputSchema") return { type: "object" };
  const made: Record<string, unknown> = Object.fromEntries(
    Object.entries(schema).map(([name, value]) => [name, closed(value, name)]),
  );
  // Old definitions leave out what all params may have.
  if (key === "params" && made.properties !== undefined) made.properties = { _meta: {}, ...made.properties };
  const isObject = made.type === "object" && made.properties !== undefined;
  return isObject && made.additionalProperties === undefined ? { ...made, additionalProperties: false } : made;
}

/** What is wrong with a value, by the specification's definition of that name in that version, members it does not name included. */
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

type MessageShape = {
  readonly properties?: { readonly method?: { readonly const?: string }; readonly jsonrpc?: unknown };
};

/** What is wrong with a request or a notification, by the specification's definition of its method. */
export function messageProblemsAt(version: string, message: { readonly method?: string }): string[] {
  const { definitions, $defs } = document(version);
  const found = Object.entries((definitions ?? $defs) as Record<string, MessageShape>).find(
    ([, { properties }]) => properties?.method?.const === message.method,
  );
  if (found === undefined) return [`${message.method} does not exist`];
  const [name, { properties }] = found;
  const { jsonrpc: _jsonrpc, id: _id, ...bare } = message as { jsonrpc?: string; id?: unknown };
  return problemsAt(version, name, properties?.jsonrpc === undefined ? bare : message);
}
