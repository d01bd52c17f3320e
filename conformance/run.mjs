import { rmSync } from "node:fs";
import { wantsJson } from "../scripts/lib/project.mjs";
import { judge, readExpected } from "./gate.mjs";
import { approve } from "./person.mjs";
import { reports, runClientScenario, runIssuerLeg, runServerLeg, runServerScenarios } from "./suite.mjs";

/**
 * Runs the official conformance suite on the fixtures and applies stricter rules than the suite: `node
 * conformance/run.mjs [filter ...] [--json]`. A filter is a part of `<role> <revision> <scenario>`.
 */
const filters = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const json = wantsJson();

const planned = readExpected();
const chosen = planned.filter(({ role, revision, scenario }) => {
  const name = `${role} ${revision} ${scenario}`;
  return filters.length === 0 || filters.some((filter) => name.includes(filter));
});

/** Failures outside of any scenario. */
const broken = [];
rmSync(reports, { recursive: true, force: true });
const outcomes = [
  ...(await runServers()),
  ...(await runExtensions()),
  ...(await runIssuers()),
  ...(await runClients()),
];
const verdicts = judge(chosen, outcomes, { complete: filters.length === 0 });
report();

function runServers() {
  return runLegs("server", ({ role, extension }) => role === "server" && !extension, runServerLeg);
}

function runExtensions() {
  return runLegs("server extensions", ({ role, extension }) => role === "server" && extension, runServerScenarios);
}

function runIssuers() {
  const isOfIssuer = ({ role }) => role === "authorization";
  return runLegs("authorization", isOfIssuer, (revision) => runIssuerLeg(revision, approve));
}

/**
 * Runs the chosen scenarios of each revision. A leg that runs as a whole takes seconds, and the suite reports each
 * scenario.
 */
async function runLegs(wanted, isWanted, runLeg) {
  const found = [];
  for (const [revision, scenarios] of byRevision(chosen.filter(isWanted))) {
    progress(`${wanted} ${revision}`);
    try {
      found.push(...(await runLeg(revision, scenarios)));
    } catch (error) {
      broken.push(`${wanted} ${revision}: ${error.message}`);
    }
  }
  return found;
}

/** Returns the names of the scenarios of each revision. */
function byRevision(list) {
  const found = new Map();
  for (const { revision, scenario } of list) found.set(revision, [...(found.get(revision) ?? []), scenario]);
  return found;
}

/** Runs each client scenario alone. Only then does the suite check the client's exit code and timeouts. */
async function runClients() {
  const queue = chosen.filter(({ role }) => role === "client");
  const found = [];
  const work = async () => {
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      progress(`client ${next.revision} ${next.scenario}`);
      found.push(await runClientScenario(next.revision, next.scenario));
    }
  };
  await Promise.all([work(), work()]);
  return found;
}

function progress(text) {
  if (process.stderr.isTTY) process.stderr.write(`${text}\n`);
}

function report() {
  const failed = verdicts.filter(({ problems }) => problems.length > 0);
  const totals = {
    scenarios: verdicts.length,
    passed: verdicts.length - failed.length,
    failed: failed.length,
    checks: verdicts.reduce((sum, { successes }) => sum + successes, 0),
  };
  const ok = failed.length === 0 && broken.length === 0 && verdicts.length > 0;
  process.exitCode = ok ? 0 : 1;
  if (json) return console.log(JSON.stringify({ ok, totals, broken, scenarios: verdicts }, null, 2));
  for (const { role, revision, scenario, successes, problems } of verdicts) {
    const mark = problems.length === 0 ? "ok  " : "FAIL";
    console.log(`${mark} ${role} ${revision} ${scenario.padEnd(48)} ${String(successes).padStart(3)}`);
    for (const problem of problems) console.log(`       ${problem}`);
  }
  for (const problem of broken) console.log(`FAIL ${problem}`);
  console.log(`\n${totals.passed} scenarios passed, ${totals.failed} failed, ${totals.checks} checks succeeded`);
}
