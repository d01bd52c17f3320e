const NONE = { begins: [], answers: [], ends: [], fails: [] };
const LISTS = { begin: "begins", answered: "answers", end: "ends", fail: "fails" };

/** Returns a function that finds what the handlers of a call have recorded. */
export function indexRuns(truth) {
  const runs = new Map();
  for (const entry of truth) {
    const list = LISTS[entry.kind];
    if (list === undefined) continue;
    const number = Number(entry.subject);
    if (!runs.has(number)) runs.set(number, { begins: [], answers: [], ends: [], fails: [] });
    runs.get(number)[list].push(entry);
  }
  return (call) => runs.get(call.number) ?? NONE;
}

/** True if a call was running on a node at a time, as far as its handler and its client know. */
export function wasRunning(call, run, node, at) {
  const begun = run.begins.some((begin) => (node === undefined || begin.node === node) && begin.at <= at);
  const isOver = [...run.ends, ...run.fails].some((end) => end.at <= at);
  const [settlement] = call.settlements;
  return begun && !isOver && (settlement === undefined || settlement.at > at);
}
