import { deepEqual, equal, ok } from "node:assert/strict";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, test } from "node:test";
import { RULES } from "#src/doctor/rules/index.js";
import { bowline, documentOf, emptyFolder } from "../../support/command.js";
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
  for (const [rule, fault] of Object.entries(FAULTS))
    test(rule, async (t) => {
      const { findings } = await examineServer(t, fault, rule);
      const found = [...new Set(findings.map((finding) => finding.rule))].sort();
      deepEqual(found, [rule, ...(fault.also ?? [])].sort(), JSON.stringify(findings, undefined, 1));
    });
});

/** Fault of a configuration, which is no server. */
const CONFIGURATION = "hosts/config";

test(CONFIGURATION, async (t) => {
  const home = emptyFolder(t);
  mkdirSync(join(home, ".cursor"));
  const servers = { files: { command: "no-such-program-of-this-machine" } };
  writeFileSync(join(home, ".cursor", "mcp.json"), JSON.stringify({ mcpServers: servers }));
  const ran = await bowline(t, ["doctor", "--hosts", "--json"], { home });
  const { findings } = documentOf(ran, "doctor").result as { readonly findings: readonly { readonly rule: string }[] };
  deepEqual(
    findings.map(({ rule }) => rule),
    [CONFIGURATION],
  );
});

test("each rule has a fault", () => {
  deepEqual([...Object.keys(FAULTS), CONFIGURATION].sort(), RULES.map(({ id }) => id).sort());
  equal(RULES.length, 45);
});

test("no tool is called unless a call is allowed", async (t) => {
  const called: unknown[] = [];
  const change: Fault["change"] = ({ server }) =>
    server.wrap("tools/call", (call, next) => {
      called.push(call.params.name);
      return next(call);
    });
  await examineServer(t, { wire: "http", change });
  equal(called.length, 0);
  await examineServer(t, { wire: "http", allows: "try", change });
  ok(called.includes("climb"));
});
