import type { JsonSchema } from "./types.js";

/** The same for the same schema object, for as long as that lives. */
export function rememberSchemas<T>(compile: (schema: JsonSchema | boolean) => T): (schema: JsonSchema | boolean) => T {
  const known = new WeakMap<object, { readonly compiled: T }>();
  return (schema) => {
    if (typeof schema !== "object" || schema === null) return compile(schema);
    const entry = known.get(schema) ?? { compiled: compile(schema) };
    known.set(schema, entry);
    return entry.compiled;
  };
}
