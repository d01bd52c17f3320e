import { isSafePattern } from "./pattern-safety.js";
import { createValidator, type JsonSchemaValidator } from "./validator.js";

/** Compiles schemas of the other side, whose patterns may be hostile. */
export const peerValidator: JsonSchemaValidator = createValidator({ acceptPattern: isSafePattern });
