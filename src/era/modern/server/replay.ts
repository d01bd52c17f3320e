// Counterpart of `push.ts` in the legacy era: both send a handler's questions to the client.

import type { MaybePromise } from "../../../call/maybe-promise.js";
import { HandlerSuspended, McpError } from "../../../protocol/errors.js";
import { INVALID_PARAMS, Refusal } from "../../../protocol/jsonrpc/errors.js";
import { inputShapes } from "../../../protocol/shapes/input.js";
import type { InputRequest } from "../../../protocol/types/index.js";
import { missingCapability, undeclaredFor } from "../../capabilities.js";
import { authoredQuestions, CheckedClientRequests, toUrlRequests } from "../../client-requests.js";
import {
  type AskOptions,
  type ClientRequests,
  isUrlElicitationRequired,
  type RecordedProgress,
  type RequestStrategy,
} from "../../request-strategy.js";
import { type Call, type HandlerResult, PreparedResult, type ServerRuntime, type StateUse } from "../../server-era.js";
import { Steps } from "../../steps.js";
import type { UrlElicitationOwner } from "../../url-elicitations.js";

/** Content of the sealed state, which connects the rounds of a call. */
interface Progress {
  readonly answers: Record<string, unknown>;
  readonly steps: Record<string, unknown>;
  /** Text of each question by key, to notice if the handler asks another question with the same key. */
  readonly asked: Record<string, string>;
  readonly round: number;
  /** State of an author who returns `inputRequired`. */
  readonly authored?: unknown;
  /** Idempotency key of the call. Each state has it, so that all attempts at a round have the same. */
  readonly key?: string;
}

const FRESH: Progress = { answers: {}, steps: {}, asked: {}, round: 0 };

/**
 * Thrown into a handler at a question without an answer, and at a new step while a question is open. The handler stops
 * and runs again in the next round.
 */
export class Suspended extends HandlerSuspended {
  override readonly name = "Suspended";
  constructor(what: string, name: string) {
    super(`${what} "${name}" waits for an answer of the client`);
  }
}

/**
 * Opens the round to which a request belongs. The handler starts again in each round. Recorded answers and steps
 * resolve at once. The first questions without an answer become the result of the round.
 */
export async function openRound(call: Call, runtime: ServerRuntime): Promise<Replay> {
  const { progress, use } = await restore(call, runtime);
  return new Replay(call, runtime, progress, use);
}

/**
 * Checks an `input_required` result that the handler wrote itself, and seals its state together with the progress of
 * the call. Returns other results unchanged.
 */
async function sealAuthored(call: Call, replay: Replay, given: HandlerResult): Promise<HandlerResult> {
  if (given instanceof PreparedResult || given.resultType !== "input_required") return given;
  const inputRequests = authoredQuestions(call, given);
  replay.noteUses(Object.values(inputRequests));
  const result = given.inputRequests === undefined ? given : { ...given, inputRequests };
  if (!call.sealsState && !replay.hasProgress) {
    const { requestState } = result;
    if (requestState === undefined || typeof requestState === "string") return result;
    throw new Error(`${call.method}: requestState must be a string if it is not sealed, got ${typeof requestState}`);
  }
  if (result.requestState === undefined && !replay.hasProgress) return result;
  return { ...result, requestState: await replay.seal(result.requestState) };
}

async function restore(
  call: Call,
  runtime: ServerRuntime,
): Promise<{ progress: Progress; use?: StateUse | undefined }> {
  const { requestState } = call.params;
  const given = (call.params.inputResponses ?? {}) as Record<string, unknown>;
  // No answer has had an effect yet, so a client may answer before it is asked.
  const fresh = { progress: { ...FRESH, answers: given } };
  if (typeof requestState !== "string") return fresh;
  const binding = bindingOf(call);
  const seal = await runtime.seal();
  const opened = await (call.sealsState ? seal.open(requestState, binding) : seal.tryOpen(requestState, binding));
  if (opened === undefined) {
    call.authoredState = requestState;
    return fresh;
  }
  const progress = opened.state as Progress;
  call.authoredState = progress.authored;
  call.key = progress.key;
  // Answers in the sealed state take precedence, since the handler may have acted on them.
  const answers = { ...askedFor(progress, given), ...progress.answers };
  return { progress: { ...progress, answers }, use: opened.use };
}

