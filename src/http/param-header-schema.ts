import { isObject } from "../protocol/json.js";
import { eachSubschema } from "../schema/json-schema/document.js";

const KEYWORD = "x-mcp-header";
const TOKEN = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const TYPES = ["string", "integer", "boolean"] as const;
/** Far above what a usable schema has: a tool that asks for no header must not be lost for its size. */
const MAX_DEPTH = 512;
const MAX_SUBSCHEMAS = 100_000;

/** An argument that is mirrored into a header of its own. */
export interface ParamHeader {
  /** The whole header name, `Mcp-Param-` included. */
  readonly name: string;
  /** The property names that lead to the argument. */
  readonly path: readonly string[];
  readonly type: (typeof TYPES)[number];
}

export type ParamHeaders =
  | { readonly ok: true; readonly headers: readonly ParamHeader[] }
  | { readonly ok: false; readonly reason: string };

/** The headers that a tool's input schema asks for, or why its annotations make the tool unusable. */
export function findParamHeaders(inputSchema: unknown): ParamHeaders {
  const headers: ParamHeader[] = [];
  const names = new Set<string>();
  let count = 0;

  const visit = (
    schema: Record<string, unknown>,
    path: readonly string[] | undefined,
    at: string,
    depth: number,
  ): string | undefined => {
    count += 1;
    if (depth > MAX_DEPTH || count > MAX_SUBSCHEMAS) return "the schema is too large to be searched";
    if (Object.hasOwn(schema, KEYWORD)) {
      const header = readHeader(schema, path);
      if (typeof header === "string") return `${at}: ${header}`;
      const name = header.name.toLowerCase();
      if (names.has(name)) return `${at}: ${header.name} is used twice`;
      names.add(name);
      headers.push(header);
    }
    let problem: string | undefined;
    eachSubschema(schema, (child, pointer, keyword, key) => {
      const below = keyword === "properties" && path !== undefined ? [...path, String(key)] : undefined;
      problem ??= visit(child, below, at + pointer, depth + 1);
    });
    return problem;
  };

  const reason = isObject(inputSchema) ? visit(inputSchema, [], "#", 0) : undefined;
  return reason === undefined ? { ok: true, headers } : { ok: false, reason };
}

function readHeader(schema: Record<string, unknown>, path: readonly string[] | undefined): ParamHeader | string {
  const name = schema[KEYWORD];
  if (path === undefined || path.length === 0) {
    return `${KEYWORD} is allowed only on properties reached through "properties" alone`;
  }
  if (typeof name !== "string" || !TOKEN.test(name)) return `${KEYWORD} must be a non-empty HTTP token`;
  const type = TYPES.find((known) => known === schema.type);
  if (type === undefined) return `${KEYWORD} is allowed only on a property of type ${TYPES.join(", ")}`;
  return { name: `Mcp-Param-${name}`, path, type };
}
