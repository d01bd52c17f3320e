import { pause } from "../../../../call/abortable.js";
import { type Clock, unref } from "../../../../call/clock.js";
import type { Records, Stored } from "../../../../cluster/cluster.js";
import { keyOf, parseRecord, type SessionRecord } from "./session-record.js";

/** Time after which a read that failed is repeated. */
const REPEAT_MS = 1_000;

/** Number of batches during the time for which a record is kept. */
const BATCHES = 20;

/** What was read of a session. */
export interface SessionRead {
  readonly record: SessionRecord;
  readonly stored: Stored;
  /** What the client watches, if it was needed. */
  readonly watched: ReadonlySet<string> | undefined;
  /** Time at which the read began. */
  readonly startedAt: number;
  /** Number of changes of the record that this process had stored then. */
  readonly changes: number;
}

const NOTHING: ReadonlySet<string> = new Set();

/** Read of the record of a session. */
interface Reading {
  readonly record: Promise<SessionRecord | undefined>;
  /** True if the session has changed since the read began, so that it has to be repeated. */
  isOutdated: boolean;
}

export interface SessionReadsOptions {
  /** Server whose sessions are read. The sessions of others count as unknown. */
  readonly server: string;
  readonly clock: Clock;
  readonly records: Records;
  /** True if this process serves the session. */
  isKept(id: string): boolean;
  /** Returns the number of changes of a record that this process has stored. */
  changesOf(id: string): number;
  /** True if this process does not know what the client of the session watches. */
  needsWatched(id: string): boolean;
  /** Reads what the client of a session watches. */
  readWatched(id: string): Promise<ReadonlySet<string>>;
  /** Called with what was read, or with undefined if there is no such session. */
  onRead(id: string, read: SessionRead | undefined): void;
  report(error: unknown): void;
}

/** Reads of the records of sessions. Requests that come at the same time share a read. */
export class SessionReads {
  readonly #options: SessionReadsOptions;
  readonly #reading = new Map<string, Reading>();
  /** Sessions whose reads have failed and will be repeated. */
  readonly #failed = new Set<string>();

  constructor(options: SessionReadsOptions) {
    this.#options = options;
  }

  read(id: string): Promise<SessionRecord | undefined> {
    const known = this.#reading.get(id);
    if (known !== undefined) return known.record;
    const record = this.#readNewest(id).finally(() => this.#reading.delete(id));
    this.#reading.set(id, { record, isOutdated: false });
    return record;
  }

  /** Lets a read that has begun be repeated, since the session has changed. */
  outdate(id: string): void {
    const reading = this.#reading.get(id);
    if (reading !== undefined) reading.isOutdated = true;
  }

  /** Reads without waiting, if this process serves the session. After a failure it tries again, as no request may. */
  refresh(id: string): void {
    if (!this.#options.isKept(id)) return;
    this.read(id).catch((error: unknown) => {
      this.#options.report(error);
      this.#refreshLater(id);
    });
  }

  #refreshLater(id: string): void {
    if (this.#failed.has(id) || !this.#options.isKept(id)) return;
    this.#failed.add(id);
    pause(this.#options.clock, REPEAT_MS).then(() => {
      this.#failed.delete(id);
      this.refresh(id);
    });
  }

  async #readNewest(id: string): Promise<SessionRecord | undefined> {
    const { server, clock, records, changesOf, needsWatched, readWatched, onRead } = this.#options;
    for (;;) {
      const [startedAt, changes] = [clock.now(), changesOf(id)];
      const stored = await records.get(keyOf(id));
      const found = stored && parseRecord(stored.value);
      const record = found?.server === server ? found : undefined;
      let watched: ReadonlySet<string> | undefined;
      if (record !== undefined && needsWatched(id)) watched = record.watches ? await readWatched(id) : NOTHING;
      const reading = this.#reading.get(id);
      if (reading?.isOutdated) {
        reading.isOutdated = false;
        continue;
      }
      onRead(id, record && stored && { record, stored, watched, startedAt, changes });
      return record;
    }
  }
}

/**
 * Reads of records that are not urgent. They wait a moment, so that those of many sessions are sent together: a command
 * costs several times as much on its own.
 */
export class EarlyReads {
  readonly #clock: Clock;
  readonly #waitMs: number;
  readonly #read: (id: string) => void;
  readonly #waiting = new Set<string>();
  #timer: unknown;

  /** Creates the reads of records that are kept for `cacheMs`. */
  constructor(clock: Clock, cacheMs: number, read: (id: string) => void) {
    this.#clock = clock;
    this.#waitMs = cacheMs / BATCHES;
    this.#read = read;
  }

  /** Plans a read, unless it is planned. */
  add(id: string): void {
    this.#waiting.add(id);
    if (this.#timer !== undefined) return;
    this.#timer = this.#clock.schedule(() => this.#readAll(), this.#waitMs);
    unref(this.#timer);
  }

  close(): void {
    this.#clock.cancel(this.#timer);
    this.#waiting.clear();
  }

  #readAll(): void {
    const due = [...this.#waiting];
    this.#waiting.clear();
    this.#timer = undefined;
    for (const id of due) this.#read(id);
  }
}
