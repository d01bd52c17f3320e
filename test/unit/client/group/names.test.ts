import { deepEqual, equal, match, notEqual, ok, throws } from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { assertNameRules, namesUnder, prefixesOf } from "#src/client/group/names.js";

const rules = { separator: "__", maxLength: 128 };
const VALID = /^[A-Za-z0-9_.-]{1,128}$/;

test("names that fit are kept as they are", () => {
  deepEqual([...prefixesOf(["files", "git-hub", "a.b"], rules).values()].sort(), ["a.b__", "files__", "git-hub__"]);
  deepEqual(
    [...namesUnder("files__", ["read", "write_all"], rules)],
    [
      ["read", "files__read"],
      ["write_all", "files__write_all"],
    ],
  );
});

test("a server's name that could be taken for another's is marked", () => {
  const prefixes = prefixesOf(["a", "a__b", "a_", "my server"], rules);
  equal(prefixes.get("a"), "a__");
  match(prefixes.get("a__b") ?? "", /^a-b-[0-9a-f]{8}__$/);
  match(prefixes.get("a_") ?? "", /^a--[0-9a-f]{8}__$/);
  match(prefixes.get("my server") ?? "", /^my_server-[0-9a-f]{8}__$/);
});

test("what is too long or foreign is cut and marked, the same each time, whatever else is listed", () => {
  const long = "x".repeat(200);
  const other = `${"x".repeat(199)}y`;
  const names = namesUnder("s__", [long, other, "lies & more", "", "plain"], rules);
  equal(new Set(names.values()).size, 5);
  for (const name of names.values()) match(name, VALID);
  equal(names.get("plain"), "s__plain");
  equal(namesUnder("s__", [long], rules).get(long), names.get(long));
  notEqual(names.get(long), names.get(other));
});

test("a plain name keeps its place before a marked one that would be equal", () => {
  const marked = namesUnder("s__", ["a b"], rules).get("a b")?.slice(3) ?? "";
  const names = namesUnder("s__", ["a b", marked], rules);
  equal(names.get(marked), `s__${marked}`);
  notEqual(names.get("a b"), `s__${marked}`);
});

test("names are valid, tell their server, and never meet", () => {
  const word = fc.string({ minLength: 1, maxLength: 150, unit: fc.constantFrom("a", "_", "-", ".", " ", "é", "1") });
  const separators = fc.constantFrom("__", "_", "-", ".", "--");
  fc.assert(
    fc.property(
      fc.uniqueArray(word, { minLength: 1, maxLength: 6 }),
      fc.uniqueArray(word, { maxLength: 6 }),
      separators,
      fc.constantFrom(48, 64, 128),
      (servers, tools, separator, maxLength) => {
        const prefixes = prefixesOf(servers, { separator, maxLength });
        const seen = new Set<string>();
        for (const prefix of prefixes.values()) {
          for (const name of namesUnder(prefix, tools, { separator, maxLength }).values()) {
            match(name, VALID);
            ok(name.length <= maxLength);
            ok(!seen.has(name), `${name} came twice`);
            seen.add(name);
            deepEqual(
              [...prefixes.values()].filter((candidate) => name.startsWith(candidate)),
              [prefix],
            );
          }
        }
      },
    ),
    { numRuns: 300 },
  );
});

test("rules that cannot work are refused", () => {
  for (const separator of ["", "a", "_-", "/", "_____"]) {
    throws(() => assertNameRules({ separator, maxLength: 128 }), /separator/);
  }
  for (const maxLength of [10, 129, 64.5])
    throws(() => assertNameRules({ separator: "__", maxLength }), /maxNameLength/);
});
