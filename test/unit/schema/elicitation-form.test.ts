import { deepEqual, equal, throws } from "node:assert/strict";
import { describe, it } from "node:test";
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import * as z from "zod";
import { DefinitionError } from "#src/protocol/errors.js";
import { checkAnswer, type RequestedSchema } from "#src/schema/elicitation-answer.js";
import { applyDefaults, toRequestedSchema } from "#src/schema/elicitation-form.js";

const form = (properties: Record<string, unknown>, rest = {}) => ({ type: "object", properties, ...rest });
const titled = [
  { const: "#f00", title: "Red" },
  { const: "#0f0", title: "Green" },
];

const FIELDS = {
  name: {
    type: "string",
    title: "Name",
    description: "Yours",
    minLength: 1,
    maxLength: 9,
    pattern: "^\\w+$",
    default: "Ann",
  },
  mail: { type: "string", format: "email" },
  size: { type: "number", minimum: 0, maximum: 9, default: 0 },
  count: { type: "integer", default: 2 },
  sure: { type: "boolean", default: false },
  plain: { type: "string", enum: ["a", "b"], default: "b" },
  named: { type: "string", enum: ["a", "b"], enumNames: ["A", "B"] },
  titled: { type: "string", oneOf: titled, default: "#0f0" },
  several: { type: "array", items: { type: "string", enum: ["a", "b"] }, minItems: 1, maxItems: 2, default: ["a"] },
  severalTitled: { type: "array", items: { anyOf: titled }, default: ["#f00", "#0f0"] },
};