/** Returns the given answers whose questions were asked in earlier rounds. */
function askedFor({ asked }: Progress, given: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(given).filter(([key]) => Object.hasOwn(asked, key)));
}

/** Returns the request's identity. Sealed state is valid for this request only. */
function bindingOf(call: Call): string {
  const { name, uri, arguments: args } = call.params;
  return canonical([call.method, name ?? uri ?? null, args ?? null, call.origin.principal ?? null]);
}

/** Returns JSON text that is equal for equal values, independent of the order of members. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

/** Round of a call. Answers the handler's questions from recorded answers and collects the open ones. */
export class Replay implements RequestStrategy {
  readonly questions: ClientRequests;
  readonly #call: Call;
  readonly #runtime: ServerRuntime;
  readonly #progress: Progress;
  readonly #questions = new Map<string, InputRequest>();
  readonly #use: StateUse | undefined;
  readonly #steps: Steps;
  readonly #asked: Record<string, string>;
  readonly #used = new Set<string>();
  #count = 0;
  /** Mistake of the handler. It takes precedence over open questions. */
  #broken: Error | undefined;

  constructor(call: Call, runtime: ServerRuntime, progress: Progress, use?: StateUse) {
    this.#call = call;
    this.#runtime = runtime;
    this.#progress = progress;
    this.#use = use;
    this.#steps = use?.stepsAfter(progress.steps) ?? new Steps(progress.steps);
    this.#asked = { ...progress.asked };
    this.questions = new CheckedClientRequests(this, runtime);
  }

  /** Runs the round, joins it, or returns its outcome if it has run. */
  async once(run: () => MaybePromise<HandlerResult>): Promise<HandlerResult> {
    return this.#use === undefined ? run() : this.#use.once(this.#call, run);
  }

