import { lazyModule } from "../../call/lazy.js";
import { checkSchema } from "./check-schema.js";
import { type CompiledSchema, rememberSchemas, type SchemaCompiler } from "./types.js";

type Part = typeof import("./builder.js");

const building = lazyModule(() => import("./builder.js"));

let used = false;

/** Says at once what is wrong with a schema. What checks values is loaded with the first value. */
export const lateValidator: SchemaCompiler = {
  compile: rememberSchemas((schema) => {
    const checked = checkSchema(schema);
    used = true;
    let compiled: CompiledSchema | undefined;
    const check = ({ build }: Part, value: unknown) => {
      compiled ??= build(checked);
      return compiled(value);
    };
    return (value) => {
      const part = building();
      return part instanceof Promise ? part.then((loaded) => check(loaded, value)) : check(part, value);
    };
  }),
  prepare: () => (used ? building() : undefined),
};
