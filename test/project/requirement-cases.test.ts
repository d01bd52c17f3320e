import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { loadScript } from "./load-script.js";

interface Entry {
  readonly id: string;
  readonly level: string;
  readonly check?: string;
}

interface Listed {
  readonly id: string;
  readonly cases: readonly string[];
  readonly tests: readonly string[];
}

const { casesOf, entriesWithCases } = await loadScript<{
  casesOf(check?: string): readonly string[];
  entriesWithCases(
    catalogue: ReadonlyMap<string, Entry>,
    proofs: readonly { readonly id: string; readonly test: string }[],
    filter?: string,
  ): readonly Listed[];
}>("scripts/lib/cases.mjs");

test("the cases of a check are its clauses", () => {
  deepEqual(casesOf("Call with no arguments, {} and {x:1}; the first two run, the last is isError."), [
    "Call with no arguments",
    "{}",
    "{x:1}",
    "the first two run",
    "the last is isError",
  ]);
  deepEqual(casesOf("One call (a, b) over HTTP/1.1."), ["One call  over HTTP/1.1"]);
  deepEqual(casesOf(undefined), []);
});

test("entries with two cases or more are listed with their tests, once for all wires", () => {
  const entry = (id: string, check: string) => [id, { id, level: "MUST", check }] as const;
  const catalogue = new Map([entry("a:one", "Call it."), entry("a:two", "Call, and close."), entry("b:two", "A; B.")]);
  const proofs = ["a:one", "a:two", "b:two"].flatMap((id) => [
    { id, test: `file.js:${id} [modern-node]` },
    { id, test: `file.js:${id} [legacy-node]` },
  ]);
  deepEqual(
    entriesWithCases(catalogue, proofs).map(({ id }) => id),
    ["a:two", "b:two"],
  );
  const [listed] = entriesWithCases(catalogue, proofs, "a:");
  deepEqual([listed?.cases, listed?.tests], [["Call", "and close"], ["file.js:a:two"]]);
});
