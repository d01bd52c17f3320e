import { lazyModule } from "../../call/lazy.js";
import { checkSchema } from "./check-schema.js";
import { SCHEMA_LIMITS } from "./limits.js";
import { type CompiledSchema, rememberSchemas, type SchemaCompiler } from "./types.js";
import type * as validatorModule from "./validator.js";

type Validator = typeof validatorModule;

const validator = lazyModule(() => import("./validator.js"));

let used = false;

/** Validator of a server. It checks a schema at once and loads the code that checks values with the first value. */
export const lazyValidator: SchemaCompiler = {
  compile: rememberSchemas((schema) => {
    const checked = checkSchema(schema, SCHEMA_LIMITS);
    used = true;
    let compiled: CompiledSchema | undefined;
    const check = ({ compileChecked }: Validator, value: unknown) => {
      compiled ??= compileChecked(checked);
      return compiled(value);
    };
    return (value) => {
      if (compiled !== undefined) return compiled(value);
      const part = validator();
      return part instanceof Promise ? part.then((loaded) => check(loaded, value)) : check(part, value);
    };
  }),
  prepare: () => (used ? validator() : undefined),
};
