import { deepEqual, equal } from "node:assert/strict";
import { describe, it } from "node:test";
import { type Entered, type FieldKind, fieldsOf, hasForm, initialOf, keyOf, valuesOf } from "#src/page/model/form.js";

const kindOf = (schema: object): FieldKind | undefined => fieldsOf({ properties: { a: schema } })[0]?.kind;

describe("a form of a JSON Schema", () => {
  it("has a control for each type, and a text area for the rest", () => {
    const cases: readonly (readonly [object, FieldKind])[] = [
      [{ type: "string" }, "text"],
      [{ type: "string", maxLength: 5000 }, "long"],
      [{ type: ["string", "null"] }, "text"],
      [{ type: "number" }, "number"],
      [{ type: "integer" }, "integer"],
      [{ type: "boolean" }, "boolean"],
      [{ enum: ["a", 2, null] }, "choice"],
      [{ const: "a" }, "choice"],
      [{ oneOf: [{ const: "a", title: "A" }, { const: "b" }] }, "choice"],
      [{ type: "array", items: { enum: ["a", "b"] } }, "choices"],
      [{ type: "array", items: { anyOf: [{ const: "a", title: "A" }] } }, "choices"],
      [{ type: "array", items: { type: "string" } }, "json"],
      [{ type: "object", properties: { b: { type: "string" } } }, "group"],
      [{ type: "object" }, "json"],
      [{ $ref: "#/$defs/a" }, "json"],
      [{ oneOf: [{ type: "string" }, { type: "number" }] }, "json"],
      [{ type: ["string", "number"] }, "json"],
      [{}, "json"],
    ];
    for (const [schema, kind] of cases) equal(kindOf(schema), kind, JSON.stringify(schema));
  });

  it("shows an object that is too deep as JSON", () => {
    let schema: object = { type: "string" };
    for (let depth = 0; depth < 20; depth++) schema = { type: "object", properties: { a: schema } };
    let [field] = fieldsOf(schema as { [key: string]: unknown });
    let depth = 1;
    for (; field?.kind === "group"; depth++) field = field.fields[0];
    deepEqual([field?.kind, depth], ["json", 3]);
  });

  it("is none for what is no object of properties", () => {
    equal(hasForm({ properties: {} }), true);
    for (const schema of [{}, { properties: {}, oneOf: [] }, { $ref: "#" }]) equal(hasForm(schema), false);
  });

  const schema = {
    properties: {
      ship: { type: "string" },
      length: { type: "number" },
      crew: { type: "integer", default: 3 },
      loaded: { type: "boolean" },
      side: { enum: ["port", "starboard"] },
      flags: { type: "array", items: { enum: ["a", "b", "c"] } },
      cargo: { type: "array" },
      owner: { type: "object", properties: { name: { type: "string" } }, required: ["name"] },
    },
    required: ["ship", "loaded"],
  };
  const fields = fieldsOf(schema);
  const entered = (values: Readonly<Record<string, string | readonly string[]>>): Entered =>
    new Map(Object.entries(values).map(([name, value]) => [keyOf(name.split(".")), value]));

  it("reads values of the types of the schema", () => {
    const values = {
      ship: "Maria",
      length: "12.5",
      crew: "7",
      loaded: "false",
      side: "1",
      flags: ["0", "2"],
      cargo: '[{"a":1}]',
      "owner.name": "Anna",
    };
    const { value, problems } = valuesOf(fields, entered(values));
    deepEqual(value, {
      ship: "Maria",
      length: 12.5,
      crew: 7,
      loaded: false,
      side: "starboard",
      flags: ["a", "c"],
      cargo: [{ a: 1 }],
      owner: { name: "Anna" },
    });
    equal(problems.size, 0);
  });

  it("leaves out what is empty, with an empty object that is not required", () => {
    const { value, problems } = valuesOf(fields, entered({ ship: "1", loaded: "true" }));
    deepEqual(value, { ship: "1", loaded: true });
    deepEqual([...problems.keys()], [keyOf(["owner", "name"])]);
  });

  it("sends an empty text where one is required and was entered", () => {
    deepEqual(
      valuesOf(fieldsOf({ properties: { a: { type: "string" } }, required: ["a"] }), entered({ a: "" })).value,
      { a: "" },
    );
  });

  it("names what cannot be sent, with the remedy", () => {
    const { problems } = valuesOf(fields, entered({ length: "long", crew: "1.5", cargo: "[a" }));
    deepEqual(
      [...problems.entries()].filter(([key]) => !key.includes("\u0000")),
      [
        ["ship", "ship is required"],
        ["length", "length is not a number: enter digits, such as 12"],
        ["crew", "crew is not whole: enter a number without a fraction"],
        ["loaded", "loaded is required"],
        ["cargo", "cargo is not JSON: put texts in double quotes"],
      ],
    );
  });

  it("begins with defaults, or with the arguments of a call, and returns these", () => {
    deepEqual([...initialOf(fields)], [["crew", "3"]]);
    const given = {
      ship: "Maria",
      loaded: false,
      side: "port",
      flags: ["b"],
      cargo: [1],
      owner: { name: "Anna" },
      crew: 9,
      length: 1.5,
    };
    const again = fieldsOf(schema, [], given);
    deepEqual(valuesOf(again, initialOf(again)).value, given);
  });

  it("keeps names of members that look like those of objects", () => {
    const strange = fieldsOf({ properties: JSON.parse('{"constructor":{"type":"string"},"a.b":{"type":"string"}}') });
    deepEqual(
      strange.map(({ name }) => name),
      ["constructor", "a.b"],
    );
    deepEqual(
      {
        ...valuesOf(
          strange,
          new Map([
            ["constructor", "x"],
            ["a.b", "y"],
          ]),
        ).value,
      },
      { constructor: "x", "a.b": "y" },
    );
  });
});
