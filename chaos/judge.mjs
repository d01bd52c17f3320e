import { check } from "./history/check.mjs";
import { countAll, countVerdicts } from "./history/counts.mjs";
import { quantile, recoveryTimes } from "./history/recovery.mjs";
import { indexRuns } from "./history/runs.mjs";
import { RECOVERY_MS } from "./limits.mjs";

/** Judges a history: counts, verdicts, recovery, violations, and the problems that make the run fail. */
export function judge(history) {
  const view = { ...history, runOf: indexRuns(history.truth) };
  const counts = countAll(view);
  const verdicts = countVerdicts(history.calls);
  const times = recoveryTimes(view);
  const [p50, p99, max] = [0.5, 0.99, 1].map((part) => quantile(times, part));
  const recovery = { count: times.length, p50, p99, max, limit: RECOVERY_MS };
  const rules = check(history);
  return {
    counts,
    verdicts,
    recovery,
    rules,
    problems: [...problemsOf({ ...history, counts, verdicts, recovery, rules })],
  };
}

function* problemsOf({ counts, floors, verdicts, recovery, rules, accidents }) {
  for (const [name, floor] of Object.entries(floors))
    if (counts[name] < floor) yield `floor not reached: ${name} ${counts[name]} of ${floor}`;
  for (const { rule, violations } of rules) if (violations.length > 0) yield `${rule}: ${violations.length} violations`;
  if (recovery.p99 > recovery.limit)
    yield `recovery of 99 of 100 takes ${recovery.p99} ms, more than ${recovery.limit}`;
  if (verdicts["timed out"] > 0) yield `${verdicts["timed out"]} calls time out, as if they hung`;
  yield* accidents;
}
