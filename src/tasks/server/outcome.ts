import type { AbortSwitch } from "../../call/abort-switch.js";
import { ClusterError } from "../../cluster/error.js";
import type { Outcome } from "../../era/server-era.js";
import { INTERNAL_ERROR } from "../../protocol/jsonrpc/errors.js";
import type { RpcErrorObject } from "../../protocol/jsonrpc/message.js";
import { oneLine } from "../../protocol/text.js";
import type { JsonObject } from "../../protocol/types/index.js";
import type { TaskExecution } from "./execution.js";
import type { HeldTask } from "./held-task.js";
import type { TasksLimits } from "./options.js";
import { ended, type TaskRecord } from "./record.js";
import { TaskHandedOver } from "./running-tasks.js";
import { MAX_MESSAGE_CHARS } from "./status-messages.js";

type Ended = Outcome & { readonly kind: "result" | "error" };

/** True if a run has ended with questions that wait for answers. */
export function isParked(outcome: Outcome, { questions }: Pick<TaskExecution, "questions">): boolean {
  return outcome.kind === "result" && questions.size > 0;
}

/**
 * Waits for the steps of a run that another run follows, so that their values are recorded before it begins. Resolves
 * with false if the run has lost its task meanwhile.
 */
export async function keepSteps(outcome: Outcome, execution: TaskExecution, end: AbortSwitch): Promise<boolean> {
  const isHandedOver = () => end.reason instanceof TaskHandedOver;
  if (!isParked(outcome, execution) && !(outcome.kind === "dropped" && isHandedOver())) return true;
  const lost = new Promise<void>((resolve) => {
    end.onAbort(() => {
      if (!isHandedOver()) resolve();
    });
  });
  await Promise.race([execution.settled(), lost]);
  return !end.aborted || isHandedOver();
}

/**
 * Stores the outcome of a run. If the engine refuses it, such as one that is too long for it, the task fails: another run
 * would have the same outcome.
 */
export async function conclude(
  task: Pick<HeldTask, "change" | "record">,
  outcome: Ended,
  execution: Pick<TaskExecution, "questions" | "authored">,
  { limits, report }: { readonly limits: TasksLimits; readonly report: (error: unknown) => void },
): Promise<"parked" | "ended"> {
  const conclusion = (record: TaskRecord) => concluded(record, outcome, execution, limits);
  try {
    await task.change(conclusion);
    return isParked(outcome, execution) ? "parked" : "ended";
  } catch (error) {
    if (!(error instanceof ClusterError) || error.failure !== "refused") throw error;
    report(error);
    const { length } = JSON.stringify(conclusion(task.record));
    const message = `The task has ${length} characters with its outcome, and the engine of the server refused to store it`;
    await task.change((record) => failedBy(record, "outcome_refused", message));
    return "ended";
  }
}

/** Returns the task after a run: with its outcome, or with the questions that wait for answers. */
function concluded(
  record: TaskRecord,
  outcome: Ended,
  execution: Pick<TaskExecution, "questions" | "authored">,
  limits: TasksLimits,
): TaskRecord {
  const { maxTaskChars, maxResultChars } = limits;
  if (isParked(outcome, execution)) {
    const waiting = parked(record, execution);
    const { length } = JSON.stringify(waiting);
    return length <= maxTaskChars ? waiting : tooLarge(record, "The task", length, "maxTaskChars", maxTaskChars);
  }
  if (outcome.kind === "error") return failed(record, outcome.error, maxResultChars);
  const { length } = outcome.result;
  if (length > maxResultChars) return tooLarge(record, "The result", length, "maxResultChars", maxResultChars);
  return ended(record, "completed", { result: JSON.parse(outcome.result) as JsonObject });
}

function parked(
  record: TaskRecord,
  { questions, authored }: Pick<TaskExecution, "questions" | "authored">,
): TaskRecord {
  const { asked, answers, ...journal } = record.journal;
  const askedAgain = { ...asked };
  const open = new Set<string>();
  for (const { key, request, authored: isAuthored } of questions.values()) {
    const before = Object.hasOwn(asked, key) ? asked[key] : undefined;
    const text = isAuthored === true ? before?.text : JSON.stringify(request);
    askedAgain[key] = { text, times: (before?.times ?? 0) + 1 };
    if (isAuthored !== true) open.add(key);
  }
  return {
    ...record,
    stage: "waiting",
    promoted: undefined,
    questions: Object.fromEntries(questions),
    journal: {
      ...journal,
      ...(authored !== undefined && { authored: { state: authored.state, answers: {} } }),
      asked: askedAgain,
      answers: Object.fromEntries(Object.entries(answers).filter(([key]) => !open.has(key))),
    },
  };
}

function failed(record: TaskRecord, { code, message, data }: RpcErrorObject, maxChars: number): TaskRecord {
  const error = { code, message, ...(data !== undefined && { data }) };
  const { length } = JSON.stringify(error);
  if (length > maxChars) return tooLarge(record, "The error", length, "maxResultChars", maxChars);
  return ended(record, "failed", { error, message: oneLine(message, MAX_MESSAGE_CHARS) });
}

function tooLarge(
  record: TaskRecord,
  noun: string,
  length: number,
  limit: keyof TasksLimits,
  most: number,
): TaskRecord {
  return failedBy(record, "task_too_large", `${noun} has ${length} characters, more than ${most} (limits.${limit})`);
}

function failedBy(record: TaskRecord, code: string, message: string): TaskRecord {
  return ended(record, "failed", { error: { code: INTERNAL_ERROR, message, data: { code } }, message });
}
