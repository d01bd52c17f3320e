import { History } from "../history.js";
import type { SimNode } from "../node.js";
import { type Plan, TOOLS } from "./plan.js";

/** Members of a task that clients see. */
export interface SeenTask {
  readonly taskId: string;
  readonly status: "working" | "input_required" | "completed" | "failed" | "cancelled";
  readonly lastUpdatedAt: string;
  readonly result?: { readonly content: readonly { readonly text?: string }[] };
  readonly error?: { readonly code: number; readonly message: string; readonly data?: { readonly code?: string } };
  readonly inputRequests?: { readonly [wireKey: string]: unknown };
}

/** Run of a handler, recorded outside of the server. */
export interface HandlerRun {
  readonly node: SimNode;
  readonly signal: AbortSignal;
  end: "suspended" | "ended" | "failed" | undefined;
}

/** Task, with everything that its client and its handler saw. */
export interface TaskTruth {
  readonly number: number;
  readonly principal: string;
  readonly plan: Plan;
  readonly runs: HandlerRun[];
  /** Number of times that the work of each step has begun. */
  readonly begun: Map<string, number>;
  /** Values of the steps that are done. */
  readonly done: Map<string, string>;
  /** Keys of the questions whose answers the client knows to be taken. */
  readonly taken: Set<string>;
  key: string | undefined;
  id: string | undefined;
  /** Time at which the client has asked for the cancellation, and at which the server has confirmed it. */
  cancelAskedAt: number | undefined;
  cancelledAt: number | undefined;
  /** Last state that the client has read. */
  last: SeenTask | undefined;
  /** State in which the task has ended, and the time at which the client learned it. */
  outcome: string | undefined;
  endedAt: number | undefined;
  /** Time of day of that state. */
  changedAt: number;
  /** How the client has ended: with an ordinary result, a question or a task, or without knowing. */
  settled: "direct" | "task" | "asked" | "unknown" | undefined;
}

/** True if a task never changes again. */
export const hasEnded = ({ status }: SeenTask) => status !== "working" && status !== "input_required";
const timeOf = ({ lastUpdatedAt }: SeenTask) => Date.parse(lastUpdatedAt);

/** What happened to the tasks of a run. */
export class TaskHistory extends History {
  readonly tasks: TaskTruth[] = [];
  /** All nodes of the run, also those that were replaced. */
  readonly nodes: SimNode[] = [];
  /** True if nothing disturbs the run. */
  isCalm = false;

  task(principal: string, plan: Plan): TaskTruth {
    const task: TaskTruth = {
      number: this.tasks.length,
      principal,
      plan,
      runs: [],
      begun: new Map(),
      done: new Map(),
      taken: new Set(),
      key: undefined,
      id: undefined,
      cancelAskedAt: undefined,
      cancelledAt: undefined,
      last: undefined,
      outcome: undefined,
      endedAt: undefined,
      changedAt: 0,
      settled: undefined,
    };
    this.tasks.push(task);
    return task;
  }

  /** Records that a handler begins. */
  begin(task: TaskTruth, node: SimNode, key: string, signal: AbortSignal): HandlerRun {
    this.note(`${node.name} begins task ${task.number}`);
    this.count("task runs");
    task.key ??= key;
    if (task.key !== key) this.violate("same key", `task ${task.number} has another idempotency key in a later run`);
    const run: HandlerRun = { node, signal, end: undefined };
    task.runs.push(run);
    const mode = { restartable: false, attempts: 3, ...TOOLS[task.plan.tool] };
    const usual = task.runs.filter(({ end, signal }) => end === "suspended" || isHandedOver(signal)).length;
    const most = usual + (mode.restartable ? mode.attempts : 1);
    if (task.runs.length > most)
      this.violate("attempts", `task ${task.number} (${task.plan.tool}) begins for the ${task.runs.length}. time`);
    return run;
  }

  /** Records that the work of a step begins, and returns its value. */
  beginStep(task: TaskTruth, name: string): string {
    const { begun, done, plan, number } = task;
    const times = (begun.get(name) ?? 0) + 1;
    begun.set(name, times);
    this.count("task steps");
    if (done.has(name)) this.violate("done steps", `${name} of task ${number} is done and runs again`);
    if (times > 1 && !("restartable" in TOOLS[plan.tool]))
      this.violate("runs once", `${name} of task ${number} (${plan.tool}) runs ${times} times`);
    return `${name}#${times}`;
  }

