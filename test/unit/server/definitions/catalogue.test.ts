import { deepEqual, throws } from "node:assert/strict";
import { test } from "node:test";
import { Catalogue } from "#src/server/definitions/catalogue.js";

test("a key is defined once, and a definition takes no key of another", () => {
  const catalogue = new Catalogue<never>("tool", "tools", undefined);
  const item = {} as never;
  for (const key of ["a", "b"]) catalogue.add(key, item);
  throws(() => catalogue.add("a", item), { name: "DefinitionError", message: 'tool "a" is already defined' });
  throws(() => catalogue.replace("a", "b", item), { message: 'tool "b" is already defined' });
  catalogue.replace("a", "a", item);
  deepEqual([catalogue.size, catalogue.offered], [2, true]);
});
