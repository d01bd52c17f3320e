import { deepEqual, equal, match, throws } from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { checkParamHeaders, findParamHeaders, type ParamHeader, paramHeadersOf } from "#src/http/param-headers.js";
import { RpcError } from "#src/protocol/errors.js";

const region = { type: "string", "x-mcp-header": "Region" };
const form = (properties: Record<string, unknown>) => ({ type: "object", properties });

function headersOf(schema: unknown): readonly ParamHeader[] {
  const found = findParamHeaders(schema);
  if (!found.ok) throw new Error(found.reason);
  return found.headers;
}

describe("parameter headers are found", () => {
  it("on properties, at any depth of properties", () => {
    const schema = form({
      region,
      at: form({ row: { type: "integer", "x-mcp-header": "Row" } }),
      plain: { type: "string" },
    });
    deepEqual(headersOf(schema), [
      { name: "Mcp-Param-Region", path: ["region"], type: "string" },
      { name: "Mcp-Param-Row", path: ["at", "row"], type: "integer" },
    ]);
  });

  it("with every token character", () => {
    equal(headersOf(form({ a: { type: "boolean", "x-mcp-header": "!#$%&'*+-.^_`|~09azAZ" } })).length, 1);
  });

  it("and not in data, nor in a property that is called like the annotation", () => {
    const data = { "x-mcp-header": "X" };
    deepEqual(
      headersOf(
        form({ a: { default: data, const: data, enum: [data], examples: [data] }, "x-mcp-header": { type: "string" } }),
      ),
      [],
    );
  });

  const DEEP = { deep: { type: "string", "x-mcp-header": "Deep" } };
  const INVALID: readonly [name: string, schema: unknown][] = [
    ...["", "a b", "a:b", "é", "a\tb", "a\r\nb", 5, null, true, {}].map(
      (name) =>
        [`the name ${JSON.stringify(name)}`, form({ a: { type: "string", "x-mcp-header": name } })] as [
          string,
          unknown,
        ],
    ),
    ...["number", "array", "object", "null", undefined, ["string", "null"]].map(
      (type) => [`the type ${JSON.stringify(type)}`, form({ a: { type, "x-mcp-header": "A" } })] as [string, unknown],
    ),
    ["the same name twice", form({ a: region, b: region })],
    [
      "the same name in other case, nested",
      form({ a: region, b: form({ c: { type: "string", "x-mcp-header": "REGION" } }) }),
    ],
    ["the root", { ...form({}), "x-mcp-header": "Root" }],
    ...[
      "items",
      "additionalProperties",
      "not",
      "if",
      "then",
      "else",
      "contains",
      "propertyNames",
      "unevaluatedItems",
    ].map((keyword) => [keyword, form({ a: { [keyword]: form(DEEP) } })] as [string, unknown]),
    ...["allOf", "anyOf", "oneOf", "prefixItems"].map(
      (keyword) => [keyword, form({ a: { [keyword]: [form(DEEP)] } })] as [string, unknown],
    ),
    ...["$defs", "definitions", "patternProperties", "dependentSchemas"].map(
      (keyword) => [keyword, { ...form({}), [keyword]: DEEP }] as [string, unknown],
    ),
  ];
  it("unless the schema goes deeper than can be searched", () => {
    const deep = Array.from({ length: 20_000 }).reduce<object>((inner) => form({ a: inner }), region);
    const found = findParamHeaders(deep);
    match(found.ok ? "" : found.reason, /too large/);
  });

  for (const [name, schema] of INVALID) {
    it(`unless it is on ${name}`, () => {
      const found = findParamHeaders(schema);
      match(found.ok ? "" : found.reason, /^#.*: /);
    });
  }
});

describe("parameter headers are sent", () => {
  const headers = headersOf(
    form({
      region,
      n: { type: "integer", "x-mcp-header": "N" },
      at: form({ on: { type: "boolean", "x-mcp-header": "On" } }),
    }),
  );

  it("for each argument that is present", () => {
    deepEqual(paramHeadersOf(headers, { region: "é", n: -7, at: { on: false }, more: 1 }), [
      ["Mcp-Param-Region", "=?base64?w6k=?="],
      ["Mcp-Param-N", "-7"],
      ["Mcp-Param-On", "false"],
    ]);
    deepEqual(paramHeadersOf(headers, { region: "" }), [["Mcp-Param-Region", ""]]);
  });

  it("and not for one that is null, absent, inherited or out of reach", () => {
    deepEqual(paramHeadersOf(headers, { region: null, n: undefined, at: 5 }), []);
    deepEqual(paramHeadersOf(headers, Object.create({ region: "x" })), []);
    deepEqual(paramHeadersOf(headers, undefined), []);
  });

  it("and a number that a header cannot carry is refused", () => {
    for (const n of [2 ** 53, -(2 ** 53), 1.5]) {
      throws(
        () => paramHeadersOf(headers, { n }),
        (error) => error instanceof RpcError && error.local && /\/n.*Mcp-Param-N/.test(error.message),
      );
    }
    equal(paramHeadersOf(headers, { n: 2 ** 53 - 1 })[0]?.[1], "9007199254740991");
  });

  it("and accepted, whatever the values", () => {
    const args = fc.record(
      { region: fc.string({ unit: "binary" }), n: fc.maxSafeInteger(), at: fc.record({ on: fc.boolean() }) },
      { requiredKeys: [] },
    );
    fc.assert(
      fc.property(args, (values) => {
        const sent = new Map(paramHeadersOf(headers, values));
        equal(
          checkParamHeaders(headers, values, (name) => sent.get(name)),
          undefined,
        );
      }),
    );
    const sent = new Map(paramHeadersOf(headers, { region: "\ud800" }));
    equal(
      checkParamHeaders(headers, { region: "\ud800" }, (name) => sent.get(name)),
      undefined,
    );
  });

  const CHECKS: readonly [name: string, args: unknown, values: Record<string, string>, problem: RegExp | undefined][] =
    [
      ["a number in another form", { n: 42 }, { "Mcp-Param-N": "42.0" }, undefined],
      ["another number", { n: 42 }, { "Mcp-Param-N": "43" }, /^Mcp-Param-N does not match the argument \/n$/],
      ["an empty text for 0", { n: 0 }, { "Mcp-Param-N": "" }, /does not match/],
      ["hexadecimal", { n: 16 }, { "Mcp-Param-N": "0x10" }, /does not match/],
      ["a fraction", { n: 1.5 }, { "Mcp-Param-N": "1.5" }, /does not match/],
      ["a fraction of which the header is silent", { n: 1.5 }, { "Mcp-Param-N": "1" }, /does not match/],
      ["True", { at: { on: true } }, { "Mcp-Param-On": "True" }, /does not match the argument \/at\/on/],
      ["a missing header", { region: "a" }, {}, /is missing/],
      ["a header for an absent argument", {}, { "Mcp-Param-Region": "a" }, /without a value/],
      ["a header for null", { region: null }, { "Mcp-Param-Region": "null" }, /without a value/],
      ["bad base64", { region: "a" }, { "Mcp-Param-Region": "=?base64?YQ?=" }, /is malformed/],
      ["base64 of the value", { region: "a" }, { "Mcp-Param-Region": "=?base64?YQ==?=" }, undefined],
      ["a prefix alone", { region: "=?base64?YQ==" }, { "Mcp-Param-Region": "=?base64?YQ==" }, undefined],
    ];
  for (const [name, args, values, problem] of CHECKS) {
    it(`and ${problem === undefined ? "accepted" : "refused"} as ${name}`, () => {
      const found = checkParamHeaders(headers, args, (header) => values[header]);
      if (problem === undefined) equal(found, undefined);
      else match(found ?? "", problem);
    });
  }
});
