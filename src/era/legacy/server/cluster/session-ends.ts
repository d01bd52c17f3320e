import type { Records, Stored } from "../../../../cluster/cluster.js";
import { isUnknown } from "../../../../cluster/error.js";
import type { KnownRecord } from "./known-record.js";
import type { Retries } from "./retries.js";
import { ended, keyOf, type SessionRecord, storedAs } from "./session-record.js";

export interface SessionEndsOptions {
  readonly records: Records;
  readonly retries: Retries;
  /** Returns the time of day. */
  now(): number;
  /** Removes everything of a session except its record. `watches` is false if its client has watched nothing. */
  clear(id: string, watches: boolean): Promise<void>;
  /** Tells the author. */
  onEnd(id: string): void;
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

  /** Marks a session as ended. Returns the marked record, or undefined if the session has ended before. */
  begin(record: KnownRecord): Promise<SessionRecord | undefined> {
    const by = crypto.randomUUID();
    return record.change((before) => ({ ...before, ended: by }));
  }

  /** Marks a session that was listed. Returns false if it has changed since then. */
  async beginListed({ key, value, version }: Stored): Promise<boolean> {
    const { records, now } = this.#options;
    const { value: next, ...options } = storedAs(ended(value, crypto.randomUUID()), now());
    return (await records.put(key, next, { ...options, ifVersion: version })) !== undefined;
  }

  /** Completes an end. The process that deletes the record tells the author. */
  async finish(id: string, watches = true): Promise<void> {
    const { records, clear, onEnd } = this.#options;
    await clear(id, watches);
    let mayBeDeleted = false;
    const remove = async () => {
      if (mayBeDeleted && (await records.get(keyOf(id))) === undefined) return onEnd(id);
      try {
        if (await records.delete(keyOf(id))) onEnd(id);
      } catch (error) {
        mayBeDeleted ||= isUnknown(error);
        throw error;
      }
    };
    await remove().catch((error: unknown) => {
      if (!mayBeDeleted) throw error;
      // The sweeper does not find a deleted record.
      return this.#repeat(remove);
    });
  }

  /** Ends a session that the author knows of, but whose record may not have been stored. Waits for the engine. */
  async endUnstored(id: string, record: KnownRecord): Promise<void> {
    const { records, retries, onEnd } = this.#options;
    const stored = await retries.inBackground(async () => {
      await this.begin(record);
      return records.get(keyOf(id));
    });
    if (stored === undefined) onEnd(id);
    else await this.finish(id);
  }

  /** Tries again at once, and if that fails, without being waited for. */
  async #repeat(work: () => Promise<void>): Promise<void> {
    const { retries, report } = this.#options;
    await work().catch(() => void retries.inBackground(work).catch(report));
  }
}
