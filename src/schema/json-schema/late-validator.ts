import { checkSchema } from "./check-schema.js";
import { rememberSchemas } from "./remember-schemas.js";
import type { CompiledSchema, SchemaCompiler } from "./types.js";

type Part = typeof import("./build.js");

let loaded: Part | undefined;

/** Says at once what is wrong with a schema. What checks values is loaded with the first value; then there are no promises. */
export const lateValidator: SchemaCompiler = {
  compile: rememberSchemas((schema) => {
    const checked = checkSchema(schema);
    let compiled: CompiledSchema | undefined;
    const check = ({ build }: Part, value: unknown) => {
      compiled ??= build(checked);
      return compiled(value);
    };
    return (value) => (loaded === undefined ? load().then((part) => check(part, value)) : check(loaded, value));
  }),
};

async function load(): Promise<Part> {
  loaded = await import("./build.js");
  return loaded;
}
