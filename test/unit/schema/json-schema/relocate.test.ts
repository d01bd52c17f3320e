import assert from "node:assert/strict";
import { test } from "node:test";
import { relocateSchema } from "#src/schema/json-schema/relocate.js";

test("references to the root lead to the new place, references inside values stay", () => {
  const schema = {
    type: "array",
    items: { $ref: "#" },
    contains: { $ref: "#/$defs/part" },
    $defs: { part: { const: { $ref: "#" } }, other: { $id: "https://example.com/other", items: { $ref: "#" } } },
  };
  assert.deepEqual(relocateSchema(schema, "#/properties/result"), {
    type: "array",
    items: { $ref: "#/properties/result" },
    contains: { $ref: "#/properties/result/$defs/part" },
    $defs: { part: { const: { $ref: "#" } }, other: { $id: "https://example.com/other", items: { $ref: "#" } } },
  });
  assert.equal(schema.items.$ref, "#", "the given schema is not changed");
});

test("an id of draft-04 is a root too", () => {
  const draft4 = "http://json-schema.org/draft-04/schema#";
  const other = { id: "https://example.com/other", items: { $ref: "#" } };
  const moved = relocateSchema({ $schema: draft4, properties: { other }, items: { $ref: "#" } }, "#/properties/x");
  assert.deepEqual(moved, { $schema: draft4, properties: { other }, items: { $ref: "#/properties/x" } });
});
