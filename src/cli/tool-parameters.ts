import { isObject } from "../protocol/json.js";
import type { Tool } from "../protocol/types/index.js";
import { kindOf, resolveSchema } from "./schema-text.js";

type Schema = Readonly<Record<string, unknown>>;

/** Parameter of a tool as an option: a property of the schema, or a member of one. */
export interface Parameter {
  readonly path: readonly string[];
  readonly schema: Schema;
  readonly isRequired: boolean;
}

/** Returns the parameters of a tool by the names of their options, members of objects as `--object.member`. */
export function parametersOf({ inputSchema }: Pick<Tool, "inputSchema">): Map<string, Parameter> {
  const root = inputSchema as Schema;
  const found = new Map<string, Parameter>();
  for (const [name, parameter] of propertiesOf(root, root)) {
    found.set(name, { path: [name], ...parameter });
    if (kindOf(parameter.schema) !== "object") continue;
    for (const [member, part] of propertiesOf(parameter.schema, root)) {
      const isRequired = parameter.isRequired && part.isRequired;
      found.set(`${name}.${member}`, { path: [name, member], schema: part.schema, isRequired });
    }
  }
  return found;
}

function propertiesOf(schema: Schema, root: Schema): (readonly [string, Omit<Parameter, "path">])[] {
  const { properties, required } = schema;
  const names: readonly unknown[] = Array.isArray(required) ? required : [];
  if (!isObject(properties)) return [];
  return Object.entries(properties).map(([name, part]) => [
    name,
    { schema: resolveSchema(part, root), isRequired: names.includes(name) },
  ]);
}
