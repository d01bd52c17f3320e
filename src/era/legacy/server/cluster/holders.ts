import type { Clock } from "../../../../call/clock.js";
import type { Cluster } from "../../../../cluster/cluster.js";
import { ClusterError } from "../../../../cluster/error.js";
import { update } from "../../../../cluster/update.js";
import { untilReached } from "./until-reached.js";

/** Time for which the holder of a standalone stream is remembered. */
const KEPT_MS = 86_400_000;

/** Process that writes the standalone stream of a session. The newest GET has the highest turn. */
export interface Holder {
  readonly node: string;
  readonly turn: number;
  /** True if a GET has made it the holder, so that it may have sent messages. */
  readonly listens?: boolean;
}

/** Turn of this process. */
interface Turn {
  readonly turn: number;
  /** Time at which the life of the record began. */
  keptAt: number;
}

/** Name of the holder of a stream that no process writes. */
const NOBODY = "";

/** Holders of the standalone streams of sessions, as records. */
export class Holders {
  readonly #cluster: Cluster;
  readonly #clock: Clock;
  /** Turns of this process by session. */
  readonly #own = new Map<string, Turn>();
  readonly #closing = new AbortController();

  constructor(cluster: Cluster, clock: Clock) {
    this.#cluster = cluster;
    this.#clock = clock;
  }

  /**
   * Makes this process the holder, for a GET if there is `isOpen`. Returns the former one. Fails if `isOpen` says that the
   * session has ended.
   */
  async succeed(session: string, isOpen?: () => Promise<boolean>): Promise<Holder | undefined> {
    const { records, node } = this.#cluster;
    let before: Holder | undefined;
    let turn = 0;
    await update(records, keyOf(session), (stored) => {
      before = stored && (JSON.parse(stored.value) as Holder);
      turn = (before?.turn ?? 0) + 1;
      // If the outcome is unknown, this process may be the holder in any turn.
      this.leave(session);
      const own: Holder = { node, turn, listens: isOpen !== undefined };
      return { value: JSON.stringify(own), ttlMs: KEPT_MS };
    });
    if (before === undefined && isOpen !== undefined) await this.#assertOpen(session, isOpen);
    this.#own.set(session, { turn, keptAt: this.#clock.now() });
    return before;
  }

  /** Deletes a new record unless the session is open. The end of a session deletes the record, so none may come later. */
  async #assertOpen(session: string, isOpen: () => Promise<boolean>): Promise<void> {
    let hasEnded = true;
    try {
      hasEnded = !(await isOpen());
    } finally {
      if (hasEnded) await this.delete(session);
    }
    if (hasEnded) throw new ClusterError("dropped", "The session has ended");
  }

  /** Returns the turn of this process, or 0 if it has had none. */
  turnOf(session: string): number {
    return this.#own.get(session)?.turn ?? 0;
  }

  /** True if no other process has taken the stream over since this one did. */
  async isOwn(session: string): Promise<boolean> {
    const stored = await this.#cluster.records.get(keyOf(session));
    const holder = stored && (JSON.parse(stored.value) as Holder);
    return holder?.node === this.#cluster.node && holder.turn === this.#own.get(session)?.turn;
  }

  /** Extends the life of the record of a stream in use. */
  async keep(session: string): Promise<void> {
    const own = this.#own.get(session);
    if (own === undefined || this.#clock.now() - own.keptAt < KEPT_MS / 2) return;
    own.keptAt = this.#clock.now();
    await this.#cluster.records.touch(keyOf(session), KEPT_MS);
  }

  /**
   * Stores that no process writes the stream, so that the next holder knows that changes were missed. Waits for an engine
   * that is away. Returns false if another process is the holder.
   */
  async giveUp(session: string): Promise<boolean> {
    const { records, node } = this.#cluster;
    const turn = this.#own.get(session)?.turn;
    return untilReached(this.#clock, this.#closing.signal, async () => {
      let isOwn = true;
      await update(records, keyOf(session), (stored) => {
        const holder = stored && (JSON.parse(stored.value) as Holder);
        if (holder === undefined || holder.node === NOBODY) return undefined;
        isOwn = holder.node === node && holder.turn === (turn ?? holder.turn);
        const value = JSON.stringify({ ...holder, node: NOBODY, listens: true } satisfies Holder);
        return isOwn ? { value, ttlMs: KEPT_MS } : undefined;
      });
      return isOwn;
    });
  }

  /** Ends the waiting for an engine that is away. */
  close(): void {
    this.#closing.abort();
  }

  /** Forgets the turn of this process. */
  leave(session: string): void {
    this.#own.delete(session);
  }

  async delete(session: string): Promise<void> {
    this.leave(session);
    await this.#cluster.records.delete(keyOf(session));
  }
}

function keyOf(session: string): string {
  return `holder:${session}`;
}
