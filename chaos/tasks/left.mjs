import { nothingLeft as nothingElse } from "../history/left.mjs";

/** Indexes of tasks that have not ended, or that wait for an answer. */
const OPEN = /^tasks:(live|waiting)/;
const taskOf = (key) => /^(?:lease\/|job\/)?task:([^:]+)/.exec(key)?.[1];

/**
 * When all tasks that clients know have ended, the engine has their outcomes and no work. A call with an unknown outcome may
 * have begun a task that runs, or waits for an answer that nobody gives. All else is as after other runs.
 */
export function* nothingLeft(view) {
  const { left, tasks, waits, uncertain, kills } = view;
  if (left === undefined) return;
  const known = new Set([...tasks, ...waits].map(({ id }) => id));
  const isOfTask = ({ kind, name, of }) => taskOf(kind === "index entry" ? of : name) !== undefined;
  const records = new Map(left.filter(({ kind }) => kind === "record").map((item) => [item.name, item]));
  const strays = new Set();
  for (const { kind, name, of, leftMs } of left.filter(isOfTask)) {
    const id = taskOf(kind === "index entry" ? of : name);
    const isOutcome = name === `task:${id}` || (kind === "index entry" && of === `task:${id}` && !OPEN.test(name));
    if (kind === "index entry" && !records.has(of)) yield `an index entry is left: ${of} in ${name}`;
    else if (name === `task:${id}` && leftMs === undefined) yield `a task is left for ever: ${id}`;
    else if (!isOutcome && known.has(id)) yield `work of a task that has ended is left: ${name} ${of ?? ""}`;
    else if (!isOutcome) strays.add(id);
  }
  if (strays.size > uncertain.length)
    yield `${strays.size} tasks that no client knows have not ended, but ${uncertain.length} calls have an unknown outcome`;
  const faults = kills.map(({ node, at }) => ({ kind: "kill", nodes: [node], at, until: at }));
  yield* nothingElse({ ...view, faults, truth: [], left: left.filter((item) => !isOfTask(item)) });
}
