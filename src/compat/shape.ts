import { pointerTo } from "../protocol/json.js";
import { relocateSchema } from "../schema/json-schema/relocate.js";
import { type ConverterOptions, isStandardSchema, type StandardSchema } from "../schema/standard-schema.js";
import { describeZod, isZod3 } from "./zod.js";
import { acceptsAbsence } from "./zod3-json-schema.js";

/** Schemas by member name, in the form of `registerTool` of the official SDK: `{ city: z.string() }`. */
export type Shape = { readonly [member: string]: StandardSchema };

/** Schema of an object, or the schemas of its members. */
export type SchemaOrShape = StandardSchema | Shape;

/** Validated value of a schema or shape, as passed to a handler. */
export type ValuesOf<S> =
  S extends StandardSchema<infer _Input, infer Output>
    ? Output
    : S extends Shape
      ? { [Member in keyof S]: S[Member] extends StandardSchema<infer _Input, infer Output> ? Output : never }
      : undefined;

type Direction = "input" | "output";

/** True for a schema of any library, or of any version of zod. */
export function isSchema(given: unknown): given is StandardSchema {
  return isStandardSchema(given) || isZod3(given);
}

/** Returns the schema of an object with the given members. A schema gets JSON Schema if it is one of zod that has none. */
export function toObjectSchema(given: SchemaOrShape): StandardSchema<Record<string, unknown>> {
  if (isSchema(given)) return describeZod(given) as StandardSchema<Record<string, unknown>>;
  const members = Object.entries(given).map(([name, schema]) => ({
    name,
    schema: describeZod(schema),
    isRequired: (direction: Direction) => isRequired(schema, direction),
  }));
  return {
    "~standard": {
      version: 1,
      vendor: "bowline",
      validate: (value) => validateMembers(members, value),
      jsonSchema: {
        input: (options) => describe(members, "input", options),
        output: (options) => describe(members, "output", options),
      },
    },
  };
}

type Members = readonly {
  readonly name: string;
  readonly schema: StandardSchema;
  readonly isRequired: (direction: Direction) => boolean;
}[];
type Validated = Awaited<ReturnType<StandardSchema<Record<string, unknown>>["~standard"]["validate"]>>;

async function validateMembers(members: Members, value: unknown): Promise<Validated> {
  if (typeof value !== "object" || value === null) return { issues: [{ message: "must be an object" }] };
  const given = value as Record<string, unknown>;
  const results = await Promise.all(
    members.map(async ({ name, schema }) => ({ name, result: await schema["~standard"].validate(given[name]) })),
  );
  const issues = results.flatMap(({ name, result }) =>
    (result.issues ?? []).map((issue) => ({ message: issue.message, path: [name, ...(issue.path ?? [])] })),
  );
  if (issues.length > 0) return { issues };
  const entries = results.map(({ name, result }) => [name, "value" in result ? result.value : undefined] as const);
  return { value: Object.fromEntries(entries.filter(([, member]) => member !== undefined)) };
}

/** Describes an object as JSON Schema. */
function describe(members: Members, direction: Direction, options: ConverterOptions): Record<string, unknown> {
  const properties: Record<string, unknown> = {};
  const required: string[] = [];
  for (const { name, schema, isRequired } of members) {
    const converted = schema["~standard"].jsonSchema?.[direction](options);
    if (converted === undefined)
      throw new Error(`the schema of "${name}" does not provide JSON Schema; use a newer version of its library`);
    const place = `#/properties/${encodeURIComponent(pointerTo(name).slice(1))}`;
    const { $schema: _, ...shown } = relocateSchema(converted, place);
    properties[name] = shown;
    if (isRequired(direction)) required.push(name);
  }
  return { type: "object", properties, ...(required.length > 0 && { required }) };
}

/** True if the member is required. Reads it from a zod schema. Other schemas are tested with `undefined`. */
function isRequired(schema: StandardSchema, direction: Direction): boolean {
  if (isZod3(schema)) return !acceptsAbsence(schema, direction);
  const { _zod: zod } = schema as { readonly _zod?: { readonly optin?: unknown; readonly optout?: unknown } };
  if (zod !== undefined) return (direction === "input" ? zod.optin : zod.optout) === undefined;
  try {
    const absent = schema["~standard"].validate(undefined);
    if (!(absent instanceof Promise)) return absent.issues !== undefined;
    absent.catch(() => {});
    return false;
  } catch {
    return true;
  }
}
