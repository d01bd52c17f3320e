import type { Clock } from "../../call/clock.js";
import { type Deadline, DeadlineQueue } from "../../call/deadline-queue.js";
import type { Call, HandlerResult, StateUse } from "../../era/server-era.js";
import type { ServerLimits } from "../../era/server-limits.js";
import { Steps } from "../../era/steps.js";
import { McpError } from "../../protocol/errors.js";

/**
 * The sealed states that were presented, each for as long as it is good. A round runs once: whoever presents the same state
 * again, as a client does whose answer was lost, joins the round that runs or gets its outcome for a while.
 */
export class UsedStates {
  readonly #uses = new Map<string, RoundOfState>();
  readonly #marks: DeadlineQueue<RoundOfState>;
  readonly #outcomes: DeadlineQueue<RoundOfState>;
  readonly #max: number;

  constructor(clock: Clock, limits: Pick<ServerLimits, "maxUsedStates" | "stateOutcomeMs" | "stateTtlMs">) {
    this.#max = limits.maxUsedStates;
    this.#marks = new DeadlineQueue(clock, limits.stateTtlMs, ({ id }) => this.#uses.delete(id));
    this.#outcomes = new DeadlineQueue(clock, limits.stateOutcomeMs, (round) => round.forget());
  }

  /** The round of a state. Its caller is the one that the state was made for. */
  use(id: string): StateUse {
    const known = this.#uses.get(id);
    if (known !== undefined) {
      known.assertKept();
      return known;
    }
    const round = new RoundOfState(id, (round) => this.#outcomes.add(round));
    this.#uses.set(id, round);
    round.mark = this.#marks.add(round);
    this.#makeRoom();
    return round;
  }

  /** The oldest goes first, and none that runs. */
  #makeRoom(): void {
    if (this.#uses.size <= this.#max) return;
    for (const round of this.#uses.values()) {
      if (round.isRunning) continue;
      this.#uses.delete(round.id);
      return round.leave();
    }
  }
}

const ignore = (): void => {};

class RoundOfState implements StateUse {
  /** Where the round waits for the end of its state. */
  mark: Deadline<RoundOfState> | undefined;
  readonly #onSettled: (round: RoundOfState) => Deadline<RoundOfState>;
  /** Where the outcome waits for its end. */
  #kept: Deadline<RoundOfState> | undefined;
  #steps: Steps | undefined;
  #running: Promise<void> | undefined;
  #outcome: { readonly result: HandlerResult } | undefined;
  #isForgotten = false;

  constructor(
    readonly id: string,
    onSettled: (round: RoundOfState) => Deadline<RoundOfState>,
  ) {
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
    while (this.#running !== undefined) await this.#running;
    this.assertKept();
    if (this.#outcome !== undefined) return this.#outcome.result;
    const running = (async () => run())();
    this.#running = running.then(ignore, ignore).then(() => {
      this.#running = undefined;
    });
    const result = await running;
    if (!call.end.aborted) this.#settle(result);
    return result;
  }

  assertKept(): void {
    if (this.#isForgotten) throw new McpError("state_used", "a requestState was refused: used before");
  }

  forget(): void {
    this.#isForgotten = true;
    this.#outcome = undefined;
    this.#steps = undefined;
  }

  /** Waits for nothing any more. */
  leave(): void {
    this.mark?.leave();
    this.#kept?.leave();
  }

  /** A result uses the state up. An error does not: the client may come again with better answers. */
  #settle(result: HandlerResult): void {
    this.#outcome = { result };
    this.#kept = this.#onSettled(this);
  }
}
