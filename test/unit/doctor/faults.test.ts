import { deepEqual } from "node:assert/strict";
import { describe, test } from "node:test";
import { RULES } from "#src/doctor/rules/index.js";
import { examineServer } from "../../support/faulty/examination.js";
import { FAULTS, type Fault, withProtection } from "../../support/faulty/faults.js";

const HEALTHY: Readonly<Record<string, Fault>> = {
  "by HTTP": { wire: "http", change: () => {} },
  "by stdio": { wire: "stdio", change: () => {} },
  "by HTTP, with a call": { wire: "http", allows: "try", change: () => {} },
  "by stdio, with a call": { wire: "stdio", allows: "try", change: () => {} },
  "by HTTP in a process, with a call": { wire: "service", allows: "try", change: () => {} },
  "by HTTP, observed for two minutes": { wire: "http", allows: "slow", change: () => {} },
  "that asks for a token": withProtection(() => {}),
  "that gets a token": { ...withProtection(() => {}), claims: {} },
};

describe("nothing is found in a healthy server", () => {
  for (const [name, fault] of Object.entries(HEALTHY))
    test(name, async (t) => {
      const { findings } = await examineServer(t, fault);
      deepEqual(
        findings.map(({ rule, text }) => `${rule}: ${text}`),
        [],
      );
    });
});

describe("a fault is found by its rule, and by those that it necessarily breaks", () => {
  for (const [rule, fault] of Object.entries(FAULTS).filter(([rule]) => RULES.some(({ id }) => id === rule)))
    test(rule, async (t) => {
      const { findings } = await examineServer(t, fault, rule);
      const found = [...new Set(findings.map((finding) => finding.rule))].sort();
      deepEqual(found, [rule, ...(fault.also ?? [])].sort(), JSON.stringify(findings, undefined, 1));
    });
});
