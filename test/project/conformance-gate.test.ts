import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { loadScript } from "./load-script.js";

interface Scenario {
  readonly role: string;
  readonly revision: string;
  readonly scenario: string;
}

interface Expected extends Scenario {
  readonly least: number;
  readonly extension?: boolean;
}

interface Outcome extends Scenario {
  readonly checks: readonly { readonly id: string; readonly status: string }[];
  readonly error?: string;
}

const { judge, readExpected } = await loadScript<{
  judge(
    chosen: readonly Expected[],
    outcomes: readonly Outcome[],
    options: { complete: boolean },
  ): readonly (Scenario & {
    readonly problems: readonly string[];
  })[];
  readExpected(): readonly Expected[];
}>("conformance/gate.mjs");

const ping = { role: "server", revision: "2025-11-25", scenario: "ping" };

function problemsOf(outcome: Partial<Outcome> | undefined): readonly string[] | undefined {
  const outcomes = outcome === undefined ? [] : [{ ...ping, checks: [], ...outcome }];
  return judge([{ ...ping, least: 2 }], outcomes, { complete: false })[0]?.problems;
}

const success = { id: "a", status: "SUCCESS" };

test("a scenario passes with enough successes and without failure or warning", () => {
  deepEqual(problemsOf({ checks: [success, success, { id: "b", status: "SKIPPED" }] }), []);
  deepEqual(problemsOf({ checks: [success, success, { id: "b", status: "FAILURE" }] }), ["FAILURE b: "]);
  deepEqual(problemsOf({ checks: [success, success, { id: "b", status: "WARNING" }] }), ["WARNING b: "]);
});

test("a scenario fails when too little succeeded, it did not run or its runner failed", () => {
  const skipped = { id: "b", status: "SKIPPED" };
  deepEqual(problemsOf({ checks: [success, skipped] }), ["1 checks succeeded, expected at least 2"]);
  deepEqual(problemsOf(undefined), ["did not run"]);
  deepEqual(problemsOf({ checks: [success, success], error: "the runner ended with 1" }), ["the runner ended with 1"]);
});

test("every scenario that is expected has to succeed in something, except one that the suite always skips", () => {
  deepEqual(
    readExpected()
      .filter(({ least }) => !(least > 0))
      .map(({ scenario }) => scenario),
    ["tasks-status-notifications"],
  );
});

test("a complete run refuses a scenario that is not listed", () => {
  const odd = { ...ping, scenario: "new", checks: [success] };
  const verdicts = judge([], [odd], { complete: true });
  deepEqual(
    verdicts.map(({ scenario, problems }) => [scenario, problems]),
    [["new", ["not in expected.json"]]],
  );
});

test("the scenarios of tasks are expected with all of their checks", () => {
  const found = readExpected().filter(({ scenario }) => scenario.startsWith("tasks-"));
  deepEqual([found.length, found.reduce((sum, { least }) => sum + least, 0)], [10, 44]);
});

test("scenarios of extensions are expected, and marked since the suite runs them by name alone", () => {
  const isSkills = ({ scenario }: Scenario) => scenario.startsWith("sep-2640-skills-");
  const found = readExpected().filter(isSkills);
  deepEqual(
    found.map(({ extension, revision, least }) => [extension, revision, least]),
    [7, 30, 6]
      .map((least) => [true, "2025-11-25", least])
      .concat([7, 32, 6].map((least) => [true, "2026-07-28", least])),
  );
  const outcomes = found.map((wanted) => ({ ...wanted, checks: Array.from({ length: wanted.least }, () => success) }));
  deepEqual(
    judge(found, outcomes, { complete: true }).flatMap(({ problems }) => problems),
    [],
  );
});
