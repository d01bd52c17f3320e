import { coveredBy, machineOf, machineStalls, shortfalls, sortOut, whyOf } from "./floors.mjs";
import { check } from "./history/check.mjs";
import { countAll, countVerdicts, verdictOf } from "./history/counts.mjs";
import { errorKinds } from "./history/errors.mjs";
import { countLeft } from "./history/left.mjs";
import { quantile, recoveryTimes } from "./history/recovery.mjs";
import { indexRuns } from "./history/runs.mjs";
import { LEASE_MS, PER_WORK, RECOVERY_MS } from "./limits.mjs";

/**
 * Judges a history: counts, verdicts, recovery, errors, violations, the problems that make the run fail, and the doubts for
 * which it proves too little.
 */
export function judge(history) {
  const view = { ...history, runOf: indexRuns(history.truth) };
  const times = Object.entries(recoveryTimes(view));
  const recovery = times.map(([group, values]) => {
    const [p50, p99, max] = [0.5, 0.99, 1].map((part) => quantile(values, part));
    return { group, count: values.length, p50, p99, max };
  });
  const counts = { ...countAll(view), recoveries: recovery.reduce((sum, { count }) => sum + count, 0) };
  const verdicts = countVerdicts(history.calls);
  const errors = { nodes: errorKinds(history.nodeErrors), clients: errorKinds(history.clientErrors) };
  const rules = check(history);
  const left = countLeft(history.left ?? []);
  const stops = history.faults.filter(({ kind }) => kind === "stop");
  const machine = machineOf({ ...history, stops });
  const findings = findingsOf({ ...history, stops, counts, recovery, rules, machine });
  return { machine, counts, verdicts, recovery, left, errors, rules, ...sortOut(findings) };
}

function* findingsOf({ calls, truth, stops, counts, floors, recovery, rules, accidents, machine }) {
  yield* shortfalls({ counts, floors, per: PER_WORK, machine });
  for (const { rule, violations } of rules)
    if (violations.length > 0) yield { problem: `${rule}: ${violations.length} violations` };
  for (const { group, p99 } of recovery) yield* slowness(group, p99, machine);
  yield* hangs(calls, machineStalls(truth, stops), machine);
  for (const problem of accidents) yield { problem };
}

/** A call that times out hangs, unless the machine was stalled for half of its time: then nobody knows. */
function* hangs(calls, stalls, machine) {
  const timedOut = calls.filter((call) => call.settlements.some((end) => verdictOf(end) === "timed out"));
  const isHung = ({ beganAt, settlements: [{ at }] }) => coveredBy(stalls, beganAt, at) < (at - beganAt) / 2;
  const hung = timedOut.filter(isHung).length;
  const stalled = timedOut.length - hung;
  if (hung > 0) yield { problem: `${hung} calls time out, as if they hung` };
  if (stalled > 0)
    yield { doubt: `${stalled} calls time out while the machine is stalled; ${whyOf({ ...machine, share: 1 })}` };
}

/**
 * A recovery lasts for a lease at most, and then for some work. On a machine that gives a part of the time, this work takes
 * longer, and the run does not prove that the recovery is fast enough.
 */
function* slowness(group, p99, machine) {
  if (p99 <= RECOVERY_MS) return;
  const text = `recovery of 99 of 100 (${group}) takes ${p99} ms, more than ${RECOVERY_MS}`;
  const most = LEASE_MS + (RECOVERY_MS - LEASE_MS) / machine.share;
  if (p99 <= most) yield { doubt: `${text}; ${whyOf({ ...machine, awake: 1 })}` };
  else yield { problem: text };
}
