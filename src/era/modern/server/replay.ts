// Counterpart of `push.ts` in the legacy era: both send a handler's questions to the client.

import type { AbortSwitch } from "../../../call/abort-switch.js";
import type { MaybePromise } from "../../../call/maybe-promise.js";
import { type Journal, type JournalChange, NO_JOURNAL, withQuestion } from "../../../journal/journal.js";
import { type JournalHost, JournalRun, memoryJournal } from "../../../journal/run.js";
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
  type RequestStrategy,
} from "../../request-strategy.js";
import { type Call, type HandlerResult, PreparedResult, type ServerRuntime, type StateUse } from "../../server-era.js";
import type { UrlElicitationOwner } from "../../url-elicitations.js";

/** Content of the sealed state, which connects the rounds of a call. */
interface Progress {
  readonly journal: Journal;
  readonly round: number;
  /** Idempotency key of the call. Each state has it, so that all attempts at a round have the same. */
  readonly key?: string;
}

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
  const fresh = { progress: { journal: { ...NO_JOURNAL, answers: given }, round: 0 } };
  if (typeof requestState !== "string") return fresh;
  const binding = bindingOf(call);
  const seal = await runtime.seal();
  const opened = await (call.sealsState ? seal.open(requestState, binding) : seal.tryOpen(requestState, binding));
  if (opened === undefined) {
    call.authoredState = requestState;
    return fresh;
  }
  const progress = opened.state as Progress;
  const { journal } = progress;
  call.authoredState = journal.authored?.state;
  call.key = progress.key;
  // Answers in the sealed state take precedence, since the handler may have acted on them.
  const answers = { ...askedFor(journal, given), ...journal.answers };
  return { progress: { ...progress, journal: { ...journal, answers } }, use: opened.use };
}

/** Returns the given answers whose questions were asked in earlier rounds. */
function askedFor({ asked }: Journal, given: Record<string, unknown>): Record<string, unknown> {
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
export class Replay implements RequestStrategy, JournalHost {
  readonly questions: ClientRequests;
  readonly run: JournalRun;
  journal: Journal;
  readonly #call: Call;
  readonly #runtime: ServerRuntime;
  readonly #round: number;
  readonly #questions = new Map<string, InputRequest>();
  readonly #use: StateUse | undefined;
  /** Mistake of the handler. With open questions, another round would only repeat it. */
  #broken: Error | undefined;

  constructor(call: Call, runtime: ServerRuntime, progress: Progress, use?: StateUse) {
    this.#call = call;
    this.#runtime = runtime;
    this.#round = progress.round + 1;
    this.#use = use;
    this.journal = progress.journal;
    this.run = new JournalRun(this, use?.stepsAfter(this.journal.steps));
    this.questions = new CheckedClientRequests(this, runtime);
  }

  get end(): AbortSwitch {
    return this.#call.end;
  }

  keep(change: JournalChange): void {
    this.journal = change(this.journal);
  }

  allow(step: string): void {
    if (this.suspended) throw new Suspended("step", step);
  }

  onBroken(error: Error): void {
    this.#broken ??= error;
  }

  /** Runs the round, joins it, or returns its outcome if it has run. */
  async once(run: () => MaybePromise<HandlerResult>): Promise<HandlerResult> {
    return this.#use === undefined ? run() : this.#use.once(this.#call, run);
  }

  /** Returns the result of the round from the outcome of its handler. */
  async close(result: HandlerResult | undefined, failure: unknown): Promise<HandlerResult> {
    if (this.suspended) {
      if (this.#broken !== undefined) throw this.#broken;
      return this.#toResult();
    }
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
    const text = JSON.stringify(request);
    const question = this.run.question(text, options.key);
    const { key, answer } = question;
    this.noteUses([request]);
    if (question.hasChanged) this.#warnOfChange(key);
    if (question.isNew || question.hasChanged) this.keep((journal) => withQuestion(journal, { ...question, text }));
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

  /** True if the next round needs state. */
  get hasProgress(): boolean {
    if (this.#call.key !== undefined) return true;
    const { asked, steps, failed = {} } = this.run.journal;
    return [asked, steps, failed].some((part) => Object.keys(part).length > 0);
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
    await this.run.settled();
    const { maxRounds } = this.#runtime.limits;
    if (this.#round > maxRounds) {
      throw new Refusal(
        INVALID_PARAMS,
        `${this.#call.method} asked for more than ${maxRounds} rounds of input (limits.maxRounds)`,
      );
    }
    const journal = { ...this.run.journal, answers: this.#answers(), authored: { state: authored, answers: {} } };
    const state: Progress = { journal, round: this.#round, key: this.#call.idempotencyKey };
    return (await this.#runtime.seal()).seal(state, bindingOf(this.#call));
  }

  /** Returns the answers to questions that were asked and are not open. */
  #answers(): Record<string, unknown> {
    const { asked, answers } = this.journal;
    const isAnswer = ([key]: [string, unknown]) => Object.hasOwn(asked, key) && !this.#questions.has(key);
    return Object.fromEntries(Object.entries(answers).filter(isAnswer));
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

  /** Warns that another question was asked with a key before, whose answer is not valid here. */
  #warnOfChange(key: string): void {
    this.#runtime.warn("a question changed between rounds and is asked again: give it a key and a constant text", {
      method: this.#call.method,
      key,
    });
  }
}

/** Creates a `ClientRequests` for methods whose result cannot be `input_required`: every question is refused. */
export function createQuestionless(call: Call, runtime: ServerRuntime): ClientRequests {
  return new CheckedClientRequests(new NoQuestions(call), runtime);
}

class NoQuestions implements RequestStrategy {
  readonly run: JournalRun;
  readonly method: string;

  constructor({ method, end }: Call) {
    this.method = method;
    this.run = new JournalRun(memoryJournal(end));
  }

  async ask(): Promise<never> {
    throw new McpError(
      "cannot_ask",
      `${this.method} cannot ask the client: only tools/call, prompts/get and resources/read may return input_required`,
    );
  }

  async push(method: string): Promise<never> {
    throw noRequests(method);
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
