import { machineOf, shortfalls, sortOut } from "../floors.mjs";
import { noDefects } from "../history/errors.mjs";
import { countLeft } from "../history/left.mjs";
import { quantile } from "../history/recovery.mjs";
import { nothingLeft } from "./left.mjs";
import { LEASE_MS, PER_WORK } from "./limits.mjs";
import { entriesOf, indexRuns, wasRunning } from "./runs.mjs";

const ENDED = new Set(["completed", "failed", "cancelled"]);
/** Time after which no handler begins a step of a task whose outcome a client has seen. */
const GRACE_MS = 1_000;
/** Time within which an end was seen by a notification. Clients that watch poll every six seconds. */
const TOLD_MS = 1_000;

const outcomeOf = ({ seen }) => seen.find(({ status }) => ENDED.has(status));
/** Clients see the status of an outcome first, and then its detail. */
const lastOf = ({ seen }) => seen.findLast(({ status }) => ENDED.has(status));
/** Time without a renewal after which others take a task: a lease without the time between renewals. */
const LOSS_MS = LEASE_MS - 1_100;

/** Code of the error that tells that a process has died. */
const GONE = -32006;

const isRestartable = ({ tool }) => tool !== "fragile";

/** Rules of a history. Each yields a text for each violation. */
const RULES = {
  "each task has one outcome": oneOutcome,
  "an outcome never changes": neverChanges,
  "results have the values of steps and answers": resultsAreTrue,
  "a step that is done is not run again": doneOnce,
  "a step begins again only if its run was lost": beginsAgain,
  "a run is aborted only for a cause": abortsHaveCauses,
  "a tool that is not restartable runs once": fragileOnce,
  "a lost process is told as worker_lost": lossesAreTold,
  "restartable tasks outlive their processes": restartableEnd,
  "tasks are cancelled by clients only": cancelledByClients,
  "nothing begins after the outcome": nothingAfter,
  "requests for results end with the result, or pass": resultsPass,
  "each request for a result gets it at last": resultsCome,
  "nothing is left in the engine": nothingLeft,
  "no errors of defects": ({ nodeErrors, errors }) => noDefects({ nodeErrors, clientErrors: errors }),
};

/**
 * Compares what clients saw of their tasks with what handlers recorded: counts, violations by rule, the problems that make
 * the run fail, and the doubts for which it proves too little.
 */
export function judge(history) {
  const view = { ...history, runsOf: indexRuns(history.truth) };
  const rules = Object.entries(RULES).map(([rule, find]) => ({ rule, violations: [...find(view)] }));
  const counts = countAll(view);
  const times = takeoverTimes(view);
  const [p50, p99, max] = [0.5, 0.99, 1].map((part) => quantile(times, part));
  const recovery = { p50, p99, max };
  const machine = machineOf({ ...history, truth: history.machine });
  const findings = findingsOf({ ...history, counts, rules, machine });
  return { machine, left: countLeft(history.left ?? []), counts, recovery, rules, ...sortOut(findings) };
}

function* findingsOf({ floors, counts, rules, accidents, machine }) {
  yield* shortfalls({ counts, floors, per: PER_WORK, machine });
  for (const { rule, violations } of rules)
    if (violations.length > 0) yield { problem: `${rule}: ${violations.length} violations` };
  for (const accident of accidents) yield { problem: `a worker died by itself: ${accident}` };
}

/** Returns the times from the kill of a worker to the next run of each restartable task that ran there. */
function takeoverTimes({ tasks, kills, runsOf }) {
  return tasks.filter(isRestartable).flatMap(({ number }) => {
    const runs = runsOf(number);
    return runs.slice(0, -1).flatMap(({ node, ending }, index) => {
      const kill = ending === undefined ? kills.find((kill) => kill.node === node) : undefined;
      return kill === undefined ? [] : [runs[index + 1].at - kill.at];
    });
  });
}

function countAll({ tasks, waits, kills, runsOf, uncertain, stalls }) {
  const runs = tasks.map((task) => ({ task, runs: runsOf(task.number) }));
  const ended = (status) => tasks.filter((task) => outcomeOf(task)?.status === status).length;
  const isHit = ({ node, at }) => runs.some(({ runs }) => runs.some((run) => wasRunning(run, node, at)));
  return {
    tasks: tasks.length,
    completed: ended("completed"),
    failed: ended("failed"),
    cancelled: ended("cancelled"),
    kills: kills.filter(isHit).length,
    questions: runs.filter(({ runs }) => entriesOf(runs, "answered").length > 0).length,
    takeovers: takeoverTimes({ tasks, kills, runsOf }).length,
    lostFragile: tasks.filter((task) => !isRestartable(task) && lastOf(task)?.detail === "worker_lost").length,
    watched: tasks.filter(({ isWatched }) => isWatched).length,
    told: runs.filter(({ task, runs }) => isTold(task, runs)).length,
    waits: waits.length,
    resultsElsewhere: waits.filter(isFromElsewhere).length,
    toldGone: waits.filter(({ attempts }) => attempts.some(({ code }) => code === GONE)).length,
    stepsAgain: runs.reduce((sum, { runs }) => sum + againOf(runs).length, 0),
    uncertain: uncertain.length,
    stalls: stalls.length,
  };
}

