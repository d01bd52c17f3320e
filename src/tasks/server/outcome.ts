import type { Outcome } from "../../era/server-era.js";
import { INTERNAL_ERROR } from "../../protocol/jsonrpc/errors.js";
import type { JsonObject } from "../../protocol/types/index.js";
import { ended, type OpenQuestion, type TaskRecord } from "./record.js";

/** Returns the task with questions that wait for answers. */
export function parked(record: TaskRecord, questions: ReadonlyMap<string, OpenQuestion>): TaskRecord {
  const { asked, answers, ...journal } = record.journal;
  const keys = new Set([...questions.values()].map(({ key }) => key));
  const again = [...questions.values()].map(({ key, request }) => {
    const times = (Object.hasOwn(asked, key) ? (asked[key]?.times ?? 0) : 0) + 1;
    return [key, { text: JSON.stringify(request), times }] as const;
  });
  return {
    ...record,
    stage: "waiting",
    promoted: undefined,
    questions: Object.fromEntries(questions),
    journal: {
      ...journal,
      asked: { ...asked, ...Object.fromEntries(again) },
      answers: Object.fromEntries(Object.entries(answers).filter(([key]) => !keys.has(key))),
    },
  };
}

/** Returns the task with the outcome of its call. */
export function settled(
  record: TaskRecord,
  outcome: Outcome & { kind: "result" | "error" },
  maxChars: number,
): TaskRecord {
  if (outcome.kind === "error") {
    const { code, message, data } = outcome.error;
    return ended(record, "failed", { error: { code, message, ...(data !== undefined && { data }) }, message });
  }
  if (outcome.result.length <= maxChars)
    return ended(record, "completed", { result: JSON.parse(outcome.result) as JsonObject });
  const message = `The result has ${outcome.result.length} characters, more than ${maxChars} (limits.maxResultChars)`;
  return ended(record, "failed", { error: { code: INTERNAL_ERROR, message }, message });
}
