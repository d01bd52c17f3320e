import { deepEqual, throws } from "node:assert/strict";
import { test } from "node:test";
import { McpServer } from "bowline/server";
import { defaultValidator, type JsonSchema } from "#src/schema/json-schema/validator.js";

const words = (schema: JsonSchema, value: unknown) =>
  defaultValidator
    .compile(schema)(value)
    .map(({ message }) => message);

test("a bound on a size is told in the singular and in the plural", () => {
  deepEqual(words({ minItems: 1 }, []), ["must have at least 1 item"]);
  deepEqual(words({ minItems: 2 }, []), ["must have at least 2 items"]);
  deepEqual(words({ maxItems: 1 }, [1, 2]), ["must have at most 1 item"]);
  deepEqual(words({ maxItems: 0 }, [1]), ["must have at most 0 items"]);
  deepEqual(words({ maxContains: 1, contains: true }, [1, 2]), ["must have at most 1 item of the schema in contains"]);
  deepEqual(words({ maxContains: 2, contains: true }, [1, 2, 3]), [
    "must have at most 2 items of the schema in contains",
  ]);
});

test("a schema that cannot be converted is told with its place, as far as the library shows it", () => {
  const refusing = (marked: object) => {
    const convert = ({ libraryOptions }: { libraryOptions?: unknown }) => {
      if (libraryOptions !== undefined) return marked;
      throw new Error("no such type");
    };
    const jsonSchema = { input: convert, output: convert };
    return { "~standard": { version: 1, vendor: "test", validate: (value: unknown) => ({ value }), jsonSchema } };
  };
  const define = (marked: object) => () =>
    new McpServer({ name: "s", version: "1" }).tool("t", { input: refusing(marked) as never }, () => "");
  throws(define({}), { name: "DefinitionError", message: /at its root or below: no such type/ });
  throws(define({ mark: true }), { message: /at its root: no such type/ });
  throws(define({ properties: { a: { mark: true } } }), { message: /at \/properties\/a: no such type/ });
});