  /** Records the value that a handler gets for a step. */
  endStep({ done, number }: TaskTruth, name: string, value: string): void {
    const before = done.get(name);
    if (before !== undefined && before !== value)
      this.violate("done steps", `${name} of task ${number} has the values ${before} and ${value}`);
    done.set(name, value);
  }

  /** Records a state that a client has asked for at a time. */
  read(task: TaskTruth, seen: SeenTask, before: Readonly<Pick<TaskTruth, "last" | "cancelledAt">> & Taken): void {
    const { number } = task;
    if (before.last !== undefined && timeOf(seen) < timeOf(before.last))
      this.violate("no older state", `task ${number} is read as it was before ${JSON.stringify(before.last)}`);
    if (before.cancelledAt !== undefined && !hasEnded(seen))
      this.violate("cancels", `task ${number} is ${seen.status} after its cancellation`);
    for (const wireKey of Object.keys(seen.inputRequests ?? {}))
      if (before.taken.has(wireKey)) this.violate("answers", `task ${number} asks ${wireKey} after it was answered`);
    this.#see(task, seen);
    if (task.last === undefined || timeOf(seen) > timeOf(task.last)) task.last = seen;
  }

  /** Records a state that a client was told. `before` is the one that the same subscription told before. */
  tell(task: TaskTruth, seen: SeenTask, before: SeenTask | undefined): void {
    this.count("task notifications");
    if (before !== undefined && timeOf(seen) <= timeOf(before))
      this.violate("no older state", `the client of task ${task.number} is told an older state`);
    this.#see(task, seen);
  }

  #see(task: TaskTruth, seen: SeenTask): void {
    for (const wireKey of Object.keys(seen.inputRequests ?? {}))
      if (/\.\d+$/.test(wireKey)) this.violate("answers", `task ${task.number} asks again: ${wireKey}`);
    if (!hasEnded(seen)) return;
    const outcome = JSON.stringify([seen.status, seen.lastUpdatedAt, seen.result, seen.error]);
    if (task.outcome !== undefined && outcome !== task.outcome)
      this.violate("one outcome", `task ${task.number} has the outcomes ${task.outcome} and ${outcome}`);
    if (task.outcome !== undefined) return;
    task.outcome = outcome;
    task.endedAt = this.now();
    task.changedAt = timeOf(seen);
    this.count(`tasks ${seen.status}`);
    this.note(`task ${task.number} has ended: ${outcome}`);
    this.#checkOutcome(task, seen);
  }

  #checkOutcome(task: TaskTruth, { status, result, error }: SeenTask): void {
    const { number } = task;
    if (status === "cancelled" && task.cancelAskedAt === undefined)
      this.violate("own outcome", `task ${number} is cancelled, and nobody has asked for it`);
    const isLost = error?.data?.code === "worker_lost" && !this.isCalm;
    if (status === "failed" && !isLost) this.violate("own outcome", `task ${number} fails: ${JSON.stringify(error)}`);
    if (status !== "completed") return;
    const text = result?.content[0]?.text;
    if (text !== textOf(task))
      this.violate("own outcome", `task ${number} has the result ${text}, not ${textOf(task)}`);
  }
}

type Taken = { readonly taken: ReadonlySet<string> };

/** Answer to a question of a task. */
export function answerOf({ number }: Pick<TaskTruth, "number">, key: string): string {
  return `answer ${key} of ${number}`;
}

/** Result of a task whose steps are done. */
function textOf(task: TaskTruth): string {
  const partOf = (kind: string, name: string) => (kind === "ask" ? answerOf(task, name) : task.done.get(name));
  const parts = task.plan.parts.filter(({ kind }) => kind !== "wait");
  return parts.flatMap(({ kind, names }) => names.map((name) => partOf(kind, name))).join(" ");
}

function isHandedOver({ reason }: AbortSignal): boolean {
  return (reason as { readonly code?: string } | undefined)?.code === "task_handed_over";
}
