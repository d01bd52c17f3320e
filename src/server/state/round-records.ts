import { AbortSwitch } from "../../call/abort-switch.js";
import { pause } from "../../call/abortable.js";
import { type Clock, MAX_SKEW_MS, timeOfDay, unref } from "../../call/clock.js";
import type { MaybePromise } from "../../call/maybe-promise.js";
import type { Cluster } from "../../cluster/cluster.js";
import type { ClusterError, ClusterFailure } from "../../cluster/error.js";
import type { ServerRuntime } from "../../era/server-era.js";
import { LifeSign } from "./life-sign.js";

/** State that a client presented, with the time of day at which it expires. */
export interface PresentedState {
  readonly id: string;
  readonly untilMs: number;
}

/** Right of this server to run the round of a state. */
export interface Claim extends PresentedState {
  /** Random name of the claim. */
  readonly name: string;
  /** Steps of earlier attempts, sealed. */
  readonly steps: string | undefined;
  /** Version of the record. Undefined if it is not known whether the engine has stored it. */
  readonly version: string | undefined;
  /** Version of the former record, null if there was none. */
  readonly former: string | null;
}

/** Record of a state. It names the server that runs the round, or its end, or neither if the round may run again. */
interface Mark {
  readonly v: 1;
  /** Life sign of the server that runs the round. */
  readonly owner?: string;
  /** Name of its claim. */
  readonly claim?: string;
  /** True if the round has returned a result. */
  readonly used?: true;
  readonly steps?: string | undefined;
}

/** Record of a round that may run again. */
export interface FreeRound {
  readonly version: string;
  readonly steps: string | undefined;
}

/** End of the wait for a round that another attempt has claimed. */
export type Settled =
  /** The round may run again. */
  | { readonly kind: "free"; readonly free: FreeRound }
  /** The round has returned a result. Its sealed outcome is undefined if it is not kept. */
  | { readonly kind: "used"; readonly outcome: string | undefined }
  /** The server that runs the round is gone. */
  | { readonly kind: "lost" };

/** End of a claim: the sealed outcome of the round, or the sealed steps with which it may run again. */
export type End =
  | { readonly used: true; readonly outcome?: string | undefined }
  | { readonly steps?: string | undefined };

type Runtime = Pick<ServerRuntime, "clock" | "limits" | "report" | "onClosing">;

const TOPIC = "states";
/** Number of times that a record is read during the life of a lease if no message arrives. */
const LOOKS = 2;
const FIRST_WAIT_MS = 100;
const MAX_WAIT_MS = 5_000;

/**
 * Records of presented states in a cluster. The record of a state is created by compare-and-set, so that one server runs
 * its round. The outcome is a record of its own with a shorter life.
 */
export class RoundRecords {
  readonly #cluster: Pick<Cluster, "records" | "bus" | "leases">;
  readonly #runtime: Runtime;
  /** Clock whose timers do not keep the process alive. */
  readonly #clock: Clock;
  readonly #life: LifeSign;
  readonly #closing = new AbortSwitch();

  constructor(cluster: Pick<Cluster, "records" | "bus" | "leases">, runtime: Runtime) {
    this.#cluster = cluster;
    this.#runtime = runtime;
    this.#clock = withoutRef(runtime.clock);
    this.#life = new LifeSign(cluster, this.#clock, runtime.limits.nodeLeaseMs);
    runtime.onClosing(() => {
      this.#closing.abort(undefined);
      this.#life.close();
    });
  }

  /** Claims the round of a new state, or of one that is free. Returns undefined if another attempt was faster. */
  async claim(state: PresentedState, free: FreeRound | undefined): Promise<Claim | undefined> {
    const owner = await this.#life.enter();
    const { steps, version: former = null } = free ?? { steps: undefined };
    const claim = { ...state, name: crypto.randomUUID(), steps, former };
    try {
      const version = await this.#put(state, { v: 1, owner, claim: claim.name, steps }, former);
      if (version !== undefined) return { ...claim, version };
    } catch (error) {
      // The engine may have stored the record, or may store it later.
      if (failureOf(error) === "unknown_outcome") void this.end({ ...claim, version: undefined }, { steps });
      else this.#life.leave();
      throw error;
    }
    this.#life.leave();
    return undefined;
  }

