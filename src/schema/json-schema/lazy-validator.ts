import { lazyModule } from "../../call/lazy.js";
import { checkSchema } from "./check-schema.js";
import { SCHEMA_LIMITS } from "./limits.js";
import { rememberSchemas, type SchemaCheck, type SchemaCompiler } from "./types.js";
import type * as validatorModule from "./validator.js";

type Validator = typeof validatorModule;

const validator = lazyModule(() => import("./validator.js"));

let used = false;

/** Validator of a server. It checks a schema at once and loads the code that checks values with the first value. */
export const lazyValidator: SchemaCompiler = {
  compile: rememberSchemas((schema) => {
    const checked = checkSchema(schema, SCHEMA_LIMITS);
    used = true;
    const checkBy = ({ compileChecked }: Validator, value: unknown) => {
      check.compiled ??= compileChecked(checked);
      return check.compiled(value);
    };
    const check: SchemaCheck = (value) => {
      const part = validator();
      return part instanceof Promise ? part.then((loaded) => checkBy(loaded, value)) : checkBy(part, value);
    };
    return check;
  }),
  prepare: () => (used ? validator() : undefined),
};
