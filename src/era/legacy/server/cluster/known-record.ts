import { Batches } from "../../../../cluster/batches.js";
import type { Records, Stored } from "../../../../cluster/cluster.js";
import { update } from "../../../../cluster/update.js";
import { keyOf, parseRecord, type SessionRecord, storedAs } from "./session-record.js";

/**
 * Change of the record of an open session. Returns undefined if nothing is to be changed. Called again if another process
 * has changed the record meanwhile, or if it is unknown whether an attempt was carried out.
 */
export type RecordChange = (record: SessionRecord) => SessionRecord | undefined;

interface Waiting {
  readonly change: RecordChange;
  readonly reads: boolean;
  /** The record after the change. Undefined if the session is not open. */
  result: SessionRecord | undefined;
  resolve(record: SessionRecord | undefined): void;
  reject(error: unknown): void;
}

export interface KnownRecordOptions {
  readonly records: Records;
  /** Returns the time of day. */
  now(): number;
  /** Takes the record after a change of this process, if another one has changed it before. */
  onForeign(record: SessionRecord): void;
}

/**
 * Record of a session as this process knows it. Changes that come together are one operation, which compares the record
 * with what is known and reads it only if another process has changed it.
 */
export class KnownRecord {
  readonly #options: KnownRecordOptions;
  readonly #key: string;
  #stored: Stored | undefined;
  readonly #waiting = new Batches<Waiting>((waiting) => this.#changeAll(waiting.splice(0)));
  /** Number of changes that were stored. */
  changes = 0;
  /**
   * True if no other process has used the session: each changes the record when it begins to. Such a process either comes
   * first, and is noticed by the next change of this one, or notices that change itself. So there is nobody to tell. One
   * that cannot change the record, since the engine is full, says so.
   */
  isAlone: boolean;

  /** `stored` is what this process has read or, if it `opened` the session, stored. Without it the record is read first. */
  constructor(id: string, options: KnownRecordOptions, stored: Stored | undefined, opened = false) {
    this.#options = options;
    this.#key = keyOf(id);
    this.#stored = stored;
    this.isAlone = opened;
  }

  /** Takes the record as it was read, unless this process has changed it since there were so many changes. */
  onRead(stored: Stored, changes: number): void {
    if (this.#waiting.isRunning || changes !== this.changes) return;
    if (stored.version !== this.#stored?.version) this.isAlone = false;
    this.#stored = stored;
  }

  /**
   * Resolves with the record after the change, or with undefined if the session is not open. With `reads`, the record is read
   * first, so that this is known even if nothing is to be changed.
   */
  change(change: RecordChange, { reads = false } = {}): Promise<SessionRecord | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.add({ change, reads, result: undefined, resolve, reject });
    });
  }

  async #changeAll(waiting: readonly Waiting[]): Promise<void> {
    const { records, now, onForeign } = this.#options;
    const known = this.#stored;
    let foreign: Stored | undefined;
    try {
      const options = known === undefined || waiting.some(({ reads }) => reads) ? {} : { known };
      const decide = (stored: Stored | undefined) => {
        if (stored?.version !== known?.version) foreign = stored;
        const before = stored && parseRecord(stored.value);
        const after = apply(before, waiting);
        return after === undefined || after === before ? undefined : storedAs(after, now());
      };
      const stored = await update(records, this.#key, decide, options);
      if (stored?.version !== known?.version) this.changes++;
      this.#stored = stored;
      if (foreign !== undefined) this.isAlone = false;
      const record = foreign && stored && parseRecord(stored.value);
      if (record !== undefined) onForeign(record);
      for (const { resolve, result } of waiting) resolve(result);
    } catch (error) {
      this.isAlone = false;
      for (const { reject } of waiting) reject(error);
    }
  }
}

/** Applies changes one after another, and notes the result of each. */
function apply(record: SessionRecord | undefined, waiting: readonly Waiting[]): SessionRecord | undefined {
  let last = record;
  for (const each of waiting) {
    each.result = last === undefined || last.ended !== undefined ? undefined : (each.change(last) ?? last);
    last = each.result ?? last;
  }
  return last;
}