  /** Waits while another attempt runs the round. Throws if the switch is aborted or the engine is away. */
  async settled({ id }: PresentedState, end: AbortSwitch): Promise<Settled> {
    const { bus } = this.#cluster;
    let news = new AbortSwitch();
    const wake = () => void news.abort(undefined);
    const leave = await bus.subscribe(TOPIC, (text) => text === id && wake());
    const forgetGaps = bus.onGap(wake);
    end.onAbort(wake);
    try {
      for (;;) {
        end.throwIfAborted();
        const settled = await this.#look(id);
        if (settled !== undefined) return settled;
        await pause(this.#clock, this.#runtime.limits.nodeLeaseMs / LOOKS, news.signal);
        news = new AbortSwitch();
      }
    } finally {
      end.offAbort(wake);
      forgetGaps();
      this.#ignore(leave);
    }
  }

  /** Ends a claim. If the engine is away, the first attempt is reported, and others follow in the background. */
  async end(claim: Claim, end: End): Promise<void> {
    try {
      await this.#write(claim, end);
      this.#life.leave();
    } catch (error) {
      this.#runtime.report(error, { where: "cluster" });
      void this.#endLater(claim, end);
    }
  }

  async #endLater(claim: Claim, end: End): Promise<void> {
    let waitMs = FIRST_WAIT_MS;
    for (let isDone = false; !isDone && !this.#closing.aborted && this.#lifeOf(claim) > 1; ) {
      await pause(this.#clock, waitMs, this.#closing.signal);
      waitMs = Math.min(2 * waitMs, MAX_WAIT_MS);
      isDone = await this.#write(claim, end).then(
        () => true,
        () => false,
      );
    }
    this.#life.leave();
  }

  /** Writes the end of a claim, and tells the processes that wait for it. A repetition has no effect. */
  async #write(claim: Claim, end: End): Promise<void> {
    const { outcome, ...mark } = "used" in end ? end : { ...end, outcome: undefined };
    if (outcome !== undefined) await this.#keep(claim, outcome);
    const version = claim.version ?? (await this.#versionOf(claim));
    if (version !== undefined) await this.#put(claim, { v: 1, ...mark }, version);
    await this.#cluster.bus.publish(TOPIC, claim.id);
  }

  /** Stores an outcome. An outcome that the engine refuses is not kept. */
  async #keep(claim: Claim, outcome: string): Promise<void> {
    const ttlMs = Math.min(this.#runtime.limits.stateOutcomeMs, this.#lifeOf(claim));
    try {
      await this.#cluster.records.put(outcomeKey(claim.id), outcome, { ttlMs });
    } catch (error) {
      if (failureOf(error) !== "refused") throw error;
      this.#runtime.report(error, { where: "cluster" });
    }
  }

  /**
   * Returns the version of a record that the engine may have stored for a claim, or the version of the former record: if
   * that is replaced, the record of the claim cannot be stored any more. Returns undefined if another attempt was faster.
   */
  async #versionOf({ id, name, former }: Claim): Promise<string | null | undefined> {
    const found = await this.#cluster.records.get(stateKey(id));
    const version = found?.version ?? null;
    return version === former || (found !== undefined && read(found.value).claim === name) ? version : undefined;
  }

  /** Reads the record of a state. Returns undefined if its round is running. */
  async #look(id: string): Promise<Settled | undefined> {
    const { records } = this.#cluster;
    const found = await records.get(stateKey(id));
    if (found === undefined) return { kind: "used", outcome: undefined };
    const { owner, used, steps } = read(found.value);
    if (owner === undefined && used !== true) return { kind: "free", free: { version: found.version, steps } };
    if (owner !== undefined) {
      if (!(await this.#life.isGone(owner))) return undefined;
      // The round may have ended between the two operations.
      if ((await records.get(stateKey(id)))?.version !== found.version) return this.#look(id);
    }
    const outcome = (await records.get(outcomeKey(id)))?.value;
    return owner === undefined || outcome !== undefined ? { kind: "used", outcome } : { kind: "lost" };
  }

  #put(state: PresentedState, mark: Mark, ifVersion: string | null): MaybePromise<string | undefined> {
    const ttlMs = this.#lifeOf(state);
    return this.#cluster.records.put(stateKey(state.id), JSON.stringify(mark), { ttlMs, ifVersion });
  }

  /** Milliseconds for which the record of a state is kept: longer than it is accepted on a clock that is behind this one. */
  #lifeOf({ untilMs }: PresentedState): number {
    return Math.max(1, Math.ceil(untilMs + MAX_SKEW_MS - timeOfDay(this.#runtime.clock)) + 1);
  }

  /** Leaves the bus. A failure leaves a listener without an effect. */
  #ignore(leave: () => MaybePromise<void>): void {
    Promise.resolve()
      .then(leave)
      .catch(() => {});
  }
}

/** Reads a mark. A format of another release counts as used. */
function read(value: string): Mark {
  const mark = JSON.parse(value) as Mark;
  return mark.v === 1 ? mark : { v: 1, used: true };
}

function failureOf(error: unknown): ClusterFailure | undefined {
  return (error as Partial<ClusterError>).failure;
}

function withoutRef(clock: Clock): Clock {
  return {
    now: () => clock.now(),
    schedule(callback, ms) {
      const timer = clock.schedule(callback, ms);
      unref(timer);
      return timer;
    },
    cancel: (timer) => clock.cancel(timer),
  };
}

function stateKey(id: string): string {
  return `round/${id}`;
}

function outcomeKey(id: string): string {
  return `outcome/${id}`;
}
