// The twin of `push.ts` of the legacy era: each is the way in which a handler asks the client.

import type { MaybePromise } from "../../../call/maybe-promise.js";
import { HandlerSuspended, McpError, type UrlElicitationRequiredError } from "../../../protocol/errors.js";
import { INVALID_PARAMS, Refusal } from "../../../protocol/jsonrpc/errors.js";
import { inputRequiredResult, inputShapes } from "../../../protocol/shapes/input.js";
import type { InputRequest } from "../../../protocol/types/index.js";
import { assertQuestions } from "../../../schema/input-rules.js";
import { missingCapability, undeclaredFor } from "../../capabilities.js";
import { CheckedClientRequests } from "../../client-requests.js";
import {
  type AskOptions,
  type ClientRequests,
  isUrlElicitationRequired,
  type RequestStrategy,
} from "../../request-strategy.js";
import {
  type Call,
  type HandlerResult,
  PreparedResult,
  type Result,
  type ServerRuntime,
  type StateUse,
} from "../../server-era.js";
import { Steps } from "../../steps.js";
import { trackUrlElicitation, type UrlElicitationOwner } from "../../url-elicitations.js";

/** What rides in the sealed state from one round to the next. */
interface Progress {
  readonly answers: Record<string, unknown>;
  readonly steps: Record<string, unknown>;
  /** What each question was, to notice when the handler asks another under the same key. */
  readonly asked: Record<string, string>;
  readonly round: number;
  /** The state of an author who speaks the wire. */
  readonly authored?: unknown;
}

const FRESH: Progress = { answers: {}, steps: {}, asked: {}, round: 0 };

/** Thrown into a handler at a question that has no answer yet: the handler stops and will be run again. */
export class Suspended extends HandlerSuspended {
  override readonly name = "Suspended";
  constructor(key: string) {
    super(`waiting for the client's answer to "${key}"`);
  }
}

/**
 * The round of questions that a request belongs to. The handler starts anew in every round; recorded answers and steps
 * come back at once, and the first questions without an answer become the round's result.
 */
export async function openRound(call: Call, runtime: ServerRuntime): Promise<Replay> {
  const { progress, use } = await restore(call, runtime);
  return new Replay(call, runtime, progress, use);
}

/** What the request is answered with, from what its handler came to. */
export async function closeRound(
  call: Call,
  replay: Replay,
  result: HandlerResult | undefined,
  failure: unknown,
): Promise<HandlerResult> {
  if (replay.broken !== undefined) throw replay.broken;
  if (replay.suspended) return replay.toResult();
  if (isUrlElicitationRequired(failure)) return sealAuthored(call, replay, toPages(failure));
  if (failure !== undefined) throw failure;
  return sealAuthored(call, replay, result as HandlerResult);
}

/** What is an error in other versions is a question here; the handler looks again when the client comes back. */
function toPages({ elicitations }: UrlElicitationRequiredError): HandlerResult {
  const requests = elicitations.map(({ elicitationId, message, url }) => {
    return [elicitationId, { method: "elicitation/create", params: { mode: "url", message, url } }] as const;
  });
  return { resultType: "input_required", inputRequests: Object.fromEntries(requests) };
}

/** A handler that speaks the wire itself gets its state sealed all the same, with what else the call has come to. */
async function sealAuthored(call: Call, replay: Replay, given: HandlerResult): Promise<HandlerResult> {
  if (given instanceof PreparedResult || given.resultType !== "input_required") return given;
  const inputRequests = assertAskable(call.method, given);
  const result = given.inputRequests === undefined ? given : { ...given, inputRequests };
  const refused = Object.values(inputRequests)
    .map((request) => undeclaredFor(request, call.client.capabilities))
    .find((missing) => missing !== undefined);
  if (refused !== undefined) throw missingCapability(refused);
  if (!call.sealsState && !replay.hasProgress) {
    const { requestState } = result;
    if (requestState === undefined || typeof requestState === "string") return result;
    throw new Error(`${call.method}: a requestState that is not sealed must be a string`);
  }
  if (result.requestState === undefined && !replay.hasProgress) return result;
  return { ...result, requestState: await replay.seal(result.requestState) };
}