describe("a form", () => {
  it("of a library may have patterns that the library alone can match", () => {
    const schema = z.object({
      a: z
        .string()
        .regex(/^(?!b)/)
        .default("b"),
    });
    const asked = toRequestedSchema(schema, "ask");
    equal(asked.properties.a?.pattern, "^(?!b)");
    deepEqual(checkAnswer(asked, { a: "b" }), []);
  });

  it("of plain JSON Schema is used as it is", () => {
    const schema = form(FIELDS, { required: ["name"], title: "Form", "x-more": 1 });
    equal(toRequestedSchema(schema, "ask"), schema);
  });

  it("is made of a zod schema", () => {
    const schema = z.object({
      name: z.string().min(1),
      mail: z.email(),
      id: z.uuid().optional(),
      color: z.enum(["red", "blue"]).default("red"),
      one: z.literal("only"),
      either: z.union([z.literal("x"), z.literal("y")]),
      shown: z.union([z.literal("x").meta({ title: "X" }), z.literal("y").meta({ title: "Y" })]),
      tags: z.array(z.enum(["a", "b"])).max(2),
      age: z.number().positive(),
      sure: z.boolean(),
    });
    const { properties, required } = toRequestedSchema(schema, "ask");
    const { mail, id, ...exact } = properties;
    deepEqual(exact, {
      name: { type: "string", minLength: 1 },
      color: { type: "string", enum: ["red", "blue"], default: "red" },
      one: { type: "string", enum: ["only"] },
      either: { type: "string", enum: ["x", "y"] },
      shown: {
        type: "string",
        oneOf: [
          { const: "x", title: "X" },
          { const: "y", title: "Y" },
        ],
      },
      tags: { type: "array", maxItems: 2, items: { type: "string", enum: ["a", "b"] } },
      age: { type: "number", exclusiveMinimum: 0 },
      sure: { type: "boolean" },
    });
    equal(mail?.format, "email");
    equal(id?.type, "string");
    equal("format" in (id ?? {}), false);
    deepEqual(required, ["name", "mail", "one", "either", "shown", "tags", "age", "sure"]);
  });

  it("is made of valibot and arktype schemas", () => {
    const expected = form({ a: { type: "string", enum: ["x", "y"] }, n: { type: "integer" } }, { required: ["a"] });
    const valibot = v.object({ a: v.picklist(["x", "y"]), n: v.optional(v.pipe(v.number(), v.integer())) });
    deepEqual(toRequestedSchema(toStandardJsonSchema(valibot), "ask"), expected);
    deepEqual(toRequestedSchema(type({ a: "'x' | 'y'", "n?": "number.integer" }), "ask"), expected);
  });

  const REFUSED: readonly [name: string, schema: Parameters<typeof toRequestedSchema>[0], message: RegExp][] = [
    ["a nested object", form({ a: form({}) }), /"a" must be of type/],
    ["a list of objects", form({ a: { type: "array", items: form({}) } }), /"a" must list its choices/],
    ["a list of free texts", form({ a: { type: "array", items: { type: "string" } } }), /"a" must list its choices/],
    ["a union", form({ a: { anyOf: [{ type: "string" }, { type: "null" }] } }), /"a" must be of type/],
    ["a typed union", form({ a: { type: "string", anyOf: [{ minLength: 1 }] } }), /"a" cannot use anyOf/],
    ["a reference", form({ a: { $ref: "#/$defs/a" } }, { $defs: { a: {} } }), /"a" must be of type/],
    ["a list of types", form({ a: { type: ["string", "null"] } }), /"a" must be of type/],
    ["choices that are numbers", form({ a: { type: "number", enum: [1, 2] } }), /"a" must list its choices as strings/],
    ["choices without titles", form({ a: { type: "string", oneOf: [{ const: "a" }] } }), /"a" must list its choices/],
    [
      "too few names",
      form({ a: { type: "string", enum: ["a", "b"], enumNames: ["A"] } }),
      /"a" must have one enumNames/,
    ],
    [
      "an unknown format",
      form({ a: { type: "string", format: "uuid" } }),
      /"a" has the format "uuid"; forms support email/,
    ],
    ["a default of another type", form({ a: { type: "string", default: 1 } }), /"a" has an invalid default: it must/],
    [
      "a default that is no choice",
      form({ a: { ...FIELDS.plain, default: "c" } }),
      /"a" has an invalid default: it must/,
    ],
    [
      "a default with a foreign choice",
      form({ a: { ...FIELDS.several, default: ["c"] } }),
      /"a" has an invalid default: it must/,
    ],
    ["a bound that is no number", form({ a: { type: "string", minLength: "1" } }), /"a" has a minLength/],
    ["a pattern that is none", form({ a: { type: "string", pattern: "(" } }), /"a" cannot use the pattern/],
    ["a pattern that looks ahead", form({ a: { type: "string", pattern: "(?=b)" } }), /"a" cannot use.*linear time/],
    [
      "patterns of too many states",
      form({ a: { type: "string", pattern: "b{6000}" }, c: { type: "string", pattern: "d{5000}" } }),
      /"c" cannot use.*too many states/,
    ],
    [
      "a default beside its pattern",
      form({ a: { type: "string", pattern: "^(?:aa|aaa)*$", default: `${"a".repeat(90)}!` } }),
      /"a" has an invalid default: it must/,
    ],
    ["an unknown required name", form({}, { required: ["x"] }), /required names "x"/],
    ["a root that is no object", { type: "string" }, /object with properties/],
    ["a composed root", form({}, { allOf: [{}] }), /cannot use allOf/],
    ["a nullable zod field", z.object({ a: z.string().nullable() }), /"a" must be of type/],
    ["a nested zod object", z.object({ a: z.object({}) }), /"a" must be of type/],
  ];
  for (const [name, schema, message] of REFUSED) {
    it(`cannot have ${name}`, () => {
      throws(
        () => toRequestedSchema(schema, "the question"),
        (error) =>
          error instanceof DefinitionError && error.message.startsWith("the question: ") && message.test(error.message),
      );
    });
  }
});

