import { INVALID_PARAMS, Refusal } from "../../jsonrpc/error-codes.js";
import { McpError, UrlElicitationRequiredError } from "../../schema/errors.js";
import { inputRequiredResult, inputShapes } from "../../schema/input-shapes.js";
import type { InputRequest } from "../../schema/types.js";
import type { Call } from "../call.js";
import type { Asker, AskOptions, HandlerResult, Result, ServerHost } from "../era.js";
import { missingCapability, undeclaredFor } from "../input-capability.js";
import { PreparedResult } from "../prepared-result.js";
import { modernMethods } from "./methods.js";

/** What rides in the sealed state from one round to the next. */
interface Progress {
  readonly answers: Record<string, unknown>;
  readonly steps: Record<string, unknown>;
  /** What each question was, to notice when the handler asks another under the same key. */
  readonly asked: Record<string, string>;
  readonly round: number;
}

const FRESH: Progress = { answers: {}, steps: {}, asked: {}, round: 0 };

/** Thrown into a handler at a question that has no answer yet: the handler stops and will be run again. */
export class Suspended extends Error {
  override readonly name = "Suspended";
  constructor(key: string) {
    super(`waiting for the client's answer to "${key}"`);
  }
}

/**
 * Runs a handler whose questions are answered in later requests. The handler starts anew in every round; recorded answers
 * and steps come back at once, and the first questions without an answer become the round's result.
 */
export async function settleInRounds(
  call: Call,
  host: ServerHost,
  run: (asker: Asker) => Promise<HandlerResult>,
): Promise<HandlerResult> {
  if (modernMethods.get(call.method)?.asks !== true) return run(new NoQuestions(call.method));
  const replay = new Replay(call, host, await restore(call, host));
  let result: HandlerResult | undefined;
  let failure: unknown;
  try {
    result = await run(replay);
  } catch (error) {
    failure = error;
  }
  if (replay.broken !== undefined) throw replay.broken;
  if (replay.suspended) return replay.toResult();
  if (failure instanceof UrlElicitationRequiredError) return sealAuthored(call, host, toPages(failure));
  if (failure !== undefined) throw failure;
  return sealAuthored(call, host, result as HandlerResult);
}

/** What is an error in other versions is a question here; the handler looks again when the client comes back. */
function toPages({ elicitations }: UrlElicitationRequiredError): HandlerResult {
  const requests = elicitations.map(({ elicitationId, message, url }) => {
    return [elicitationId, { method: "elicitation/create", params: { mode: "url", message, url } }] as const;
  });
  return { resultType: "input_required", inputRequests: Object.fromEntries(requests) };
}

/** A handler that speaks the wire itself gets its state sealed all the same. */
async function sealAuthored(call: Call, host: ServerHost, result: HandlerResult): Promise<HandlerResult> {
  if (result instanceof PreparedResult || result.resultType !== "input_required") return result;
  const asked = assertAskable(call.method, result);
  const refused = Object.values(asked)
    .map((request) => undeclaredFor(request, call.client.capabilities))
    .find((missing) => missing !== undefined);
  if (refused !== undefined) throw missingCapability(refused);
  if (result.requestState === undefined) return result;
  if (!call.sealsState) {
    if (typeof result.requestState === "string") return result;
    throw new Error(`${call.method}: a requestState that is not sealed must be a string`);
  }
  return { ...result, requestState: await host.seal.seal({ authored: result.requestState }, bindingOf(call)) };
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
  return requests;
}

async function restore(call: Call, host: ServerHost): Promise<Progress> {
  const { requestState } = call.params;
  if (typeof requestState !== "string") return merge(FRESH, call);
  const binding = bindingOf(call);
  const opened = await (call.sealsState
    ? host.seal.open(requestState, binding)
    : host.seal.tryOpen(requestState, binding));
  if (opened === undefined) {
    call.authoredState = requestState;
    return merge(FRESH, call);
  }
  if (typeof opened === "object" && opened !== null && "authored" in opened) {
    call.authoredState = opened.authored;
    return merge(FRESH, call);
  }
  return merge(opened as Progress, call);
}

/** Adds the answers that came with this request to those of earlier rounds. Unknown keys are harmless. */
function merge(progress: Progress, call: Call): Progress {
  const given = call.params.inputResponses;
  if (given === undefined) return progress;
  return { ...progress, answers: { ...progress.answers, ...(given as Record<string, unknown>) } };
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

class Replay implements Asker {
  readonly #call: Call;
  readonly #host: ServerHost;
  readonly #progress: Progress;
  readonly #questions = new Map<string, InputRequest>();
  readonly #steps: Record<string, unknown>;
  readonly #asked: Record<string, string>;
  readonly #running = new Set<Promise<unknown>>();
  readonly #used = new Set<string>();
  #count = 0;
  /** A mistake of the handler that must not be lost behind a question. */
  broken: Error | undefined;

  constructor(call: Call, host: ServerHost, progress: Progress) {
    this.#call = call;
    this.#host = host;
    this.#progress = progress;
    this.#steps = { ...progress.steps };
    this.#asked = { ...progress.asked };
  }

  get suspended(): boolean {
    return this.#questions.size > 0;
  }

  async ask(request: InputRequest, options: AskOptions): Promise<unknown> {
    const missing = undeclaredFor(request, this.#call.client.capabilities);
    if (missing !== undefined) throw missingCapability(missing);
    const { elicitationId } = options;
    if (elicitationId !== undefined) {
      this.#host.pages.note(elicitationId, () => {
        this.#host.warn("the client is not told that a page is done: in this version it asks again", { elicitationId });
      });
    }
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
    if (Object.hasOwn(this.#steps, name)) return this.#steps[name] as T;
    if (this.suspended) throw new Suspended(name);
    const running = (async () => work())();
    this.#running.add(running);
    try {
      const value = await running;
      this.#steps[name] = value === undefined ? null : value;
      return value;
    } finally {
      this.#running.delete(running);
    }
  }

  async toResult(): Promise<HandlerResult> {
    await Promise.allSettled(this.#running);
    const round = this.#progress.round + 1;
    if (round > this.#host.maxRounds) {
      throw new Refusal(
        INVALID_PARAMS,
        `${this.#call.method} asked for more than ${this.#host.maxRounds} rounds of input`,
      );
    }
    const answers = Object.fromEntries(
      Object.entries(this.#progress.answers).filter(
        ([key]) => Object.hasOwn(this.#asked, key) && !this.#questions.has(key),
      ),
    );
    const state: Progress = { answers, steps: this.#steps, asked: this.#asked, round };
    return {
      resultType: "input_required",
      inputRequests: Object.fromEntries(this.#questions),
      requestState: await this.#host.seal.seal(state, bindingOf(this.#call)),
    };
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
      this.#host.debug("a question changed between rounds; give it a key of its own", {
        method: this.#call.method,
        key,
      });
    }
    this.#asked[key] = identity;
    return isSame;
  }
}

/** For methods that this era does not let ask. Steps still run: once, because there is one round. */
class NoQuestions implements Asker {
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

  async step<T>(_name: string, work: () => T | Promise<T>): Promise<T> {
    return work();
  }
}

function noRequests(method: string): McpError {
  return new McpError(
    "no_server_requests",
    `${method}: in this protocol version a server sends no requests; ask instead`,
  );
}