function isTold(task, runs) {
  const end = entriesOf(runs, "end").at(-1);
  const outcome = outcomeOf(task);
  return task.isWatched && outcome?.status === "completed" && end !== undefined && outcome.at - end.at < TOLD_MS;
}

function* oneOutcome({ tasks }) {
  for (const task of tasks) {
    if (task.seen.some(({ status }) => status === "unknown")) yield `task ${task.number} is unknown to a worker`;
    else if (outcomeOf(task) === undefined) yield `task ${task.number} has no outcome, but ${task.seen.at(-1)?.status}`;
  }
}

/** `seen` has no equal neighbours: the outcome comes first without its detail, then with it, and nothing after. */
function* neverChanges({ tasks }) {
  for (const { number, seen } of tasks) {
    const after = seen.slice(seen.findIndex(({ status }) => ENDED.has(status)) + 1);
    const outcome = seen[seen.length - after.length - 1];
    if (outcome === undefined || !ENDED.has(outcome.status)) continue;
    const details = new Set([outcome, ...after].map(({ detail }) => detail).filter((detail) => detail !== undefined));
    const other = after.find(({ status }) => status !== outcome.status);
    if (other !== undefined) yield `task ${number} is ${other.status} after it was ${outcome.status}`;
    else if (details.size > 1) yield `task ${number} has the outcomes ${[...details].join(" and ")}`;
  }
}

function* resultsAreTrue({ tasks, runsOf }) {
  for (const { number, steps, asks, token, seen } of tasks) {
    const text = seen.find(({ status, detail }) => status === "completed" && detail !== undefined)?.detail;
    if (text === undefined) continue;
    const kept = new Map(entriesOf(runsOf(number), "kept").map(({ step, value }) => [step, value]));
    const values = Array.from({ length: steps }, (_, step) => kept.get(String(step)));
    if (asks) values.splice(1, 0, token);
    if (values.join(" ") !== text) yield `task ${number} has the result "${text}", not "${values.join(" ")}"`;
  }
}

function* doneOnce(view) {
  for (const number of numbersOf(view)) {
    const runs = view.runsOf(number);
    const begins = entriesOf(runs, "step");
    const made = new Set(entriesOf(runs, "done").map(({ step, value }) => `${step} ${value}`));
    const first = new Map();
    for (const { step, value, place } of entriesOf(runs, "kept")) {
      const known = first.get(step);
      first.set(step, known ?? { value, place });
      if (known !== undefined && known.value !== value) yield `step ${step} of task ${number} has two values`;
      if (!made.has(`${step} ${value}`)) yield `step ${step} of task ${number} has a value that it never returned`;
    }
    for (const { step, place } of begins)
      if (place > (first.get(step)?.place ?? Number.POSITIVE_INFINITY))
        yield `step ${step} of task ${number} is run again after it was done`;
  }
}

/** Returns the begins of steps that had begun before, each with its earlier begin. */
function againOf(runs) {
  const last = new Map();
  return entriesOf(runs, "step").flatMap((begin) => {
    const before = last.get(begin.step);
    last.set(begin.step, begin);
    return before === undefined ? [] : [{ before, begin }];
  });
}

/** True if the process of a run was killed, or did not run for about a lease, before a time. */
function isLost({ node, at: begunAt, endedAt = Number.POSITIVE_INFINITY }, { kills, stalls }, before) {
  const isStalled = ({ nodes, at, until }) =>
    nodes.includes(node) && until - at >= LOSS_MS && until >= begunAt && at <= Math.min(endedAt, before);
  return kills.some((kill) => kill.node === node && kill.at >= begunAt && kill.at <= before) || stalls.some(isStalled);
}

function* beginsAgain(view) {
  for (const number of numbersOf(view))
    for (const { before, begin } of againOf(view.runsOf(number))) {
      if (!isLost(before.run, view, begin.at))
        yield `step ${begin.step} of task ${number} begins on ${begin.node}, but its run on ${before.run.node} was not lost`;
    }
}