describe("an answer", () => {
  const asked = toRequestedSchema(form(FIELDS, { required: ["name"] }), "ask");

  it("gets the defaults of what it lacks, and of nothing else", () => {
    const given = { name: "", size: 0, sure: true };
    deepEqual(applyDefaults(asked, given), {
      name: "",
      size: 0,
      sure: true,
      count: 2,
      plain: "b",
      titled: "#0f0",
      several: ["a"],
      severalTitled: ["#f00", "#0f0"],
    });
    deepEqual(given, { name: "", size: 0, sure: true });
  });

  const BAD: Readonly<Record<string, unknown>> = {
    name: "",
    mail: "nobody",
    size: "1",
    count: 1.5,
    sure: "yes",
    plain: "c",
    named: "A",
    titled: "Red",
    several: [],
    severalTitled: ["Red"],
  };
  for (const [name, value] of Object.entries(BAD)) {
    it(`is checked: ${name}`, () => {
      deepEqual(checkAnswer(asked, { ...applyDefaults(asked, { name: "Bob" }), mail: "a@b.c", named: "a" }), []);
      const paths = checkAnswer(asked, { name: "Bob", [name]: value }).map(({ path }) => path.split("/")[1]);
      deepEqual([...new Set(paths)], [name]);
    });
  }

  it("is checked for formats", () => {
    const FORMATS: Readonly<Record<string, readonly [good: string, bad: string][]>> = {
      email: [["a@b.example", "a@b@c"]],
      uri: [
        ["https://a.example/b", "/b"],
        ["urn:a:b", "a b"],
      ],
      date: [["2024-02-29", "2023-02-29"]],
      "date-time": [
        ["2024-02-29T10:00:00Z", "2024-02-29"],
        ["2024-02-29T10:00:00.5+01:00", "2024-02-30T10:00:00Z"],
      ],
    };
    for (const [format, pairs] of Object.entries(FORMATS)) {
      const one = toRequestedSchema(form({ a: { type: "string", format } }), "ask");
      for (const [good, bad] of pairs) {
        deepEqual(checkAnswer(one, { a: good }), []);
        deepEqual(checkAnswer(one, { a: bad }), [{ path: "/a", message: `must have the format ${format}` }]);
      }
    }
  });

  const BOUNDED: readonly [field: object, good: unknown, bad: unknown, message: string][] = [
    [{ type: "number", minimum: 2 }, 2, 1, "must be at least 2"],
    [{ type: "number", maximum: 2 }, 2, 3, "must be at most 2"],
    [{ type: "number", exclusiveMinimum: 2 }, 3, 2, "must be above 2"],
    [{ type: "number", exclusiveMaximum: 2 }, 1, 2, "must be below 2"],
    [{ type: "number", multipleOf: 0.1 }, 0.3, 0.25, "must be a multiple of 0.1"],
    [{ type: "integer" }, 1, 1.5, "must be an integer"],
    [{ type: "boolean", const: true }, true, false, "must be true"],
    [{ type: "string", minLength: 2 }, "\u{1f600}b", "\u{1f600}", "must have at least 2 characters"],
    [{ type: "string", maxLength: 1 }, "\u{1f600}", "ab", "must have at most 1 character"],
    [{ type: "string", pattern: "^a" }, "ab", "ba", "must match ^a"],
    [{ type: "string", enum: ["a", "b"] }, "a", "c", 'must be one of "a", "b"'],
    [{ type: "array", items: FIELDS.several.items, minItems: 1 }, ["a"], [], "must have at least 1 item"],
    [{ type: "array", items: FIELDS.several.items, maxItems: 1 }, ["a"], ["a", "b"], "must have at most 1 item"],
    [{ type: "array", items: FIELDS.several.items, uniqueItems: true }, ["a"], ["a", "a"], "must not repeat an item"],
  ];
  for (const [field, good, bad, message] of BOUNDED) {
    it(`is told what it ${message}`, () => {
      const one = toRequestedSchema(form({ a: field }), "ask");
      deepEqual(checkAnswer(one, { a: good }), []);
      deepEqual(checkAnswer(one, { a: bad }), [{ path: "/a", message }]);
    });
  }

  it("holds what is required, and nothing else where the form says so", () => {
    const closed = toRequestedSchema(
      form({ a: { type: "string" } }, { required: ["a"], additionalProperties: false }),
      "ask",
    );
    deepEqual(checkAnswer(closed, { b: 1 }), [
      { path: "/a", message: "is required" },
      { path: "/b", message: "is not allowed" },
    ]);
    deepEqual(checkAnswer(closed, []), [{ path: "", message: "must be an object" }]);
  });

  it("to a form of somebody else is theirs to judge where it cannot be understood", () => {
    const odd = form({ a: { type: ["string", "null"] }, b: { type: "number" } }) as unknown as RequestedSchema;
    deepEqual(checkAnswer(odd, { a: 1, b: 2 }, { lenient: true }), []);
    equal(checkAnswer(odd, { a: 1, b: "2" }, { lenient: true }).length, 1);
  });

  it("fits no form that cannot be understood", () => {
    const broken = form({ a: { $ref: "https://example.com/a" } }) as unknown as RequestedSchema;
    equal(checkAnswer(broken, { a: 1 }).length, 1);
  });
});
