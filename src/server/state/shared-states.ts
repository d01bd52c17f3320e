import type { Cluster } from "../../cluster/cluster.js";
import {
  type Call,
  type HandlerResult,
  PreparedResult,
  type ServerRuntime,
  type StateUse,
} from "../../era/server-era.js";
import type { Steps } from "../../journal/steps.js";
import { McpError, RpcError } from "../../protocol/errors.js";
import { INTERNAL_ERROR, type Refusal } from "../../protocol/jsonrpc/errors.js";
import type { StateCipher } from "./options.js";
import { type Claim, type FreeRound, type PresentedState, RoundRecords } from "./round-records.js";
import { SharedSteps } from "./shared-steps.js";

/** Creates the refusal of a state that cannot be looked up now. */
export function stateIsAway(runtime: Pick<ServerRuntime, "busy">): Refusal {
  return runtime.busy(503, "cluster", "A requestState cannot be accepted: the state of the cluster is not available");
}

export interface SharedStatesOptions {
  readonly cluster: Pick<Cluster, "records" | "bus" | "leases">;
  /** Seals outcomes and steps in the engine. */
  readonly cipher: StateCipher;
  readonly runtime: ServerRuntime;
  /** Reports the reason why a state is refused. Returns the refusal for the client. */
  readonly refuse: (reason: McpError) => Refusal;
}

/**
 * Sealed states that were presented to any process of a cluster. A round that returns a result runs once. A client that
 * presents the same state again, to any process, waits for the running round or gets its outcome.
 */
export class SharedStates {
  readonly #options: SharedStatesOptions;
  readonly #records: RoundRecords;

  constructor(options: SharedStatesOptions) {
    this.#options = options;
    this.#records = new RoundRecords(options.cluster, options.runtime);
  }

  use(id: string, untilMs: number): StateUse {
    return new SharedRound({ id, untilMs }, this.#records, this.#options);
  }
}

class SharedRound implements StateUse {
  readonly #state: PresentedState;
  readonly #records: RoundRecords;
  readonly #options: SharedStatesOptions;
  #steps = new SharedSteps({});

  constructor(state: PresentedState, records: RoundRecords, options: SharedStatesOptions) {
    this.#state = state;
    this.#records = records;
    this.#options = options;
  }

  stepsAfter(done: Readonly<Record<string, unknown>>): Steps {
    this.#steps = new SharedSteps(done);
    return this.#steps;
  }

  async once(call: Call, run: () => HandlerResult | Promise<HandlerResult>): Promise<HandlerResult> {
    for (let free: FreeRound | undefined; ; ) {
      const claim = await this.#ask(call, () => this.#records.claim(this.#state, free));
      if (claim !== undefined) return this.#run(claim, call, run);
      const settled = await this.#ask(call, () => this.#records.settled(this.#state, call.end));
      if (settled.kind === "lost") throw this.#lost();
      if (settled.kind === "used") return this.#open(settled.outcome);
      free = settled.free;
    }
  }

  /** Asks the engine. Without it no state can be accepted. */
  async #ask<T>(call: Call, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (call.end.aborted) throw call.end.reason;
      const { runtime } = this.#options;
      runtime.report(error, { where: "cluster", method: call.method, id: call.id });
      throw stateIsAway(runtime);
    }
  }

  /** Runs the round. A result uses up the state. After an error or a cancellation, the client may try again. */
  async #run(claim: Claim, call: Call, run: () => HandlerResult | Promise<HandlerResult>): Promise<HandlerResult> {
    let result: HandlerResult;
    try {
      if (claim.steps !== undefined) this.#steps.adopt(await this.#unseal("steps", claim.steps));
      call.end.throwIfAborted();
      result = await run();
    } catch (error) {
      void this.#release(claim);
      throw error;
    }
    if (call.end.aborted) void this.#release(claim);
    else await this.#records.end(claim, { used: true, outcome: await this.#sealOutcome(result) });
    return result;
  }

  /** Allows another attempt, which continues with the steps of this one. A step that is running is awaited. */
  async #release(claim: Claim): Promise<void> {
    const done = await this.#steps.end();
    try {
      const steps = Object.keys(done).length === 0 ? undefined : await this.#seal("steps", JSON.stringify(done));
      await this.#records.end(claim, { steps });
    } catch (error) {
      this.#report(error);
      // Without its steps the round must not run again.
      await this.#records.end(claim, { used: true });
    }
  }

  /** Returns undefined for an outcome that is not to be kept. */
  async #sealOutcome(result: HandlerResult): Promise<string | undefined> {
    const { stateOutcomeMs, maxOutcomeChars } = this.#options.runtime.limits;
    try {
      const text = JSON.stringify(result instanceof PreparedResult ? result.result : result);
      const isKept = stateOutcomeMs > 0 && text.length <= maxOutcomeChars;
      return isKept ? await this.#seal("outcome", text) : undefined;
    } catch (error) {
      this.#report(error);
      return undefined;
    }
  }

  async #open(outcome: string | undefined): Promise<HandlerResult> {
    let cause: unknown;
    try {
      if (outcome !== undefined) return await this.#unseal("outcome", outcome);
    } catch (error) {
      cause = error;
    }
    const why = "it has already been used, and its outcome is not kept (limits.stateOutcomeMs, limits.maxOutcomeChars)";
    throw this.#options.refuse(new McpError("state_used", `A requestState was refused: ${why}`, { cause }));
  }

  #lost(): RpcError {
    const text = "The outcome of this request is unknown: the process that ran it is gone. It is not run again";
    this.#report(new McpError("outcome_unknown", text));
    return new RpcError(INTERNAL_ERROR, text);
  }

  #seal(kind: string, text: string): Promise<string> {
    return this.#options.cipher.close(text, this.#binding(kind));
  }

  async #unseal(kind: string, sealed: string): Promise<Record<string, unknown>> {
    return JSON.parse((await this.#options.cipher.open(sealed, this.#binding(kind))).plain);
  }

  /** Binds a sealed text to its kind and state. It differs from each binding of a state, which begins with `"`. */
  #binding(kind: string): string {
    return `${kind} ${this.#state.id}`;
  }

  #report(error: unknown): void {
    this.#options.runtime.report(error, { where: "requestState" });
  }
}
