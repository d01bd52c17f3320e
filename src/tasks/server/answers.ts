import { INVALID_PARAMS, Refusal } from "../../protocol/jsonrpc/errors.js";
import { inputShapes } from "../../protocol/shapes/input.js";
import type { TaskRecord } from "./record.js";

/** Returns the task with answers to its open questions, or undefined if none of the answers has a question. */
export function withAnswers(record: TaskRecord, given: { readonly [key: string]: unknown }): TaskRecord | undefined {
  const open = Object.entries(record.questions);
  const answered = record.stage === "waiting" ? open.filter(([wireKey]) => Object.hasOwn(given, wireKey)) : [];
  if (answered.length === 0) return undefined;
  let { journal } = record;
  for (const [wireKey, { key, request, authored }] of answered) {
    const answer = given[wireKey];
    const problem = inputShapes.get(request.method)?.result(answer);
    if (problem !== undefined) throw malformed(`/inputResponses/${wireKey}${problem.path} must be ${problem.expected}`);
    if (authored === true) {
      const { state, answers = {} } = journal.authored ?? {};
      journal = { ...journal, authored: { state, answers: { ...answers, [key]: answer } } };
    } else journal = { ...journal, answers: { ...journal.answers, [key]: answer } };
  }
  const keys = new Set(answered.map(([wireKey]) => wireKey));
  const questions = Object.fromEntries(open.filter(([wireKey]) => !keys.has(wireKey)));
  if (Object.keys(questions).length > 0) return { ...record, journal, questions };
  return { ...record, journal, questions, stage: "queued", round: record.round + 1 };
}

/** Error for answers that cannot be taken. The questions stay open. */
export function malformed(problem: string): Refusal {
  return new Refusal(INVALID_PARAMS, `Invalid params for tasks/update: ${problem}`);
}
