import { DRAFT_4, dialectOf } from "./dialect.js";
import { eachSubschema } from "./document.js";

type Schema = { readonly [keyword: string]: unknown };

const REFERENCES = ["$ref", "$dynamicRef", "$recursiveRef"];

/**
 * Returns a copy of a schema for another place of a document: its references to the document root lead to `place`, a
 * URI fragment such as `#/properties/result`.
 */
export function relocateSchema(schema: Schema, place: string): Record<string, unknown> {
  // A JSON round trip instead of a clone: parts that the author uses twice become separate, so that each is
  // redirected once.
  const copy = JSON.parse(JSON.stringify(schema)) as Record<string, unknown>;
  redirect(copy, place, dialectOf(schema) === DRAFT_4 ? "id" : "$id");
  return copy;
}

/** Redirects references to the document root. A subschema with an id is a root of its own. */
function redirect(schema: Record<string, unknown>, place: string, idKeyword: string): void {
  const id = schema[idKeyword];
  if (typeof id === "string" && !id.startsWith("#")) return;
  for (const keyword of REFERENCES) {
    const reference = schema[keyword];
    if (typeof reference === "string" && /^#(\/|$)/.test(reference)) {
      // `$recursiveRef` can only refer to the root.
      const moved = keyword === "$recursiveRef" ? "$ref" : keyword;
      delete schema[keyword];
      schema[moved] ??= place + reference.slice(1);
    }
  }
  eachSubschema(schema, (part) => redirect(part, place, idKeyword));
}
