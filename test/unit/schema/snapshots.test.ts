import { equal } from "node:assert/strict";
import { describe, it } from "node:test";
import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import * as v from "valibot";
import * as z from "zod";
import { type AnySchema, toJsonSchema } from "#src/schema/compile.js";

/** A schema, what callers are shown of it, and what they are shown of it as a result, if that differs. */
type Snapshot = readonly [schema: AnySchema, input: string, output?: string];

const ZOD: { readonly [name: string]: Snapshot } = {
  "text and numbers": [
    z.object({ city: z.string().min(1).describe("Where"), days: z.int(), share: z.number().min(0).max(1) }),
    `{"type":"object","properties":{"city":{"type":"string","minLength":1,"description":"Where"},"days":{"type":"integer"},"share":{"type":"number","minimum":0,"maximum":1}},"required":["city","days","share"]}`,
  ],
  formats: [
    z.object({ mail: z.email(), at: z.iso.datetime(), code: z.string().regex(/^[a-z]+$/) }),
    `{"type":"object","properties":{"mail":{"type":"string","format":"email"},"at":{"type":"string","format":"date-time"},"code":{"type":"string","pattern":"^[a-z]+$"}},"required":["mail","at","code"]}`,
  ],
  "enums and literals": [
    z.object({ unit: z.enum(["C", "F"]).describe("Unit"), kind: z.literal("x") }),
    `{"type":"object","properties":{"unit":{"type":"string","enum":["C","F"],"description":"Unit"},"kind":{"type":"string","const":"x"}},"required":["unit","kind"]}`,
  ],
  "optional and default": [
    z.object({ a: z.string().optional(), b: z.number().default(3), c: z.string().nullable() }),
    `{"type":"object","properties":{"a":{"type":"string"},"b":{"default":3,"type":"number"},"c":{"type":["string","null"]}},"required":["c"]}`,
    `{"type":"object","properties":{"a":{"type":"string"},"b":{"default":3,"type":"number"},"c":{"type":["string","null"]}},"required":["b","c"]}`,
  ],
  unions: [
    z.object({ id: z.union([z.string(), z.int()]), at: z.union([z.object({ x: z.number() }), z.string()]) }),
    `{"type":"object","properties":{"id":{"anyOf":[{"type":"string"},{"type":"integer"}]},"at":{"anyOf":[{"type":"object","properties":{"x":{"type":"number"}},"required":["x"]},{"type":"string"}]}},"required":["id","at"]}`,
  ],
  "a discriminated union": [
    z.discriminatedUnion("t", [z.object({ t: z.literal("a"), r: z.number() }), z.object({ t: z.literal("b") })]),
    `{"type":"object","oneOf":[{"type":"object","properties":{"t":{"type":"string","const":"a"},"r":{"type":"number"}},"required":["t","r"]},{"type":"object","properties":{"t":{"type":"string","const":"b"}},"required":["t"]}]}`,
    `{"oneOf":[{"type":"object","properties":{"t":{"type":"string","const":"a"},"r":{"type":"number"}},"required":["t","r"]},{"type":"object","properties":{"t":{"type":"string","const":"b"}},"required":["t"]}]}`,
  ],
  "nested objects and lists": [
    z.object({ deep: z.object({ tags: z.array(z.object({ ok: z.boolean() })).max(3) }) }),
    `{"type":"object","properties":{"deep":{"type":"object","properties":{"tags":{"maxItems":3,"type":"array","items":{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}}},"required":["tags"]}},"required":["deep"]}`,
  ],
  records: [
    z.object({ counts: z.record(z.string(), z.number()), of: z.record(z.enum(["a", "b"]), z.string()) }),
    `{"type":"object","properties":{"counts":{"type":"object","additionalProperties":{"type":"number"}},"of":{"type":"object","propertyNames":{"type":"string","enum":["a","b"]},"additionalProperties":{"type":"string"},"required":["a","b"]}},"required":["counts","of"]}`,
  ],
  "strict and loose objects": [
    z.object({ strict: z.strictObject({ a: z.string() }), loose: z.looseObject({ a: z.string() }) }),
    `{"type":"object","properties":{"strict":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false},"loose":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}},"required":["strict","loose"]}`,
    `{"type":"object","properties":{"strict":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},"loose":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}},"required":["strict","loose"]}`,
  ],
  anything: [
    z.object({ any: z.any(), unknown: z.unknown() }),
    `{"type":"object","properties":{"any":{},"unknown":{}},"required":["any","unknown"]}`,
  ],
  nothing: [z.object({}), `{"type":"object","properties":{}}`],
  "a transform": [
    z.object({ n: z.string().pipe(z.coerce.number()) }),
    `{"type":"object","properties":{"n":{"type":"string"}},"required":["n"]}`,
    `{"type":"object","properties":{"n":{"type":"number"}},"required":["n"]}`,
  ],
  "keywords of one's own": [
    z.object({ region: z.string().meta({ "x-mcp-header": "Region", examples: [{ pattern: "p", format: "f" }] }) }),
    `{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region","examples":[{"pattern":"p","format":"f"}]}},"required":["region"]}`,
  ],
  "properties named like keywords": [
    z.object({ pattern: z.string(), format: z.string(), required: z.array(z.string()) }),
    `{"type":"object","properties":{"pattern":{"type":"string"},"format":{"type":"string"},"required":{"type":"array","items":{"type":"string"}}},"required":["pattern","format","required"]}`,
  ],
};

