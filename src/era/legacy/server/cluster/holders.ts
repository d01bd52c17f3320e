import { ClusterError } from "../../../../cluster/error.js";
import type { KnownRecord } from "./known-record.js";
import type { Retries } from "./retries.js";
import type { Holder, SessionRecord } from "./session-record.js";

/** Name of the holder of a stream that no process writes. */
export const NOBODY = "";

export interface HoldersOptions {
  readonly node: string;
  readonly retries: Retries;
  /** Returns the record of a session. */
  record(session: string): KnownRecord;
  /** Returns the record of a session that is used now. */
  inUse(record: SessionRecord): SessionRecord;
}

/** Turns of this process as the holder of standalone streams. The record of a session names the holder of its stream. */
export class Holders {
  readonly #options: HoldersOptions;
  /** Turns of this process by session. Undefined while it takes a turn. */
  readonly #own = new Map<string, number | undefined>();

  constructor(options: HoldersOptions) {
    this.#options = options;
  }

  /** Notes the first turn, which this process has stored with a new session. */
  begin(session: string, { turn }: Pick<Holder, "turn">): void {
    this.#own.set(session, turn);
  }

  /** Makes this process the holder for a GET. Returns the former one. Fails if the session has ended. */
  async take(session: string): Promise<Holder | undefined> {
    const { node, record, inUse } = this.#options;
    let before: Holder | undefined;
    let turn = 0;
    // If the outcome is unknown, this process may be the holder in any turn.
    this.#own.set(session, undefined);
    try {
      const taken = await record(session).change((stored) => {
        const { holder } = stored;
        // An attempt whose outcome was unknown was carried out.
        if (turn > 0 && holder?.node === node && holder.turn === turn) return undefined;
        before = holder;
        turn = (holder?.turn ?? 0) + 1;
        return inUse({ ...stored, holder: { node, turn, listens: true } });
      });
      if (taken === undefined) throw new ClusterError("dropped", "The session has ended");
    } catch (error) {
      this.#own.delete(session);
      throw error;
    }
    this.#own.set(session, turn);
    return before;
  }

  /** Returns the turn of this process, or 0 if it has had none. */
  turnOf(session: string): number {
    return this.#own.get(session) ?? 0;
  }

  /** True if this process is the holder by this record. */
  isOwn(session: string, holder: Holder | undefined): boolean {
    return holder?.node === this.#options.node && holder.turn === this.#own.get(session);
  }

  /** True if another process is the holder by this record, and this one does not take the stream over now. */
  isLost(session: string, holder: Holder | undefined): boolean {
    if (holder === undefined || holder.node === this.#options.node) return false;
    const isTaking = this.#own.has(session) && this.#own.get(session) === undefined;
    return !isTaking && holder.turn > this.turnOf(session);
  }

  /**
   * Stores that no process writes the stream, so that the next holder knows that changes were missed. `received` says which
   * messages to all clients were not. Waits until the engine can be reached. Returns false if another process is the holder.
   */
  async giveUp(session: string, received?: Holder["received"]): Promise<boolean> {
    const { node, retries } = this.#options;
    const turn = this.#own.get(session);
    const record = this.#options.record(session);
    return retries.inBackground(async () => {
      let isOwn = true;
      await record.change((stored) => {
        const { holder } = stored;
        if (holder === undefined || holder.node === NOBODY) return undefined;
        isOwn = holder.node === node && holder.turn === (turn ?? holder.turn);
        return isOwn
          ? { ...stored, holder: { node: NOBODY, turn: holder.turn, listens: true, ...(received && { received }) } }
          : undefined;
      });
      return isOwn;
    });
  }

  /** Forgets the turn of this process. */
  leave(session: string): void {
    this.#own.delete(session);
  }
}
