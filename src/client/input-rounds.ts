import { AbortSwitch } from "../call/abort-switch.js";
import { pause } from "../call/abortable.js";
import { askedMs, type Backoff, backoffMs } from "../call/backoff.js";
import type { Clock } from "../call/clock.js";
import type { CallLifetime } from "../call/lifetime.js";
import type { ClientResult, ConnectionCall } from "../era/client-era.js";
import type { ClientLimits } from "../era/client-limits.js";
import { afterFirstAnswer, InputRequiredError, McpError, ProtocolError } from "../protocol/errors.js";
import type { Params } from "../protocol/jsonrpc/message.js";
import type { InputRequests, InputRequiredResult } from "../protocol/types/index.js";
import { isPostponed } from "./retry.js";

/** Parts of the client that rounds of input requests use. */
export interface InputRounds {
  readonly clock: Clock;
  readonly limits: ClientLimits;
  /** Handles an input request of the server. */
  answer(method: string, params: Params | undefined, end: AbortSwitch): Promise<ClientResult>;
  /** Runs work between two requests of the call, while nothing is sent. */
  offWire<T>(work: () => Promise<T>): Promise<T>;
  send(request: ConnectionCall): Promise<ClientResult>;
}

/**
 * Handles the input requests of a result and repeats the call with the responses, until the server requests no more
 * input.
 */
export async function answerInput(
  first: ConnectionCall,
  asked: ClientResult,
  lifetime: CallLifetime,
  rounds: InputRounds,
): Promise<ClientResult> {
  const { method } = first;
  let result = asked;
  let pauses = 0;
  for (let round = 0; result.resultType === "input_required"; round++) {
    if (round === rounds.limits.maxRounds) throw tooManyRounds(method, round, result);
    const { inputRequests, requestState } = result as unknown as InputRequiredResult;
    const count = Object.keys(inputRequests ?? {}).length;
    if (count > rounds.limits.maxQuestions) throw tooManyQuestions(method, rounds.limits.maxQuestions);
    if (requestState === undefined && count === 0) {
      throw new ProtocolError(`${method}: the server returned input_required without inputRequests or requestState`);
    }
    const params: Record<string, unknown> = { ...first.params };
    pauses = inputRequests === undefined ? pauses + 1 : 0;
    await rounds.offWire(async () => {
      if (inputRequests === undefined)
        await wait(Math.min(FIRST_PAUSE_MS * 2 ** (pauses - 1), LONGEST_PAUSE_MS), lifetime, rounds.clock);
      else params.inputResponses = await answerAll(inputRequests, lifetime, rounds);
    });
    if (requestState !== undefined) params.requestState = requestState;
    result = await sendRound({ ...first, params, id: undefined }, lifetime, rounds);
  }
  return result;
}

/** Delays before a round is sent again. The server may request longer ones, up to the maximum. */
const RESEND: Backoff = { delayMs: 250, maxDelayMs: 30_000 };

/**
 * Sends a round. If it was refused for now and no handler ran, sends it again: the answers of the user and the steps of
 * the call would be lost otherwise.
 */
async function sendRound(request: ConnectionCall, lifetime: CallLifetime, rounds: InputRounds): Promise<ClientResult> {
  const { clock, limits } = rounds;
  for (let failures = 0; ; failures++) {
    try {
      return await rounds.send(request);
    } catch (error) {
      const ms = Math.max(backoffMs(failures, RESEND), askedMs(error, RESEND));
      if (!isPostponed(error) || failures >= limits.maxResends || ms >= lifetime.leftMs) throw afterFirstAnswer(error);
      await rounds.offWire(() => wait(ms, lifetime, clock));
    }
  }
}

/** Waits before a request. The silence of the server does not count meanwhile. */
async function wait(ms: number, lifetime: CallLifetime, clock: Clock): Promise<void> {
  lifetime.pauseIdle();
  try {
    await pause(clock, ms, lifetime.signal);
    lifetime.throwIfAborted();
  } finally {
    lifetime.resumeIdle();
  }
}

/** Handles all input requests. The first failure aborts the others. */
async function answerAll(
  requests: InputRequests,
  lifetime: CallLifetime,
  rounds: InputRounds,
): Promise<Record<string, unknown>> {
  const end = new AbortSwitch();
  const endRound = (reason: unknown) => end.abort(reason);
  lifetime.onAbort(endRound);
  lifetime.pauseIdle();
  try {
    const ended = new Promise<never>((_, reject) => end.onAbort(reject));
    const answers = Object.entries(requests).map(async ([key, { method, params }]) => {
      return [key, await rounds.answer(method, params as Params | undefined, end)] as const;
    });
    return Object.fromEntries(await Promise.race([Promise.all(answers), ended]));
  } catch (error) {
    end.abort(error);
    throw error;
  } finally {
    lifetime.resumeIdle();
    lifetime.offAbort(endRound);
  }
}

/** Waits before a request that only returns the state, which polls the server. They double. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 5_000;

/** Creates the error for more input requests than `maxQuestions` at once. */
export function tooManyQuestions(method: string, most: number): McpError {
  return new McpError(
    "too_many_questions",
    `${method}: the server sent more than ${most} input requests at once (limits.maxQuestions)`,
  );
}

function tooManyRounds(method: string, most: number, result: ClientResult): InputRequiredError {
  const message = `${method}: the server requested input more than ${most} times (limits.maxRounds)`;
  return new InputRequiredError("too_many_rounds", message, result as unknown as InputRequiredResult);
}
