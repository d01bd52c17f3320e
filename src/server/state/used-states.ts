import type { Clock } from "../../call/clock.js";
import { type Deadline, DeadlineQueue } from "../../call/deadline-queue.js";
import type { Call, HandlerResult, StateUse } from "../../era/server-era.js";
import type { ServerLimits } from "../../era/server-limits.js";
import { Steps } from "../../era/steps.js";
import { McpError } from "../../protocol/errors.js";

type Limits = Pick<ServerLimits, "maxUsedStates" | "maxOutcomeChars" | "stateOutcomeMs" | "stateTtlMs">;

/**
 * The sealed states that were presented, each for as long as it is good. A round runs once: whoever presents the same state
 * again, as a client does whose answer was lost, joins the round that runs or gets its outcome for a while.
 */
export class UsedStates {
  readonly #uses = new Map<string, RoundOfState>();
  readonly #marks: DeadlineQueue<RoundOfState>;
  readonly #outcomes: DeadlineQueue<RoundOfState>;
  readonly #limits: Limits;
  /** Characters of the outcomes that are kept. */
  #chars = 0;

  constructor(clock: Clock, limits: Limits) {
    this.#limits = limits;
    this.#marks = new DeadlineQueue(clock, limits.stateTtlMs, (round) => this.#remove(round));
    this.#outcomes = new DeadlineQueue(clock, limits.stateOutcomeMs, (round) => this.#forget(round));
  }

  /** The round of a state. Its caller is the one that the state was made for. */
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

  /** The oldest goes first, and none that runs. */
  #makeRoom(): void {
    if (this.#uses.size <= this.#limits.maxUsedStates) return;
    for (const round of this.#uses.values()) if (!round.isRunning) return this.#remove(round);
  }

  #remove(round: RoundOfState): void {
    this.#uses.delete(round.id);
    round.mark?.leave();
    if (round.place !== undefined) this.#forget(round);
  }

  /** Keeps the outcome of a round for a while. The oldest outcomes go where there is no room. */
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
  /** Where the state waits to be good no longer. */
  mark: Deadline<RoundOfState> | undefined;
  /** Where the outcome waits to be forgotten. */
  place: Deadline<RoundOfState> | undefined;
  /** Characters of the outcome. */
  chars = 0;
  readonly #onSettled: (round: RoundOfState) => void;
  #steps: Steps | undefined;
  /** Gives the outcome; undefined where there is none, and the round may run again. */
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

  /** A step is done once under one state, also where the call that began it was cancelled. */
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
    if (this.#isForgotten) throw new McpError("state_used", "a requestState was refused: used before");
  }

  forget(): void {
    this.#isForgotten = true;
    this.#outcome = undefined;
    this.#steps = undefined;
  }

  /** A result uses the state up. An error does not: the client may come again with better answers. */
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

/** The characters of a result as JSON. One that cannot be written is an error of its call. */
function lengthOf(result: HandlerResult): number {
  try {
    return JSON.stringify(result).length;
  } catch {
    return 0;
  }
}
