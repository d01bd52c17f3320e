import { isObject } from "../../../protocol/json.js";
import { eachSubschema } from "../../../schema/json-schema/subschemas.js";

type Schema = { readonly [key: string]: unknown };

/** Where a wrapped schema lies in its envelope. */
const PLACE = "#/properties/result";
const REFERENCES = ["$ref", "$dynamicRef"];

const envelopes = new WeakMap<Schema, Schema>();

/** Whether this era takes an output schema, and the values that fit it, only inside an envelope: anything but an object. */
export function isWrapped(outputSchema: Schema): boolean {
  return outputSchema.type !== "object";
}

/** The schema of an object whose one property `result` has the given schema. Made once for each. */
export function wrapSchema(schema: Schema): Schema {
  let envelope = envelopes.get(schema);
  if (envelope === undefined) {
    // Written and read, not cloned: parts that the author used twice become two, and each is redirected once.
    const { $schema, ...result } = JSON.parse(JSON.stringify(schema)) as Record<string, unknown>;
    redirect(result);
    const dialect = $schema === undefined ? undefined : { $schema };
    envelope = { ...dialect, type: "object", properties: { result }, required: ["result"] };
    envelopes.set(schema, envelope);
  }
  return envelope;
}

/** Makes references from the document's root start at the place it has moved to. What has an id is a root of its own. */
function redirect(schema: Record<string, unknown>): void {
  if (typeof schema.$id === "string" && !schema.$id.startsWith("#")) return;
  for (const keyword of REFERENCES) {
    const reference = schema[keyword];
    if (reference === "#" || (typeof reference === "string" && reference.startsWith("#/"))) {
      schema[keyword] = PLACE + reference.slice(1);
    }
  }
  eachSubschema(schema, redirect);
}

/** A value as structured content of this era. Its schema decides; without one, only an object goes as it is. */
export function wrapValue(value: unknown, outputSchema: Schema | undefined): unknown {
  const fits = isObject(value) && (outputSchema === undefined || !isWrapped(outputSchema));
  return fits ? value : { result: value };
}