const VALIBOT: { readonly [name: string]: Snapshot } = {
  "text and numbers": [
    toStandardJsonSchema(
      v.object({
        city: v.pipe(v.string(), v.minLength(1), v.description("Where")),
        days: v.pipe(v.number(), v.integer()),
      }),
    ),
    `{"type":"object","properties":{"city":{"type":"string","minLength":1,"description":"Where"},"days":{"type":"integer"}},"required":["city","days"]}`,
  ],
  formats: [
    toStandardJsonSchema(
      v.object({ mail: v.pipe(v.string(), v.email()), code: v.pipe(v.string(), v.regex(/^[a-z]+$/)) }),
    ),
    `{"type":"object","properties":{"mail":{"type":"string","format":"email"},"code":{"type":"string","pattern":"^[a-z]+$"}},"required":["mail","code"]}`,
  ],
  "enums and literals": [
    toStandardJsonSchema(
      v.object({ unit: v.pipe(v.picklist(["C", "F"]), v.description("Unit")), kind: v.literal("x") }),
    ),
    `{"type":"object","properties":{"unit":{"enum":["C","F"],"type":"string","description":"Unit"},"kind":{"const":"x"}},"required":["unit","kind"]}`,
  ],
  "optional and default": [
    toStandardJsonSchema(
      v.object({ a: v.optional(v.string()), b: v.optional(v.number(), 3), c: v.nullable(v.string()) }),
    ),
    `{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"number","default":3},"c":{"anyOf":[{"type":"string"},{"type":"null"}]}},"required":["c"]}`,
  ],
  unions: [
    toStandardJsonSchema(v.object({ id: v.union([v.string(), v.number()]) })),
    `{"type":"object","properties":{"id":{"anyOf":[{"type":"string"},{"type":"number"}]}},"required":["id"]}`,
  ],
  "a discriminated union": [
    toStandardJsonSchema(
      v.variant("t", [v.object({ t: v.literal("a"), r: v.number() }), v.object({ t: v.literal("b") })]),
    ),
    `{"type":"object","oneOf":[{"type":"object","properties":{"t":{"const":"a"},"r":{"type":"number"}},"required":["t","r"]},{"type":"object","properties":{"t":{"const":"b"}},"required":["t"]}]}`,
    `{"oneOf":[{"type":"object","properties":{"t":{"const":"a"},"r":{"type":"number"}},"required":["t","r"]},{"type":"object","properties":{"t":{"const":"b"}},"required":["t"]}]}`,
  ],
  "nested objects and lists": [
    toStandardJsonSchema(
      v.object({ deep: v.object({ tags: v.pipe(v.array(v.object({ ok: v.boolean() })), v.maxLength(3)) }) }),
    ),
    `{"type":"object","properties":{"deep":{"type":"object","properties":{"tags":{"type":"array","items":{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]},"maxItems":3}},"required":["tags"]}},"required":["deep"]}`,
  ],
  records: [
    toStandardJsonSchema(v.object({ counts: v.record(v.string(), v.number()) })),
    `{"type":"object","properties":{"counts":{"type":"object","additionalProperties":{"type":"number"}}},"required":["counts"]}`,
  ],
  "strict and loose objects": [
    toStandardJsonSchema(
      v.object({ strict: v.strictObject({ a: v.string() }), loose: v.looseObject({ a: v.string() }) }),
    ),
    `{"type":"object","properties":{"strict":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false},"loose":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}},"required":["strict","loose"]}`,
    `{"type":"object","properties":{"strict":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},"loose":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}},"required":["strict","loose"]}`,
  ],
  nothing: [toStandardJsonSchema(v.object({})), `{"type":"object","properties":{}}`],
};

