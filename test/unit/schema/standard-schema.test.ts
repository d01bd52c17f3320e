import { deepEqual, equal, ok, throws } from "node:assert/strict";
import { describe, it } from "node:test";
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import * as z from "zod";
import { DefinitionError } from "#src/protocol/errors.js";
import {
  type AnySchema,
  compileSchema,
  type InputOf,
  type OutputOf,
  type ParseOutcome,
  withJsonSchema,
} from "#src/schema/compile.js";
import { defaultValidator, type JsonSchemaValidator } from "#src/schema/json-schema/validator.js";

/** The outcome of a schema that is not asynchronous. */
function parse(schema: AnySchema, value: unknown): ParseOutcome {
  const outcome = compileSchema(schema, "it", "input", defaultValidator).parse(value);
  ok(!(outcome instanceof Promise));
  return outcome;
}

type Same<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;

const LIBRARIES = {
  zod: z.object({
    city: z.string().describe("Where"),
    days: z.number().min(1).default(3),
    pair: z.tuple([z.string(), z.number()]).optional(),
  }),
  valibot: toStandardJsonSchema(
    v.object({
      city: v.pipe(v.string(), v.description("Where")),
      days: v.optional(v.pipe(v.number(), v.minValue(1)), 3),
      pair: v.optional(v.tuple([v.string(), v.number()])),
    }),
  ),
  arktype: type({ city: type("string").describe("Where"), days: "number >= 1 = 3", "pair?": ["string", "number"] }),
};

describe("a schema of a library is shown as JSON Schema", () => {
  const city = { type: "string", description: "Where" };
  const prefixItems = [{ type: "string" }, { type: "number" }];

  it("of zod", () => {
    deepEqual(compileSchema(LIBRARIES.zod, "it", "input", defaultValidator).jsonSchema, {
      type: "object",
      properties: {
        city,
        days: { type: "number", minimum: 1, default: 3 },
        pair: { type: "array", prefixItems, items: false, minItems: 2, maxItems: 2 },
      },
      required: ["city"],
    });
    const output = compileSchema(LIBRARIES.zod, "it", "output", defaultValidator).jsonSchema;
    deepEqual(output.required, ["city", "days"]);
    equal("additionalProperties" in output, false);
  });

  it("of valibot", () => {
    deepEqual(compileSchema(LIBRARIES.valibot, "it", "input", defaultValidator).jsonSchema, {
      type: "object",
      properties: {
        city,
        days: { type: "number", minimum: 1, default: 3 },
        pair: { type: "array", prefixItems, minItems: 2 },
      },
      required: ["city"],
    });
  });

  it("of arktype", () => {
    const { jsonSchema } = compileSchema(LIBRARIES.arktype, "it", "input", defaultValidator);
    deepEqual(jsonSchema, {
      type: "object",
      properties: {
        city,
        days: { type: "number", minimum: 1 },
        pair: { type: "array", prefixItems, items: false, minItems: 2 },
      },
      required: ["city"],
    });
    deepEqual(compileSchema(LIBRARIES.arktype, "it", "output", defaultValidator).jsonSchema.required, ["city", "days"]);
  });

  it("with extension keywords kept", () => {
    const schema = z.object({ region: z.string().meta({ "x-mcp-header": "Region" }) });
    deepEqual(compileSchema(schema, "it", "input", defaultValidator).jsonSchema.properties, {
      region: { type: "string", "x-mcp-header": "Region" },
    });
  });

  it("with an object type and properties where there is nothing else to say", () => {
    const empty = { type: "object", properties: {} };
    for (const schema of [z.object({}), toStandardJsonSchema(v.object({})), type({})]) {
      deepEqual(compileSchema(schema, "it", "input", defaultValidator).jsonSchema, empty);
    }
  });

  it("with an object type beside a union or intersection of objects", () => {
    const a = z.object({ kind: z.literal("a") });
    const b = z.object({ kind: z.literal("b") });
    for (const schema of [z.discriminatedUnion("kind", [a, b]), z.union([a, b]), a.and(b)]) {
      equal(compileSchema(schema, "it", "input", defaultValidator).jsonSchema.type, "object");
    }
  });

  it("in draft-07, and says so, where the library knows no other", () => {
    const input = ({ target }: { target: string }) => {
      if (target !== "draft-07") throw new Error("unknown target");
      return { type: "object" };
    };
    const validate = (value: unknown) => ({ value });
    const schema = {
      "~standard": { version: 1, vendor: "old", validate, jsonSchema: { input, output: input } },
    } as const;
    equal(
      compileSchema(schema, "it", "input", defaultValidator).jsonSchema.$schema,
      "http://json-schema.org/draft-07/schema#",
    );
  });
});

