import { stallsOf } from "./history/troubles.mjs";

/**
 * Returns what the machine gave the processes of a run: the part of the time in which they could have run and did
 * (`share`), and the part of the load in which none of the processes that all need was stalled (`awake`). A stop is a
 * fault, and no stall.
 */
export function machineOf({ truth, stops = [], begunAt, endedAt }) {
  const last = new Map();
  for (const entry of truth) if (entry.kind === "ran") last.set(entry.node, entry);
  let [ran, waited] = [0, 0];
  for (const { subject, principal } of last.values()) {
    ran += Number(subject);
    waited += Number(principal);
  }
  const share = ran + waited === 0 ? 1 : ran / (ran + waited);
  const stalls = machineStalls(truth, stops);
  const ms = Math.max(1, endedAt - begunAt);
  const awake = 1 - Math.min(1, coveredBy(stalls, begunAt, endedAt) / ms);
  return { share, awake, given: Math.min(share, awake) };
}

/** Returns the stalls that the machine caused. A node that is stopped records one when it goes on. */
export function machineStalls(truth, stops) {
  return stallsOf(truth).filter((stall) => !stops.some((stop) => isOf(stall, stop)));
}

function isOf({ nodes, at, until }, stop) {
  const stopEnd = stop.until ?? Number.POSITIVE_INFINITY;
  return stop.nodes.includes(nodes[0]) && stop.at <= until && stopEnd >= at;
}

/** Returns the part of a time that spans cover. Spans may overlap; those that have not ended cover nothing. */
export function coveredBy(spans, from, to) {
  const inside = spans
    .map(({ at, until = at }) => ({ at: Math.max(at, from), until: Math.min(until, to) }))
    .filter(({ at, until }) => until > at)
    .sort((one, other) => one.at - other.at);
  let [covered, reached] = [0, from];
  for (const { at, until } of inside) {
    covered += Math.max(0, until - Math.max(at, reached));
    reached = Math.max(reached, until);
  }
  return covered;
}

const percent = (part) => `${Math.floor(part * 100)} %`;

/**
 * Compares the numbers of a run with its minimum numbers. What comes of other work is judged in proportion to the work
 * that was done: `per` names it. Less than the minimum is a doubt if the machine gave too little time for it, and a
 * problem if not: a run that is slow by itself is no victim of the machine.
 */
export function* shortfalls({ counts, floors, per = {}, machine }) {
  for (const [name, full] of Object.entries(floors)) {
    const work = per[name];
    const floor = work === undefined ? full : Math.floor(full * Math.min(1, counts[work] / floors[work]));
    if (counts[name] >= floor) continue;
    const text = `${name} ${counts[name]} of ${floor}`;
    if (machine.given < 1 && counts[name] >= floor * machine.given)
      yield { doubt: `too little to prove anything: ${text}; ${whyOf(machine)}` };
    else yield { problem: `floor not reached: ${text}` };
  }
}

/** Returns the reason why a run has done less, or took longer. */
export function whyOf({ share, awake }) {
  return share <= awake
    ? `the machine let its processes run for ${percent(share)} of the time that they needed`
    : `its processes were not stalled for ${percent(awake)} of the time`;
}

/** Exit codes of a run. */
const CODES = { passed: 0, failed: 1, inconclusive: 3 };

/** Returns the problems and the doubts of a run, and its outcome. */
export function sortOut(findings) {
  const all = [...findings];
  const problems = all.flatMap(({ problem }) => problem ?? []);
  const doubts = all.flatMap(({ doubt }) => doubt ?? []);
  return { outcome: outcomeOf({ problems, doubts }), problems, doubts };
}

/** Returns `passed`, `failed` or `inconclusive`. */
export function outcomeOf({ problems, doubts }) {
  if (problems.length > 0) return "failed";
  return doubts.length > 0 ? "inconclusive" : "passed";
}

/** Returns the exit code of several runs. A failure outweighs a run that proves nothing. */
export function exitCodeOf(outcomes) {
  if (outcomes.includes("failed")) return CODES.failed;
  return outcomes.includes("inconclusive") ? CODES.inconclusive : CODES.passed;
}

/** Returns the end of a report. */
export function* conclusion({ problems, doubts }) {
  const texts = {
    passed: "PASSED",
    failed: `FAILED: ${problems.length} problems`,
    inconclusive: `INCONCLUSIVE: no rule is broken, but the run proves too little`,
  };
  yield texts[outcomeOf({ problems, doubts })];
  for (const text of [...problems, ...doubts]) yield `  ${text}`;
}
