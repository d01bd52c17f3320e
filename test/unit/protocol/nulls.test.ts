import { deepEqual, equal } from "node:assert/strict";
import { test } from "node:test";
import type { Check } from "#src/protocol/json.js";
import { withoutNulls } from "#src/protocol/shapes/nulls.js";

/** Finds the first member of `/all` that is not a number. */
const numbers: Check = (value) => {
  const [name] = Object.entries((value as { all: object }).all).find(([, member]) => typeof member !== "number") ?? [];
  return name === undefined ? undefined : { path: `/all/${name}`, expected: "a number" };
};

test("members that are null are left out of a copy", () => {
  const nulls = Object.fromEntries(Array.from({ length: 16 }, (_, at) => [`m${at}`, null]));
  const value = { all: { ...nulls, kept: 1 } };
  deepEqual(withoutNulls(numbers, value, { path: "/all/m0", expected: "a number" }), { all: { kept: 1 } });
  equal(Object.keys(value.all).length, 17);
});

test("nothing is left out of an object with many members, whose copies would take long", () => {
  const problem = { path: "/all/none", expected: "a number" };
  const some = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, at) => [`m${at}`, at]));
  deepEqual(withoutNulls(numbers, { all: { ...some(63), none: null } }, problem), { all: some(63) });
  equal(withoutNulls(numbers, { all: { ...some(64), none: null } }, problem), undefined);
});

test("too many members, and members that are not null, are not left out", () => {
  const problem = { path: "/all/m0", expected: "a number" };
  const many = Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`m${at}`, null]));
  equal(withoutNulls(numbers, { all: many }, problem), undefined);
  equal(withoutNulls(numbers, { all: { m0: "text" } }, problem), undefined);
  equal(withoutNulls(numbers, { all: {} }, { path: "/all/__proto__/__proto__", expected: "a number" }), undefined);
});