describe("a value is parsed", () => {
  for (const [name, schema] of Object.entries(LIBRARIES)) {
    it(`by ${name}, with defaults`, () => {
      deepEqual(parse(schema, { city: "Oslo" }), { ok: true, value: { city: "Oslo", days: 3 } });
    });

    it(`by ${name}, with the paths of what is wrong`, () => {
      const outcome = parse(schema, { city: "Oslo", pair: ["a", "b"] });
      deepEqual(outcome.ok ? [] : outcome.issues.map(({ path }) => path), ["/pair/1"]);
    });
  }

  it("by plain JSON Schema, which is shown as it is", () => {
    const schema = { $schema: "https://json-schema.org/draft/2020-12/schema", type: "object", required: ["a"] };
    const compiled = compileSchema(schema, "it", "input", defaultValidator);
    equal(compiled.jsonSchema, schema);
    const value = { a: 1 };
    deepEqual(compiled.parse(value), { ok: true, value });
    deepEqual(compiled.parse({}), { ok: false, issues: [{ path: "/a", message: "is required" }] });
  });

  it("of plain JSON Schema is refused where nobody brought a validator, with advice", () => {
    throws(
      () => compileSchema({ type: "object" }, "it", "input", undefined),
      (error) =>
        error instanceof DefinitionError &&
        /^it: .*jsonSchemaValidator\(\) of bowline\/json-schema/.test(error.message),
    );
    ok(compileSchema(z.object({}), "it", "input", undefined).parse({}));
  });

  it("by the validator that was given", () => {
    const seen: unknown[] = [];
    const validator: JsonSchemaValidator = {
      compile: () => (value) => {
        seen.push(value);
        return [{ path: "", message: "no" }];
      },
    };
    const compiled = compileSchema({ type: "object" }, "it", "input", validator);
    deepEqual(compiled.parse(1), { ok: false, issues: [{ path: "", message: "no" }] });
    deepEqual(seen, [1]);
  });

  it("later, by a schema that is asynchronous", async () => {
    const schema = z.object({ a: z.string().refine(async (text) => text !== "bad") });
    const { parse: check } = compileSchema(schema, "it", "input", defaultValidator);
    deepEqual(await check({ a: "good" }), { ok: true, value: { a: "good" } });
    equal((await check({ a: "bad" })).ok, false);
  });

  it("into what a transform makes of it", () => {
    const schema = z.object({ n: z.string().transform(Number) });
    deepEqual(compileSchema(schema, "it", "input", defaultValidator).jsonSchema.properties, { n: { type: "string" } });
    deepEqual(parse(schema, { n: "5" }), { ok: true, value: { n: 5 } });
  });

  it("and typed by what is sent and what arrives", () => {
    const schema = z.object({ n: z.string().transform(Number), d: z.string().default("") });
    const types: [
      Same<InputOf<typeof schema>, { n: string; d?: string | undefined }>,
      Same<OutputOf<typeof schema>, { n: number; d: string }>,
      Same<OutputOf<typeof LIBRARIES.valibot>["days"], number>,
      Same<InputOf<typeof LIBRARIES.valibot>["days"], number | undefined>,
      Same<OutputOf<typeof LIBRARIES.arktype>["days"], number>,
      Same<InputOf<{ type: "object" }>, Record<string, unknown>>,
      Same<InputOf<{ type: "string" }, unknown>, unknown>,
    ] = [true, true, true, true, true, true, true];
    equal(types.length, 7);
  });
});

describe("a definition is refused", () => {
  const where = 'tool "forecast" input';
  const refuses = (schema: unknown, message: RegExp, direction: "input" | "output" = "input") =>
    throws(
      () => compileSchema(schema as AnySchema, where, direction, defaultValidator),
      (error) =>
        error instanceof DefinitionError && error.message.startsWith(`${where}: `) && message.test(error.message),
    );

  it("when a part of it has no JSON Schema, by the part's place", () => {
    refuses(z.object({ a: z.object({ when: z.date() }) }), /at \/properties\/a\/properties\/when: .*Date/);
    const nested = v.object({ ok: v.string(), list: v.optional(v.array(v.object({ when: v.date() }))) });
    refuses(
      toStandardJsonSchema(v.object({ a: nested })),
      /at \/properties\/a\/properties\/list\/items\/properties\/when: The "date"/,
    );
    refuses(toStandardJsonSchema(v.date() as never), /at its root: The "date" schema/);
    refuses(z.object({ a: z.string().transform(Number) }), /at \/properties\/a: .*withJsonSchema/, "output");
  });

  it("when its library cannot describe it, with the way out", () => {
    refuses(v.object({}), /toStandardJsonSchema\(\)/);
    const described = withJsonSchema(v.object({ a: v.string() }), { type: "object", title: "Mine" });
    deepEqual(compileSchema(described, where, "input", defaultValidator).jsonSchema, { type: "object", title: "Mine" });
    const own = {
      $schema: "https://json-schema.org/draft/2020-12/schema",
      type: "object",
      additionalProperties: false,
    };
    equal(compileSchema(withJsonSchema(v.object({}), own), where, "output", defaultValidator).jsonSchema, own);
    const outcome = parse(described, {});
    deepEqual(outcome.ok ? [] : outcome.issues.map(({ path }) => path), ["/a"]);
    const typed: InputOf<typeof described> = { a: "text" };
    equal(parse(described, typed).ok, true);
  });

  it("when the root of an input is no object", () => {
    for (const schema of [
      {},
      { type: "string" },
      { type: ["object", "null"] },
      z.string(),
      z.union([z.object({}), z.string()]),
    ]) {
      refuses(schema, /type: "object" at its root/);
    }
    equal(compileSchema({ type: "string" }, where, "output", defaultValidator).jsonSchema.type, "string");
  });

  it("when references at the root lead in a circle or to a schema that is no object", () => {
    const { validate } = z.object({})["~standard"];
    for (const $defs of [{ a: { anyOf: [{ $ref: "#/$defs/a" }] } }, { a: true }, { a: { allOf: [true] } }, {}]) {
      const describe = () => ({ $ref: "#/$defs/a", $defs });
      const jsonSchema = { input: describe, output: describe };
      refuses({ "~standard": { version: 1, vendor: "own", validate, jsonSchema } }, /type: "object" at its root/);
    }
  });

  it("when it is no schema at all", () => {
    for (const schema of [null, true, "object", [], undefined]) refuses(schema, /expected a JSON Schema object/);
  });

  it("when the JSON Schema is faulty, by the place in it", () => {
    refuses({ type: "object", properties: { a: { type: "strng" } } }, /#\/properties\/a\/type/);
    refuses({ type: "object", $schema: "https://example.com/d" }, /dialect/);
  });
});
