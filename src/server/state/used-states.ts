import type { Clock } from "../../call/clock.js";
import { type Deadline, DeadlineQueue } from "../../call/deadline-queue.js";
import type { Call, HandlerResult, StateUse } from "../../era/server-era.js";
import type { ServerLimits } from "../../era/server-limits.js";
import { Steps } from "../../journal/steps.js";
import { McpError } from "../../protocol/errors.js";

type Limits = Pick<ServerLimits, "maxUsedStates" | "maxOutcomeChars" | "stateOutcomeMs" | "stateTtlMs">;

/**
 * Sealed states that were presented, until they expire. A round that returns a result runs once. A client that presents
 * the same state again, because it did not get the response, joins the running round or gets its outcome.
 */
export class UsedStates {
  readonly #uses = new Map<string, RoundOfState>();
  readonly #marks: DeadlineQueue<RoundOfState>;
  readonly #outcomes: DeadlineQueue<RoundOfState>;
  readonly #limits: Limits;
  /** Total length of the kept outcomes. */
  #chars = 0;

  /** `skewMs` is the maximum difference to the clocks of processes that seal states for this one. */
  constructor(clock: Clock, limits: Limits, skewMs: number) {
    this.#limits = limits;
    // A process that is ahead seals a state for so much longer, and it is accepted for as long after its expiry.
    this.#marks = new DeadlineQueue(clock, limits.stateTtlMs + 2 * skewMs, (round) => this.#remove(round));
    this.#outcomes = new DeadlineQueue(clock, limits.stateOutcomeMs, (round) => this.#forget(round));
  }

  /** Returns the round of a state. Throws if its outcome is no longer kept. The seal has already checked the caller. */
  use(id: string): StateUse {
    const known = this.#uses.get(id);
    if (known !== undefined) {
      known.assertKept();
      return known;
    }
    const round = new RoundOfState(id, (round) => this.#keep(round));
    this.#uses.set(id, round);
    round.mark = this.#marks.add(round);
    this.#makeRoom();
    return round;
  }

  /** Removes the oldest round that is not running if there are more than `maxUsedStates`. */
  #makeRoom(): void {
    if (this.#uses.size <= this.#limits.maxUsedStates) return;
    for (const round of this.#uses.values()) if (!round.isRunning) return this.#remove(round);
  }

  #remove(round: RoundOfState): void {
    this.#uses.delete(round.id);
    round.mark?.leave();
    if (round.place !== undefined) this.#forget(round);
  }

  /** Keeps the outcome of a round for a while. Removes the oldest outcomes beyond the limit. */
  #keep(round: RoundOfState): void {
    round.place = this.#outcomes.add(round);
    this.#chars += round.chars;
    if (this.#limits.stateOutcomeMs === 0) this.#forget(round);
    while (this.#chars > this.#limits.maxOutcomeChars) this.#forget(this.#outcomes.find(() => true) as RoundOfState);
  }

  #forget(round: RoundOfState): void {
    round.place?.leave();
    round.place = undefined;
    this.#chars -= round.chars;
    round.forget();
  }
}

interface RoundOutcome {
  readonly result: HandlerResult;
}

class RoundOfState implements StateUse {
  readonly id: string;
  /** Deadline at which the state expires. */
  mark: Deadline<RoundOfState> | undefined;
  /** Deadline at which the outcome is removed. */
  place: Deadline<RoundOfState> | undefined;
  /** Length of the outcome. */
  chars = 0;
  readonly #onSettled: (round: RoundOfState) => void;
  #steps: Steps | undefined;
  /** Resolves with the outcome, or with undefined if there is none and the round may run again. */
  #running: Promise<RoundOutcome | undefined> | undefined;
  #outcome: RoundOutcome | undefined;
  #isForgotten = false;

  constructor(id: string, onSettled: (round: RoundOfState) => void) {
    this.id = id;
    this.#onSettled = onSettled;
  }

  get isRunning(): boolean {
    return this.#running !== undefined;
  }

  /** Returns the steps of a state. A step runs once per state, even if the call that started it was cancelled. */
  stepsAfter(done: Readonly<Record<string, unknown>>): Steps {
    this.#steps ??= new Steps(done);
    return this.#steps;
  }

  async once(call: Call, run: () => HandlerResult | Promise<HandlerResult>): Promise<HandlerResult> {
    while (this.#running !== undefined) {
      const joined = await this.#running;
      if (joined !== undefined) return joined.result;
    }
    if (call.end.aborted) throw call.end.reason;
    this.assertKept();
    if (this.#outcome !== undefined) return this.#outcome.result;
    const running = (async () => run())();
    this.#running = running.then(
      (result) => this.#settle(call, result),
      () => this.#settle(call, undefined),
    );
    return running;
  }

  assertKept(): void {
    if (!this.#isForgotten) return;
    const kept = "its outcome is no longer kept (limits.stateOutcomeMs, limits.maxOutcomeChars)";
    throw new McpError("state_used", `A requestState was refused: it has already been used, and ${kept}`);
  }

  forget(): void {
    this.#isForgotten = true;
    this.#outcome = undefined;
    this.#steps = undefined;
  }

  /**
   * Ends a round. A result uses up the state. An error or a cancellation does not: the client may try again, even with
   * other responses.
   */
  #settle(call: Call, result: HandlerResult | undefined): RoundOutcome | undefined {
    this.#running = undefined;
    if (result === undefined || call.end.aborted) return undefined;
    const outcome = { result };
    this.#outcome = outcome;
    this.chars = lengthOf(result);
    this.#onSettled(this);
    return outcome;
  }
}

/** Length of a result as JSON. A result that cannot be written fails later, in its own call. */
function lengthOf(result: HandlerResult): number {
  try {
    return JSON.stringify(result).length;
  } catch {
    return 0;
  }
}