/** What an author made is held to the same rules as what the SDK makes; a breach is the author's error, not the client's. */
function assertAskable(method: string, result: Result): Record<string, InputRequest> {
  const problem = inputRequiredResult({ ...result, requestState: result.requestState === undefined ? undefined : "" });
  const requests = (result.inputRequests ?? {}) as Record<string, InputRequest>;
  if (problem !== undefined) throw new Error(`${method}: ${problem.path} of inputRequired must be ${problem.expected}`);
  if (Object.keys(requests).length === 0 && result.requestState === undefined) {
    throw new Error(`${method}: inputRequired needs inputRequests or state`);
  }
  for (const [key, request] of Object.entries(requests)) {
    if (!inputShapes.has(request.method)) throw new Error(`${method}: a client cannot be asked for ${request.method}`);
    const extra = Object.keys(request).find((member) => member !== "method" && member !== "params");
    if (extra !== undefined)
      throw new Error(`${method}: /inputRequests/${key} of inputRequired must not have ${extra}`);
  }
  assertQuestions(requests);
  return Object.fromEntries(Object.entries(requests).map(([key, request]) => [key, withParams(request)]));
}

/** Adds the params that a request for roots may leave out: the client of the Go SDK fails without them. */
function withParams(request: InputRequest): InputRequest {
  return request.method === "roots/list" ? { ...request, params: request.params ?? {} } : request;
}

async function restore(
  call: Call,
  runtime: ServerRuntime,
): Promise<{ progress: Progress; use?: StateUse | undefined }> {
  const { requestState } = call.params;
  const given = (call.params.inputResponses ?? {}) as Record<string, unknown>;
  // Nothing has been done on any answer yet, so a client may give them before it is asked.
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
  const answers = { ...askedFor(progress, given), ...progress.answers };
  return { progress: { ...progress, answers }, use: opened.use };
}

/**
 * The answers to what earlier rounds asked. What is sealed goes before them: an answer that the handler may have acted on
 * cannot be changed afterwards.
 */
function askedFor({ asked }: Progress, given: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(given).filter(([key]) => Object.hasOwn(asked, key)));
}

/** State is good only for the request that it was made for. */
function bindingOf(call: Call): string {
  const { name, uri, arguments: args } = call.params;
  return canonical([call.method, name ?? uri ?? null, args ?? null, call.origin.principal ?? null]);
}

