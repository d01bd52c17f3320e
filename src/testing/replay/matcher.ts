import { McpError } from "../../protocol/errors.js";
import { isObject } from "../../protocol/json.js";
import type { Conversation, RecordedCall } from "../../recording/conversation.js";
import { type Difference, describeDifferences, differencesOf } from "../../recording/differences.js";
import type { RecordingHeader } from "../../recording/events.js";
import { requestKey, wishOf, withoutNumbers } from "../../recording/keys.js";
import { type AnyMessage, paramsOf } from "../../recording/messages.js";
import { Redactor } from "../../recording/redactor.js";

/** Requests that read a state, and may be sent once more than they were recorded. */
const REPEATABLE = /\/list$|^server\/discover$|^ping$|^tasks\/get$/;

const HANDSHAKE = /^(?:initialize|server\/discover)$/;

/** Recorded request with its key. */
interface Candidate {
  readonly call: RecordedCall;
  readonly key: string;
  isUsed: boolean;
}

/** Request for which nothing was recorded, with the recorded one that is most similar. */
export interface Miss {
  readonly request: AnyMessage;
  /** Line of the most similar request. Undefined if its method was not recorded. */
  readonly line: number | undefined;
  readonly differences: readonly Difference[];
}

interface MatcherOptions {
  /** Values that the recording has as `<env:NAME>`. */
  readonly values: { readonly [name: string]: string | undefined };
  /** True to demand the recorded order. */
  readonly isStrict: boolean;
  /** True to compare the answers that a request has. */
  readonly checksAnswers: boolean;
}

/** A replay differs from its recording. `problems` lists each difference. */
export class ReplayError extends McpError {
  protected static override readonly bowline: string = "ReplayError";
  override readonly name: string = "ReplayError";
  constructor(readonly problems: readonly string[]) {
    super("replay_mismatch", `The replay differs from the recording: ${problems.join("; ")}`);
  }
}

/** Finds the recorded request for a live one. */
export class Matcher {
  readonly #misses: Miss[] = [];
  readonly #candidates: readonly Candidate[];
  readonly #redactor: Redactor | undefined;
  readonly #isStrict: boolean;
  readonly #checksAnswers: boolean;

  constructor(
    { calls }: Conversation,
    { redaction }: RecordingHeader,
    { values, isStrict, checksAnswers }: MatcherOptions,
  ) {
    const { profile, redact, keep } = redaction;
    this.#redactor = profile === "off" ? undefined : new Redactor({ values, redact, keep });
    this.#isStrict = isStrict;
    this.#checksAnswers = checksAnswers;
    this.#candidates = calls.map((call) => ({ call, key: requestKey(call.request), isUsed: false }));
  }

  /**
   * Throws if something differed, or if a request was recorded and not sent. A ping is not missed. Neither is a second handshake,
   * which a client tries beside the first if that takes long.
   */
  assertDone(): void {
    const isHandshake = ({ call }: Candidate) => HANDSHAKE.test(call.request.method ?? "");
    const hasBegun = this.#candidates.some((each) => each.isUsed && isHandshake(each));
    const unused = this.#candidates
      .filter((each) => !each.isUsed && each.call.request.method !== "ping" && !(hasBegun && isHandshake(each)))
      .map(({ call }) => `${nameOf(call.request)} (line ${call.line}) was not sent`);
    const problems = [...this.#misses.map(describeMiss), ...unused];
    if (problems.length > 0) throw new ReplayError(problems);
  }

  /** Returns the recorded request, or why there is none. */
  find(request: AnyMessage): RecordedCall | Miss {
    const live = this.#redacted(request);
    const key = requestKey(live);
    const found = this.#isStrict ? this.#next(key) : this.#first(key);
    if (found === undefined) return this.#miss(live);
    found.isUsed = true;
    if (this.#checksAnswers) this.#checkAnswers(found.call, live);
    return found.call;
  }

  /** Redacts a live value as the recorder did. */
  redact(value: unknown): unknown {
    return this.#redactor === undefined ? value : this.#redactor.message(value);
  }

  /** Adds a difference, to be reported at the end. */
  add(miss: Miss): void {
    this.#misses.push(miss);
  }

  #checkAnswers({ request, line }: RecordedCall, live: AnyMessage): void {
    const differences = differencesOf(paramsOf(request).inputResponses, paramsOf(live).inputResponses);
    if (differences.length > 0) this.add({ request, line, differences });
  }

  #redacted(request: AnyMessage): AnyMessage {
    const redacted = this.redact(request);
    return isObject(redacted) ? (redacted as AnyMessage) : request;
  }

  #first(key: string): Candidate | undefined {
    const isSame = (candidate: Candidate) => candidate.key === key;
    const loose = withoutNumbers(key);
    const isAlike = (candidate: Candidate) => withoutNumbers(candidate.key) === loose;
    const unused = this.#candidates.filter(({ isUsed }) => !isUsed);
    return unused.find(isSame) ?? unused.find(isAlike) ?? this.#repeated(isSame) ?? this.#repeated(isAlike);
  }

  #next(key: string): Candidate | undefined {
    const loose = withoutNumbers(key);
    const next = this.#candidates.find(({ isUsed }) => !isUsed);
    if (next !== undefined && withoutNumbers(next.key) === loose) return next;
    return this.#repeated((candidate) => candidate.key === key);
  }

  #repeated(fits: (candidate: Candidate) => boolean): Candidate | undefined {
    return this.#candidates.findLast(
      (each) => each.isUsed && REPEATABLE.test(each.call.request.method ?? "") && fits(each),
    );
  }

  #miss(request: AnyMessage): Miss {
    const similar = this.#candidates
      .filter(({ call }) => call.request.method === request.method)
      .map(({ call, isUsed }) => ({ call, isUsed, differences: differencesOf(wishOf(call.request), wishOf(request)) }))
      .sort((a, b) => Number(a.isUsed) - Number(b.isUsed) || a.differences.length - b.differences.length)[0];
    return { request, line: similar?.call.line, differences: similar?.differences ?? [] };
  }
}

/** Writes a miss for a person. */
export function describeMiss({ request, line, differences }: Miss): string {
  const what = nameOf(request);
  if (line === undefined) return `nothing is recorded for ${what}`;
  if (differences.length === 0)
    return `${what} was sent more often, or in another order, than it is recorded (line ${line})`;
  return `nothing is recorded for ${what}; the request of line ${line} differs at ${describeDifferences(differences)}`;
}

/** Names a request: its method, with what it is about. */
export function nameOf({ method = "a message", params }: AnyMessage): string {
  const { name, uri, taskId } = isObject(params) ? params : {};
  const about = [name, uri, taskId].find((each) => typeof each === "string");
  return about === undefined ? method : `${method} ${String(about)}`;
}
