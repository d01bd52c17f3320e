import type { Clock } from "../../../../call/clock.js";
import type { Records, Stored } from "../../../../cluster/cluster.js";
import { isUnknown } from "../../../../cluster/error.js";
import { type Change, update } from "../../../../cluster/update.js";
import { ENDED_SESSIONS, GRACE_MS, idOf, keyOf, parseRecord, type SessionRecord } from "./session-record.js";
import { untilReached } from "./until-reached.js";

export interface SessionEndsOptions {
  readonly clock: Clock;
  readonly records: Records;
  /** Removes everything of a session except its record. */
  clear(id: string): Promise<void>;
  /** Tells the author. */
  onEnd(id: string): void;
  /** Fires when this process shuts down. */
  readonly closing: AbortSignal;
  report(error: unknown): void;
}

/**
 * Ends of sessions. The record is marked first, so that no process serves the session, and deleted last. If the process
 * fails in between, the sweeper completes the end.
 */
export class SessionEnds {
  readonly #options: SessionEndsOptions;

  constructor(options: SessionEndsOptions) {
    this.#options = options;
  }

  /** Marks a session as ended. Returns false if it has ended before. */
  async begin(id: string): Promise<boolean> {
    let isMarked = false;
    await update(this.#options.records, keyOf(id), (stored) => {
      const isOpen = stored !== undefined && parseRecord(stored.value) !== undefined;
      isMarked = isOpen;
      return isOpen ? marked(stored) : undefined;
    });
    return isMarked;
  }

  /** Marks a record. Returns false if it has changed since it was read. */
  async mark(stored: Stored): Promise<boolean> {
    const { value, ...options } = marked(stored);
    return (
      (await this.#options.records.put(stored.key, value, { ...options, ifVersion: stored.version })) !== undefined
    );
  }

  /** Completes an end. The process that deletes the record tells the author. */
  async finish(key: string): Promise<void> {
    const { records, clear, onEnd } = this.#options;
    const id = idOf(key);
    await clear(id);
    let mayBeDeleted = false;
    const remove = async () => {
      if (mayBeDeleted && (await records.get(key)) === undefined) return onEnd(id);
      try {
        if (await records.delete(key)) onEnd(id);
      } catch (error) {
        mayBeDeleted ||= isUnknown(error);
        throw error;
      }
    };
    await remove().catch((error: unknown) => {
      if (!mayBeDeleted) throw error;
      // The sweeper does not find a record that is gone.
      return this.#later(remove);
    });
  }

  /** Tries again at once, and if that fails, without being waited for. */
  async #later(remove: () => Promise<void>): Promise<void> {
    const { clock, closing, report } = this.#options;
    await remove().catch(() => void untilReached(clock, closing, remove).catch(report));
  }

  /** Ends a session that the author knows of, but whose record may not have been stored. Waits for the engine. */
  async endUnstored(id: string, signal: AbortSignal): Promise<void> {
    const { clock, records, onEnd } = this.#options;
    const isStored = await untilReached(clock, signal, async () => {
      await this.begin(id);
      return (await records.get(keyOf(id))) !== undefined;
    });
    if (isStored) await this.finish(keyOf(id));
    else onEnd(id);
  }
}

/** Returns the record of a session that has ended. */
function marked({ value }: Stored): Change {
  const record = { ...(JSON.parse(value) as SessionRecord), ended: crypto.randomUUID() };
  return { value: JSON.stringify(record), ttlMs: GRACE_MS, index: [{ index: ENDED_SESSIONS, score: 0 }] };
}
