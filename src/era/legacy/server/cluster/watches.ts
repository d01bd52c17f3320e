import type { Records } from "../../../../cluster/cluster.js";
import { isUnknown } from "../../../../cluster/error.js";
import { each } from "../../../../cluster/update.js";
import { sha256, toHex } from "../../../../protocol/bytes.js";
import type { KnownRecord } from "./known-record.js";
import type { Retries } from "./retries.js";
import type { SessionRecord } from "./session-record.js";

/** Lifetime of a record. It is extended when a process that begins to serve the session reads it in the second half. */
const LIFE_MS = 30 * 86_400_000;

export interface WatchesOptions {
  readonly records: Records;
  readonly retries: Retries;
  report(error: unknown): void;
}

/** Resources that the clients of sessions watch. Each is a record, so that a change costs the same however many there are. */
export class Watches {
  readonly #records: Records;
  readonly #options: WatchesOptions;

  constructor(options: WatchesOptions) {
    this.#records = options.records;
    this.#options = options;
  }

  /** Adds a resource, and notes in the record that there are some. Returns false if the session has ended. */
  async add(session: string, uri: string, record: KnownRecord): Promise<boolean> {
    // The end of a session removes what is there, so that nothing may come later.
    const keep = async () => {
      const note = (before: SessionRecord) => (before.watches ? undefined : { ...before, watches: true });
      const isOpen = (await record.change(note, { reads: true })) !== undefined;
      if (!isOpen) await this.remove(session, uri);
      return isOpen;
    };
    let isStored = false;
    try {
      const index = [{ index: watchedBy(session), score: 0 }];
      await this.#records.put(await keyOf(session, uri), uri, { ttlMs: LIFE_MS, index });
      isStored = true;
      return await keep();
    } catch (error) {
      const { retries, report } = this.#options;
      if (isStored || isUnknown(error)) retries.inBackground(keep).catch(report);
      throw error;
    }
  }

  async remove(session: string, uri: string): Promise<void> {
    await this.#records.delete(await keyOf(session, uri));
  }

  async read(session: string): Promise<ReadonlySet<string>> {
    const uris = new Set<string>();
    for await (const { key, value, leftMs = 0 } of each(this.#records, watchedBy(session))) {
      uris.add(value);
      if (leftMs < LIFE_MS / 2) await this.#records.touch(key, LIFE_MS);
    }
    return uris;
  }

  /** Removes what a session that has ended watched. */
  async clear(session: string): Promise<void> {
    for await (const { key } of each(this.#records, watchedBy(session))) await this.#records.delete(key);
  }
}

const watchedBy = (session: string) => `watched by ${session}`;

/** Returns the key of a URI, which may be longer than a key can be in an engine. */
async function keyOf(session: string, uri: string): Promise<string> {
  return `watch:${session}:${toHex(await sha256(uri))}`;
}
