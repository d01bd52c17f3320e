import { DefinitionError } from "../../protocol/errors.js";
import type { UsableSchema } from "../../schema/compile.js";

/**
 * Refuses a schema of arguments that come as texts where a member takes none, neither as its type says nor by coercion.
 * What a schema says in other ways is not looked into. A JSON Schema (`coerces` is false) turns nothing into anything else.
 */
export function assertTexts(where: string, schema: UsableSchema, coerces: boolean): void {
  const { properties = {} } = schema.jsonSchema as {
    readonly properties?: { readonly [name: string]: { type?: string } };
  };
  for (const [name, { type = "string" }] of Object.entries(properties)) {
    if (type.includes("string") || (coerces && takes(schema, name, type))) continue;
    throw new DefinitionError(
      `${where}: /${name} can never fit: arguments come as texts; use z.coerce or a transform of z.string()`,
    );
  }
}

/** Whether a text is as good as what it stands for: taken, or refused for the same reason, as one that is too small. */
function takes(schema: UsableSchema, name: string, type: string): boolean {
  const value = type === "boolean" || 1;
  const told = complaint(schema, name, String(value));
  return told === "" || (!/^(array|object)$/.test(type) && told === complaint(schema, name, value));
}

/** What a schema says of one member, whatever else is missing. Who says it later says nothing. */
function complaint(schema: UsableSchema, name: string, value: unknown): string {
  const parsed = schema.parse({ [name]: value });
  if (parsed instanceof Promise || parsed.ok) return "";
  return parsed.issues.flatMap(({ path, message }) => (path.split("/")[1] === name ? message : [])).join();
}
