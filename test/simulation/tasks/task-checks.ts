import type { TaskRecord } from "#src/tasks/server/record.js";
import type { SimEngine } from "../engine/engine.js";
import type { TaskClient } from "./task-client.js";
import { hasEnded, type TaskHistory, type TaskTruth } from "./task-history.js";
import type { TaskNode } from "./task-node.js";

/** Time in which a change reaches a client or a worker of a deployment without faults. */
const ARRIVAL_MS = 5_000;

/** True if a task waits for an answer that its client does not give. */
function isLeft({ task }: TaskClient): boolean {
  return task.settled !== undefined && task.outcome === undefined && !task.plan.answers;
}

export function isSettled({ task }: TaskClient): boolean {
  return task.settled !== undefined && (task.settled !== "task" || task.outcome !== undefined || !task.plan.answers);
}

/** Checks what must hold some time after the last fault. */
export function checkSettled(history: TaskHistory, engine: SimEngine, clients: readonly TaskClient[]): void {
  for (const client of clients) {
    const { task } = client;
    if (!isSettled(client)) history.violate("none lost", `task ${task.number} (${task.plan.tool}) never ends`);
    if (isLeft(client)) history.count("tasks left without an answer");
    if (task.endedAt === undefined || task.endedAt > history.now() - ARRIVAL_MS) continue;
    if (runsOf(task) > 0) history.violate("cancels", `task ${task.number} has ended, and its handler is not aborted`);
    for (const { since, last } of client.subscriptions)
      if (since < task.changedAt && (last === undefined || !hasEnded(last)))
        history.violate("notifications", `the client of task ${task.number} is not told of its end`);
  }
  const known = new Set(clients.map(({ task }) => task.id));
  for (const record of tasksOf(engine)) {
    const { id, stage } = record;
    if (stage !== "queued" && stage !== "running") continue;
    // A client may not learn of a task, whose long step then goes on.
    if (!known.has(id) && (isUnbegun(record) || history.tasks.some((task) => isOf(record, task) && runsOf(task) > 0)))
      history.count("tasks that no client knows");
    else history.violate("none lost", `task ${id} is ${stage}`);
  }
}

/** True if a process was lost, or could not reach the engine, after it has stored a task and before it has added the job. */
function isUnbegun({ stage, fence, promoted }: TaskRecord): boolean {
  return (stage === "queued" && fence === 0) || promoted === true;
}

const isOf = ({ arguments: given }: TaskRecord, { number }: TaskTruth) => given?.task === number;

/** Number of runs of a task that go on. */
function runsOf({ runs }: TaskTruth): number {
  return runs.filter(({ end, signal, node }) => end === undefined && !signal.aborted && isAlive(node)).length;
}

const isAlive = ({ process }: { readonly process: { readonly hasCrashed: boolean } }) => !process.hasCrashed;

function tasksOf({ records }: SimEngine): readonly TaskRecord[] {
  return records.filter(({ key }) => key.startsWith("task:")).map(({ value }) => JSON.parse(value) as TaskRecord);
}

/** Describes what is left of the tasks after the end of their lives. */
export function findLeftovers({ nodes }: TaskHistory, { records }: SimEngine): readonly string[] {
  const found: string[] = [];
  for (const node of nodes as TaskNode[]) {
    if (node.extension.running > 0 && isAlive(node)) found.push(`${node.name} runs ${node.extension.running} tasks`);
  }
  if (records.length > 0) found.push(`the engine keeps the records ${records.map(({ key }) => key).join(", ")}`);
  return found;
}
