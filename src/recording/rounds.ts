import { isObject } from "../protocol/json.js";
import type { RecordedCall, Step } from "./conversation.js";
import { paramsOf } from "./messages.js";

/** Call as its caller sees it: a request, with those that repeat it to answer questions of the server. */
export interface Rounds {
  readonly first: RecordedCall;
  /** Requests of the call, with the first one. */
  readonly calls: RecordedCall[];
}

/** Question of the server in a result, with its name. */
export interface AskedInResult {
  readonly name: string;
  readonly method: string;
  readonly params: unknown;
}

/** Joins the requests that belong to one call: a request has the state that the result before it gave. */
export function roundsOf(calls: readonly RecordedCall[]): readonly Rounds[] {
  const all: Rounds[] = [];
  const byState = new Map<string, Rounds>();
  for (const call of calls) {
    const { requestState } = paramsOf(call.request);
    const key = typeof requestState === "string" ? `${call.request.method} ${requestState}` : undefined;
    const earlier = key === undefined ? undefined : byState.get(key);
    const rounds = earlier ?? { first: call, calls: [] };
    if (earlier === undefined) all.push(rounds);
    rounds.calls.push(call);
    const state = resultOf(call)?.message.result?.requestState;
    if (typeof state === "string") byState.set(`${call.request.method} ${state}`, rounds);
  }
  return all;
}

/** Returns the response to a request. Undefined if there was none. */
export function resultOf(call: RecordedCall): Step | undefined {
  return call.steps.find(({ kind }) => kind === "result");
}

/** Returns the questions that a result asks. */
export function questionsIn(step: Step | undefined): readonly AskedInResult[] {
  const requests = step?.message.result?.inputRequests;
  if (!isObject(requests)) return [];
  return Object.entries(requests).map(([name, asked]) => {
    const { method, params } = (isObject(asked) ? asked : {}) as {
      readonly method?: unknown;
      readonly params?: unknown;
    };
    return { name, method: String(method), params };
  });
}