/** JSON text that is the same for equal values, in whatever order their members came. */
function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, inner: unknown) =>
    typeof inner === "object" && inner !== null && !Array.isArray(inner)
      ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
      : inner,
  );
}

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
  /** A mistake of the handler that must not be lost behind a question. */
  broken: Error | undefined;

  constructor(call: Call, runtime: ServerRuntime, progress: Progress, use?: StateUse) {
    this.#call = call;
    this.#runtime = runtime;
    this.#progress = progress;
    this.#use = use;
    this.#steps = use?.stepsAfter(progress.steps) ?? new Steps(progress.steps);
    this.#asked = { ...progress.asked };
    this.questions = new CheckedClientRequests(this, runtime);
  }

  /** Runs the round, unless it is one that runs or ran already. */
  async once(run: () => MaybePromise<HandlerResult>): Promise<HandlerResult> {
    return this.#use === undefined ? run() : this.#use.once(this.#call, run);
  }

  get suspended(): boolean {
    return this.#questions.size > 0;
  }

  async ask(request: InputRequest, options: AskOptions): Promise<unknown> {
    const missing = undeclaredFor(request, this.#call.client.capabilities);
    if (missing !== undefined) throw missingCapability(missing);
    const { elicitationId } = options;
    if (elicitationId !== undefined) trackUrlElicitation(this.#runtime, elicitationId, warningOwner(this.#runtime));
    const key = options.key ?? `ask-${++this.#count}`;
    if (this.#used.has(key)) {
      this.broken = new Error(`${this.#call.method}: two questions have the key "${key}"`);
      throw this.broken;
    }
    this.#used.add(key);
    const isSame = this.#noteQuestion(key, request);
    const answer = isSame && Object.hasOwn(this.#progress.answers, key) ? this.#progress.answers[key] : undefined;
    if (answer !== undefined && this.#fits(request, key, answer)) {
      // Awaited only where it must be: questions that are asked together go out together.
      const problem = options.check?.(answer);
      if ((problem instanceof Promise ? await problem : problem) === undefined) return answer;
    }
    this.#questions.set(key, request);
    throw new Suspended(key);
  }

  push(method: string): Promise<never> {
    return Promise.reject(noRequests(method));
  }

  async step<T>(name: string, work: () => T | Promise<T>): Promise<T> {
    if (this.suspended && !this.#steps.has(name)) throw new Suspended(name);
    return this.#steps.run(name, work);
  }

  /** Whether there is anything that the next round must know. */
  get hasProgress(): boolean {
    return Object.keys(this.#asked).length > 0 || Object.keys(this.#steps.done).length > 0;
  }

  async toResult(): Promise<HandlerResult> {
    return {
      resultType: "input_required",
      inputRequests: Object.fromEntries(this.#questions),
      requestState: await this.seal(undefined),
    };
  }

  /** What the next round must know, for this request of this caller alone. */
  async seal(authored: unknown): Promise<string> {
    await this.#steps.settled();
    const round = this.#progress.round + 1;
    const { maxRounds } = this.#runtime.limits;
    if (round > maxRounds) {
      throw new Refusal(INVALID_PARAMS, `${this.#call.method} asked for more than ${maxRounds} rounds of input`);
    }
    const answers = Object.fromEntries(
      Object.entries(this.#progress.answers).filter(
        ([key]) => Object.hasOwn(this.#asked, key) && !this.#questions.has(key),
      ),
    );
    const state: Progress = { answers, steps: this.#steps.done, asked: this.#asked, round, authored };
    return (await this.#runtime.seal()).seal(state, bindingOf(this.#call));
  }

  /** An answer of the wrong shape is a broken client; an answer to a question that does not exist is not looked at. */
  #fits(request: InputRequest, key: string, answer: unknown): boolean {
    const problem = inputShapes.get(request.method)?.result(answer);
    if (problem === undefined) return true;
    const place = `/inputResponses/${key}${problem.path}`;
    throw new Refusal(INVALID_PARAMS, `Invalid params for ${this.#call.method}: ${place} must be ${problem.expected}`);
  }

  /** Whether what is asked under this key is what was asked before: an answer is good for its own question alone. */
  #noteQuestion(key: string, request: InputRequest): boolean {
    const identity = JSON.stringify(request);
    const before = Object.hasOwn(this.#asked, key) ? this.#asked[key] : undefined;
    const isSame = before === undefined || before === identity;
    if (!isSame) {
      this.#runtime.warn("a question changed between rounds and is asked again: give it a key, and words that stay", {
        method: this.#call.method,
        key,
      });
    }
    this.#asked[key] = identity;
    return isSame;
  }
}

/** For methods that this era does not let ask. Steps still run once. */
export function createQuestionless(method: string, runtime: ServerRuntime): ClientRequests {
  return new CheckedClientRequests(new NoQuestions(method), runtime);
}

class NoQuestions implements RequestStrategy {
  readonly #steps = new Steps();

  constructor(readonly method: string) {}

  async ask(): Promise<never> {
    throw new McpError(
      "cannot_ask",
      `${this.method} cannot ask the client: only tools/call, prompts/get and resources/read may answer with input_required`,
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
    `${method}: in this protocol version a server sends no requests; ask by input_required instead`,
  );
}

/** Made apart from the call, which a page may outlive. */
function warningOwner(runtime: ServerRuntime): UrlElicitationOwner {
  return {
    onUrlElicitationDone: (elicitationId) =>
      runtime.warn("the client is not told that a page is done: in this version it asks again", { elicitationId }),
    onUrlElicitationForgotten() {},
  };
}