const ARKTYPE: { readonly [name: string]: Snapshot } = {
  "text and numbers": [
    type({ city: type("string >= 1").describe("Where"), days: "number.integer", share: "0 <= number <= 1" }),
    `{"type":"object","properties":{"city":{"type":"string","description":"Where","minLength":1},"days":{"type":"integer"},"share":{"type":"number","maximum":1,"minimum":0}},"required":["city","days","share"]}`,
  ],
  formats: [
    type({ mail: "string.email", code: "/^[a-z]+$/" }),
    `{"type":"object","properties":{"code":{"type":"string","pattern":"^[a-z]+$"},"mail":{"type":"string","format":"email"}},"required":["code","mail"]}`,
  ],
  "enums and literals": [
    type({ unit: type("'C' | 'F'").describe("Unit"), kind: "'x'" }),
    `{"type":"object","properties":{"kind":{"const":"x"},"unit":{"anyOf":[{"const":"C","description":"Unit"},{"const":"F","description":"Unit"}],"description":"Unit"}},"required":["kind","unit"]}`,
  ],
  "optional and default": [
    type({ "a?": "string", b: "number = 3", c: "string | null" }),
    `{"type":"object","properties":{"c":{"anyOf":[{"type":"string"},{"type":"null"}]},"a":{"type":"string"},"b":{"type":"number"}},"required":["c"]}`,
    `{"type":"object","properties":{"b":{"type":"number"},"c":{"anyOf":[{"type":"string"},{"type":"null"}]},"a":{"type":"string"}},"required":["b","c"]}`,
  ],
  unions: [
    type({ id: "string | number" }),
    `{"type":"object","properties":{"id":{"anyOf":[{"type":"number"},{"type":"string"}]}},"required":["id"]}`,
  ],
  "a discriminated union": [
    type({ t: "'a'", r: "number" }).or({ t: "'b'" }),
    `{"type":"object","anyOf":[{"type":"object","properties":{"r":{"type":"number"},"t":{"const":"a"}},"required":["r","t"]},{"type":"object","properties":{"t":{"const":"b"}},"required":["t"]}]}`,
    `{"anyOf":[{"type":"object","properties":{"r":{"type":"number"},"t":{"const":"a"}},"required":["r","t"]},{"type":"object","properties":{"t":{"const":"b"}},"required":["t"]}]}`,
  ],
  "nested objects and lists": [
    type({ deep: { tags: type({ ok: "boolean" }).array().atMostLength(3) } }),
    `{"type":"object","properties":{"deep":{"type":"object","properties":{"tags":{"type":"array","maxItems":3,"items":{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}}},"required":["tags"]}},"required":["deep"]}`,
  ],
  records: [
    type({ counts: "Record<string, number>" }),
    `{"type":"object","properties":{"counts":{"type":"object","additionalProperties":{"type":"number"}}},"required":["counts"]}`,
  ],
  "strict objects": [
    type({ strict: type({ "+": "reject", a: "string" }) }),
    `{"type":"object","properties":{"strict":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"],"additionalProperties":false}},"required":["strict"]}`,
    `{"type":"object","properties":{"strict":{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]}},"required":["strict"]}`,
  ],
  nothing: [type({}), `{"type":"object","properties":{}}`, `{"type":"object"}`],
};

for (const [library, snapshots] of Object.entries({ zod: ZOD, valibot: VALIBOT, arktype: ARKTYPE })) {
  describe(`what hosts are shown of a schema of ${library}`, () => {
    for (const [name, [schema, input, output = input]] of Object.entries(snapshots)) {
      it(name, () => {
        equal(JSON.stringify(toJsonSchema(schema, "it", "input")), input);
        equal(JSON.stringify(toJsonSchema(schema, "it", "output")), output);
      });
    }
  });
}
