import { at, readJson } from "../scripts/lib/project.mjs";

const expected = readJson(at("conformance/expected.json"));

/**
 * Returns the scenarios that must pass: `[{ role, revision, scenario, least }]`. `least` is the number of checks that
 * must succeed, so that a check that disappears is noticed. `extension` is true if the scenario is about an extension: no
 * version requires it, and the suite runs it only by its name.
 */
export function readExpected() {
  const found = [];
  for (const [role, revision, { run, extensions }] of legs()) {
    for (const [scenario, least] of Object.entries(run)) found.push({ role, revision, scenario, least });
    for (const [scenario, least] of Object.entries(extensions))
      found.push({ role, revision, scenario, least, extension: true });
  }
  return found;
}

function* legs() {
  for (const role of ["server", "client", "authorization"]) {
    for (const [revision, lists] of Object.entries(expected[role]))
      yield [role, revision, { extensions: {}, ...lists }];
  }
}

/**
 * Returns one verdict per expected scenario. A scenario passes if it ran, its runner ended without an error, no check
 * is a FAILURE or WARNING, and enough are a SUCCESS. In a complete run, a scenario that is not in expected.json fails.
 */
export function judge(chosen, outcomes, { complete }) {
  const key = ({ role, revision, scenario }) => `${role} ${revision} ${scenario}`;
  const byKey = new Map(outcomes.map((outcome) => [key(outcome), outcome]));
  const verdicts = chosen.map((wanted) => verdict(wanted, byKey.get(key(wanted))));
  if (!complete) return verdicts;
  const known = new Set();
  for (const [role, revision, { run, extensions }] of legs()) {
    for (const scenario of Object.keys({ ...run, ...extensions })) known.add(key({ role, revision, scenario }));
  }
  const unknown = outcomes.filter((outcome) => !known.has(key(outcome)));
  return [...verdicts, ...unknown.map((outcome) => verdict(outcome, { ...outcome, error: "not in expected.json" }))];
}

function verdict({ role, revision, scenario, least }, outcome) {
  const checks = outcome?.checks ?? [];
  const successes = checks.filter(({ status }) => status === "SUCCESS").length;
  const problems = checks.filter(({ status }) => status === "FAILURE" || status === "WARNING").map(described);
  if (outcome === undefined) problems.push("did not run");
  else if (outcome.error !== undefined) problems.push(outcome.error);
  else if (successes < least) problems.push(`${successes} checks succeeded, expected at least ${least}`);
  return { role, revision, scenario, successes, problems };
}

function described({ id, status, errorMessage, description, details }) {
  const text = errorMessage ?? description ?? "";
  const more = details === undefined ? "" : ` ${JSON.stringify(details).slice(0, 400)}`;
  return `${status} ${id}: ${text}${more}`;
}
