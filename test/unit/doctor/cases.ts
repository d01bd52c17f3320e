import { deepEqual, match, ok } from "node:assert/strict";
import { test } from "node:test";
import { examine } from "#src/doctor/examine.js";
import type { Facts } from "#src/doctor/facts.js";
import type { Level } from "#src/doctor/rule.js";
import { RULES } from "#src/doctor/rules/index.js";
import { facts } from "./facts.js";

/** A finding that facts must lead to: its level, its text, and its lines if they matter. */
type Expected = readonly [level: Level, text: RegExp, lines?: readonly number[]];

export interface Cases {
  /** Facts with what the rule finds. */
  readonly found: readonly (readonly [name: string, facts: Facts, ...expected: Expected[]])[];
  /** Facts that look alike, in which it finds nothing. */
  readonly fine?: readonly (readonly [name: string, facts: Facts])[];
  readonly notApplicable: Facts;
}

export const quote = { quote: (line: number) => `line ${line}`, redact: (text: string) => text };

/** Tests each rule of a table on its facts. */
export function testCases(table: Readonly<Record<string, Cases>>): void {
  for (const [id, { found, fine = [], notApplicable }] of Object.entries(table)) {
    const rules = RULES.filter((rule) => rule.id === id);
    for (const [name, given, ...expected] of found)
      test(`${id} finds: ${name}`, () => {
        const { findings } = examine(given, rules, quote);
        deepEqual(
          findings.map(({ rule, level }) => [rule, level]),
          expected.map(([level]) => [id, level]),
          JSON.stringify(findings),
        );
        for (const [index, [, text, lines]] of expected.entries()) {
          match(findings[index]!.text, text);
          ok(findings[index]!.remedy.length > 0);
          if (lines === undefined) continue;
          deepEqual(
            findings[index]!.evidence,
            lines.map((line) => ({ line, text: `line ${line}` })),
          );
        }
      });
    for (const [name, given] of [["a healthy server", facts()] as const, ...fine])
      test(`${id} passes: ${name}`, () => {
        const report = examine(given, rules, quote);
        deepEqual([report.findings, report.passed], [[], [id]]);
      });
    test(`${id} is not applicable without its facts`, () => {
      const report = examine(notApplicable, rules, quote);
      deepEqual([report.findings, report.notApplicable], [[], [id]]);
    });
  }
}
