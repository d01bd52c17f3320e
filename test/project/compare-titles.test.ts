import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { loadScript } from "./load-script.js";

type Titles = Readonly<Record<string, readonly string[]>>;
const { compareTitles } = await loadScript<{
  compareTitles(before: Titles, after: Titles): { readonly lost: readonly string[]; readonly added: readonly string[] };
}>("scripts/compare-titles.mjs");

test("a test that moves to another file is neither lost nor added", () => {
  deepEqual(compareTitles({ "a.js": ["one", "two"] }, { "b.js": ["two"], "c.js": ["one"] }), { lost: [], added: [] });
});

test("a title that changes is lost and added", () => {
  deepEqual(compareTitles({ "a.js": ["one"] }, { "a.js": ["uno"] }), { lost: ["one"], added: ["uno"] });
});

test("one of several tests with the same title is missed", () => {
  deepEqual(compareTitles({ "a.js": ["one"], "b.js": ["one"] }, { "a.js": ["one"] }), { lost: ["one"], added: [] });
});