  /** Returns the result of the round from the outcome of its handler. */
  async close(result: HandlerResult | undefined, failure: unknown): Promise<HandlerResult> {
    if (this.#broken !== undefined) throw this.#broken;
    if (this.suspended) return this.#toResult();
    if (isUrlElicitationRequired(failure)) return sealAuthored(this.#call, this, toUrlRequests(failure));
    if (failure !== undefined) throw failure;
    return sealAuthored(this.#call, this, result as HandlerResult);
  }

  /** Notes questions that need a deprecated capability of the client. */
  noteUses(requests: readonly InputRequest[]): void {
    for (const { method } of requests) {
      if (method === "roots/list") this.#runtime.uses?.("roots");
      else if (method === "sampling/createMessage") this.#runtime.uses?.("sampling");
    }
  }

  get suspended(): boolean {
    return this.#questions.size > 0;
  }

  async ask(request: InputRequest, options: AskOptions): Promise<unknown> {
    const missing = undeclaredFor(request, this.#call.client.capabilities);
    if (missing !== undefined) throw missingCapability(missing);
    const { elicitationId } = options;
    const { urlElicitations, limits } = this.#runtime;
    if (elicitationId !== undefined)
      urlElicitations.add(elicitationId, warningOwner(this.#runtime), limits.maxUrlElicitations);
    const key = options.key ?? `ask-${++this.#count}`;
    if (this.#used.has(key)) {
      this.#broken = new Error(`${this.#call.method}: two questions have the key "${key}"; give each its own`);
      throw this.#broken;
    }
    this.#used.add(key);
    this.noteUses([request]);
    const isSame = this.#noteQuestion(key, request);
    const answer = isSame && Object.hasOwn(this.#progress.answers, key) ? this.#progress.answers[key] : undefined;
    if (answer !== undefined && this.#fits(request, key, answer)) {
      // Awaited only if necessary, so that questions that are asked together are sent together.
      const problem = options.check?.(answer);
      if ((problem instanceof Promise ? await problem : problem) === undefined) return answer;
    }
    this.#questions.set(key, request);
    throw new Suspended("question", key);
  }

  push(method: string): Promise<never> {
    return Promise.reject(noRequests(method));
  }

  async step<T>(name: string, work: () => T | Promise<T>): Promise<T> {
    if (this.suspended && !this.#steps.has(name)) throw new Suspended("step", name);
    return this.#steps.run(name, work);
  }

  get recorded(): RecordedProgress {
    const answers = Object.entries(this.#answers()).filter(([key, answer]) => {
      const { method } = JSON.parse(this.#asked[key] as string) as InputRequest;
      return inputShapes.get(method)?.result(answer) === undefined;
    });
    return { steps: this.#steps.done, asked: this.#asked, answers: Object.fromEntries(answers) };
  }

  /** True if the next round needs state. */
  get hasProgress(): boolean {
    if (this.#call.key !== undefined) return true;
    return Object.keys(this.#asked).length > 0 || Object.keys(this.#steps.done).length > 0;
  }

  async #toResult(): Promise<HandlerResult> {
    return {
      resultType: "input_required",
      inputRequests: Object.fromEntries(this.#questions),
      requestState: await this.seal(undefined),
    };
  }

  /** Seals the state of the next round. It is valid for this request of this caller only. */
  async seal(authored: unknown): Promise<string> {
    await this.#steps.settled();
    const round = this.#progress.round + 1;
    const { maxRounds } = this.#runtime.limits;
    if (round > maxRounds) {
      throw new Refusal(
        INVALID_PARAMS,
        `${this.#call.method} asked for more than ${maxRounds} rounds of input (limits.maxRounds)`,
      );
    }
    const state: Progress = {
      answers: this.#answers(),
      steps: this.#steps.done,
      asked: this.#asked,
      round,
      authored,
      key: this.#call.idempotencyKey,
    };
    return (await this.#runtime.seal()).seal(state, bindingOf(this.#call));
  }

  /** Returns the answers to questions that were asked and are not open. */
  #answers(): Record<string, unknown> {
    const isAnswer = ([key]: [string, unknown]) => Object.hasOwn(this.#asked, key) && !this.#questions.has(key);
    return Object.fromEntries(Object.entries(this.#progress.answers).filter(isAnswer));
  }

  /**
   * True if the answer has the right shape.
   * @throws a refusal otherwise, since the client is at fault
   */
  #fits(request: InputRequest, key: string, answer: unknown): boolean {
    const problem = inputShapes.get(request.method)?.result(answer);
    if (problem === undefined) return true;
    const place = `/inputResponses/${key}${problem.path}`;
    throw new Refusal(INVALID_PARAMS, `Invalid params for ${this.#call.method}: ${place} must be ${problem.expected}`);
  }

  /**
   * Records a question. Returns false if another question was asked with this key before, since its answer is not valid
   * here.
   */
  #noteQuestion(key: string, request: InputRequest): boolean {
    const identity = JSON.stringify(request);
    const before = Object.hasOwn(this.#asked, key) ? this.#asked[key] : undefined;
    const isSame = before === undefined || before === identity;
    if (!isSame) {
      this.#runtime.warn("a question changed between rounds and is asked again: give it a key and a constant text", {
        method: this.#call.method,
        key,
      });
    }
    this.#asked[key] = identity;
    return isSame;
  }
}

/** Creates a `ClientRequests` for methods whose result cannot be `input_required`: every question is refused. */
export function createQuestionless(method: string, runtime: ServerRuntime): ClientRequests {
  return new CheckedClientRequests(new NoQuestions(method), runtime);
}

class NoQuestions implements RequestStrategy {
  readonly #steps = new Steps();

  constructor(readonly method: string) {}

  async ask(): Promise<never> {
    throw new McpError(
      "cannot_ask",
      `${this.method} cannot ask the client: only tools/call, prompts/get and resources/read may return input_required`,
    );
  }

  async push(method: string): Promise<never> {
    throw noRequests(method);
  }

  step<T>(name: string, work: () => T | Promise<T>): Promise<T> {
    return this.#steps.run(name, work);
  }
}

function noRequests(method: string): McpError {
  return new McpError(
    "no_server_requests",
    `${method}: this protocol version has no requests from the server to the client; return input_required`,
  );
}

const warningOwners = new WeakMap<ServerRuntime, UrlElicitationOwner>();

/** Returns the owner of all URL elicitations of a server in this era, which has no client to tell. */
function warningOwner(runtime: ServerRuntime): UrlElicitationOwner {
  const known = warningOwners.get(runtime);
  if (known !== undefined) return known;
  const owner: UrlElicitationOwner = {
    onUrlElicitationDone: (elicitationId) =>
      runtime.warn(
        "the completion of a URL elicitation is not sent: this protocol version has no notification for it",
        { elicitationId },
      ),
  };
  warningOwners.set(runtime, owner);
  return owner;
}
