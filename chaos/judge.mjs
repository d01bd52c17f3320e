import { check } from "./history/check.mjs";
import { countAll, countVerdicts } from "./history/counts.mjs";
import { errorKinds } from "./history/errors.mjs";
import { quantile, recoveryTimes } from "./history/recovery.mjs";
import { indexRuns } from "./history/runs.mjs";
import { RECOVERY_MS } from "./limits.mjs";

/** Judges a history: counts, verdicts, recovery, errors, violations, and the problems that make the run fail. */
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
  const problems = [...problemsOf({ ...history, counts, verdicts, recovery, rules })];
  return { counts, verdicts, recovery, errors, rules, problems };
}

function* problemsOf({ counts, floors, verdicts, recovery, rules, accidents }) {
  for (const [name, floor] of Object.entries(floors))
    if (counts[name] < floor) yield `floor not reached: ${name} ${counts[name]} of ${floor}`;
  for (const { rule, violations } of rules) if (violations.length > 0) yield `${rule}: ${violations.length} violations`;
  for (const { group, p99 } of recovery)
    if (p99 > RECOVERY_MS) yield `recovery of 99 of 100 (${group}) takes ${p99} ms, more than ${RECOVERY_MS}`;
  if (verdicts["timed out"] > 0) yield `${verdicts["timed out"]} calls time out, as if they hung`;
  yield* accidents;
}