/** The signal of a run aborts if a client cancels its task, or if its process did not renew the lease. */
function* abortsHaveCauses(view) {
  const cancelled = new Set(view.tasks.filter(({ isCancelAsked }) => isCancelAsked).map(({ number }) => number));
  for (const number of numbersOf(view))
    for (const run of view.runsOf(number))
      if (run.ending === "abort" && !cancelled.has(number) && !isLost(run, view, run.endedAt))
        yield `the run of task ${number} on ${run.node} is aborted, but no client cancelled it, and it was not lost`;
}

/** Also counts the runs of tasks that no client knows, since the response of their call was lost. */
function* fragileOnce(view) {
  for (const number of numbersOf(view)) {
    const { length } = view.runsOf(number).filter(({ tool }) => tool === "fragile");
    if (length > 1) yield `task ${number} begins ${length} times`;
  }
}

/** The process of a run may end after the handler has, and before the outcome is stored. */
function* lossesAreTold(view) {
  for (const task of view.tasks.filter((task) => !isRestartable(task))) {
    const [run] = view.runsOf(task.number);
    const { status, detail, at } = lastOf(task) ?? {};
    const isLostRun = run === undefined ? view.kills.length > 0 : isLost(run, view, at);
    const isOpen = run !== undefined && run.ending === undefined;
    if (status === "failed" && detail !== "worker_lost") yield `task ${task.number} failed: ${detail}`;
    if (status === "failed" && !isLostRun)
      yield `task ${task.number} is told as lost, but ${run?.node ?? "its worker"} was not killed`;
    if (status === "completed" && isOpen) yield `task ${task.number} is completed, but its run on ${run.node} was lost`;
  }
}

const numbersOf = ({ truth }) => new Set(truth.map((entry) => entry.number));

function* restartableEnd({ tasks }) {
  for (const task of tasks.filter(isRestartable)) {
    const { status, detail } = lastOf(task) ?? {};
    if (status === "failed") yield `task ${task.number} failed: ${detail}`;
  }
}

function* cancelledByClients({ tasks }) {
  for (const task of tasks) {
    const outcome = outcomeOf(task);
    if (outcome?.status === "cancelled" && task.isCancelAsked !== true)
      yield `task ${task.number} is cancelled, and its client did not ask for it`;
  }
}

/** Codes and statuses after which another process may serve the same request: the process is gone, or refuses for now. */
const PASSING = new Set([-32006, -32005, 503]);

/**
 * A request that waits for a result ends with it, with an error that passes, or without a response if its process was killed
 * or did not run.
 */
function* resultsPass({ waits, ...view }) {
  for (const { number, attempts } of waits)
    for (const { how, node, at, until, code, status, message, isResumed } of attempts) {
      // A process that is being killed still has its name.
      const isKilled = view.kills.some((kill) => kill.node === node && kill.at <= until);
      const isLostRun = isKilled || isLost({ node, at, endedAt: until }, view, until);
      if (how === "error" && !PASSING.has(code ?? status))
        yield `the request for the result of task ${number} on ${node} ends with ${code ?? status}: ${message}`;
      if (how === "error" && code === GONE && !isLostRun)
        yield `the request for the result of task ${number} is told that ${node} is gone, but nobody killed it`;
      if (how === "broken" && (isResumed || !isLostRun))
        yield `the request for the result of task ${number} on ${node} ends without a response`;
      if (how === "hangs") yield `the request for the result of task ${number} on ${node} hangs`;
    }
}

/** The result that comes at last is that of the task. */
function* resultsCome({ waits, runsOf }) {
  for (const { number, steps, text } of waits) {
    const kept = new Map(entriesOf(runsOf(number), "kept").map(({ step, value }) => [step, value]));
    const values = Array.from({ length: steps }, (_, step) => kept.get(String(step))).join(" ");
    if (text === undefined) yield `no process gives the result of task ${number}`;
    else if (text !== values) yield `the request for the result of task ${number} gets "${text}", not "${values}"`;
  }
}

/** A result that another process gave after the one that served the request was lost. */
function isFromElsewhere({ text, attempts }) {
  const last = attempts.at(-1);
  const isLoss = ({ how, code }) => how === "broken" || code === GONE;
  return text !== undefined && attempts.some((attempt) => isLoss(attempt) && attempt.node !== last.node);
}

function* nothingAfter({ tasks, runsOf }) {
  for (const task of tasks) {
    const outcome = outcomeOf(task);
    const late = entriesOf(runsOf(task.number), "step").find(({ at }) => at > (outcome?.at ?? at) + GRACE_MS);
    if (late !== undefined)
      yield `step ${late.step} of task ${task.number} begins ${late.at - outcome.at} ms after the outcome`;
  }
}
