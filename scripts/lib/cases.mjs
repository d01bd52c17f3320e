/**
 * Splits the `check` of a requirement into its clauses. The result is approximate; a reader compares it with the tests.
 */
export function casesOf(check = "") {
  return check
    .replaceAll(/\([^)]*\)/g, "")
    .split(/[;,]\s|\.(?:\s|$)|\s(?:and|or|then)\s/)
    .map((text) => text.trim())
    .filter((text) => text !== "");
}

/**
 * Returns entries with two or more cases and the tests that prove them, sorted by id: `[{ id, level, cases, tests }]`.
 */
export function entriesWithCases(catalogue, proofs, filter = "") {
  const tests = new Map();
  for (const { id, test } of proofs) tests.set(id, (tests.get(id) ?? new Set()).add(test.replace(/ \[[\w-]+\]$/, "")));
  return [...catalogue.values()]
    .filter(({ id }) => id.includes(filter))
    .map(({ id, level, check }) => ({ id, level, cases: casesOf(check), tests: [...(tests.get(id) ?? [])] }))
    .filter(({ cases, tests }) => cases.length > 1 && tests.length > 0);
}
