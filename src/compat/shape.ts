import { isStandardSchema, type StandardSchema } from "../schema/standard-schema.js";

/** Schemas by member name, in the form of `registerTool` of the official SDK: `{ city: z.string() }`. */
export type Shape = { readonly [member: string]: StandardSchema };

/** Schema of an object, or its members. */
export type SchemaOrShape = StandardSchema | Shape;

/** Values that a schema or a shape passes to a handler. */
export type ValuesOf<S> =
  S extends StandardSchema<infer _Input, infer Output>
    ? Output
    : S extends Shape
      ? { [Member in keyof S]: S[Member] extends StandardSchema<infer _Input, infer Output> ? Output : never }
      : undefined;

type Converted = { readonly [keyword: string]: unknown };

/** Returns the schema of an object with the given members. Returns a schema unchanged. */
export function toObjectSchema(given: SchemaOrShape): StandardSchema<Record<string, unknown>> {
  if (isStandardSchema(given)) return given as StandardSchema<Record<string, unknown>>;
  const members = Object.entries(given);
  return {
    "~standard": {
      version: 1,
      vendor: "bowline",
      validate: (value) => validateMembers(members, value),
      jsonSchema: {
        input: (options) => describe(members, (schema) => schema["~standard"].jsonSchema?.input(options)),
        output: (options) => describe(members, (schema) => schema["~standard"].jsonSchema?.output(options)),
      },
    },
  };
}

type Members = readonly (readonly [name: string, schema: StandardSchema])[];
type Validated = Awaited<ReturnType<StandardSchema<Record<string, unknown>>["~standard"]["validate"]>>;

async function validateMembers(members: Members, value: unknown): Promise<Validated> {
  if (typeof value !== "object" || value === null) return { issues: [{ message: "expected an object" }] };
  const given = value as Record<string, unknown>;
  const results = await Promise.all(
    members.map(async ([name, schema]) => ({ name, result: await schema["~standard"].validate(given[name]) })),
  );
  const issues = results.flatMap(({ name, result }) =>
    (result.issues ?? []).map((issue) => ({ message: issue.message, path: [name, ...(issue.path ?? [])] })),
  );
  if (issues.length > 0) return { issues };
  const entries = results.map(({ name, result }) => [name, "value" in result ? result.value : undefined] as const);
  return { value: Object.fromEntries(entries.filter(([, member]) => member !== undefined)) };
}

/** Describes an object as JSON Schema. A member is required if its schema refuses `undefined`. */
function describe(
  members: Members,
  convert: (schema: StandardSchema) => Converted | undefined,
): Record<string, unknown> {
  const properties: Record<string, unknown> = {};
  const required: string[] = [];
  for (const [name, schema] of members) {
    const converted = convert(schema);
    if (converted === undefined)
      throw new Error(`the schema of "${name}" has no JSON Schema: update its library (zod 4.2 or newer has it)`);
    const { $schema: _, ...shown } = converted;
    properties[name] = shown;
    const absent = schema["~standard"].validate(undefined);
    if (!(absent instanceof Promise) && absent.issues !== undefined) required.push(name);
  }
  return { type: "object", properties, ...(required.length > 0 && { required }) };
}
