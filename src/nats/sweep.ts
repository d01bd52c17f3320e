import { type DocumentMeta, expiryOf } from "./documents.js";
import type { Engine, Meta, StoredMessage } from "./engine.js";
import type { EntryMeta } from "./log-entries.js";
import { inPages, readPages } from "./pages.js";

/** Number of messages that are looked at together. The event loop runs between two messages. */
const PAGE = 500;

/** Time after its end for which a document stays. By then, each process has got the message that it is deleted. */
const GRACE_MS = 60_000;

/** Document of the sweep, with the number of the last message of each stream that was looked at. */
const NAME = "";

interface Places extends Meta {
  readonly documents: number;
  readonly entries: number;
}

/**
 * Deletes messages whose life is over, which the server does not know of. A sweep goes on where the last one of all
 * processes has ended, and ends with the stream or after a time.
 */
export class Sweep {
  readonly #engine: Engine;
  readonly #graceMs: number;

  constructor(engine: Engine, graceMs = GRACE_MS) {
    this.#engine = engine;
    this.#graceMs = graceMs;
  }

  /** Sweeps for about `budgetMs`, if no process has done so for `everyMs`. */
  async run(everyMs: number, budgetMs: number): Promise<void> {
    const engine = this.#engine;
    const { names, time } = engine;
    const subject = names.plainSubject("sweep", NAME);
    const last = await engine.read("sweep", names.documents, { last_by_subj: subject });
    if (last !== undefined && last.time + everyMs > time.now()) return;
    const { documents = 0, entries = 0 } = (last?.meta ?? {}) as Partial<Places>;
    const seq = await engine.store("sweep", subject, { documents, entries }, "", last?.seq ?? 0);
    if (seq === undefined) return;
    const [nextDocuments, nextEntries] = await Promise.all([
      this.#pass(names.documents, names.allDocuments, documents, budgetMs, (page) => this.#deleteDocuments(page)),
      this.#pass(names.entries, names.allEntries, entries, budgetMs, (page) => this.#deleteEntries(page)),
    ]);
    await engine.store("sweep", subject, { documents: nextDocuments, entries: nextEntries }, "", seq);
  }

  /** Looks at the messages of a stream after a place. Returns the next place, which is 0 after the last message. */
  async #pass(
    stream: string,
    filter: string,
    place: number,
    budgetMs: number,
    visit: (page: readonly StoredMessage[]) => Promise<void>,
  ): Promise<number> {
    const { clock } = this.#engine;
    const end = clock.now() + budgetMs;
    const reading = { stream, filter, from: place + 1, size: PAGE, headersOnly: true };
    for await (const page of readPages(this.#engine, "sweep", reading)) {
      await visit(page);
      if (clock.now() >= end) return page.at(-1)?.seq ?? 0;
    }
    return 0;
  }

  async #deleteDocuments(page: readonly StoredMessage[]): Promise<void> {
    const engine = this.#engine;
    const { names } = engine;
    const now = engine.time.now();
    const old = page.filter(({ time, meta }) => {
      const { gone } = meta as DocumentMeta;
      return (gone ? time : expiryOf(time, meta as DocumentMeta)) + this.#graceMs <= now;
    });
    await inPages(old, async ({ seq, meta: { dropped, id } }) => {
      if (dropped === true && typeof id === "string") await this.#deleteLog(names.entriesOf(id));
      await engine.remove("sweep", names.documents, seq);
    });
  }

  /** Deletes the entries of a dropped log. Usually there are none, and the server takes long to delete by a subject. */
  async #deleteLog(subject: string): Promise<void> {
    const { names } = this.#engine;
    const last = await this.#engine.read("sweep", names.entries, { last_by_subj: subject });
    if (last !== undefined) await this.#engine.purge("sweep", names.entries, subject);
  }

  async #deleteEntries(page: readonly StoredMessage[]): Promise<void> {
    const engine = this.#engine;
    const { entries } = engine.names;
    const now = engine.time.now();
    const logs = new Map<string, number[]>();
    for (const { subject, seq, time, meta } of page) {
      if (time + Number((meta as EntryMeta).keep) > now) continue;
      const old = logs.get(subject) ?? [];
      logs.set(subject, old);
      old.push(seq);
    }
    await inPages([...logs], async ([log, old]) => {
      // The last message of a log stays. The oldest goes first, so that a log has no gaps if this ends early.
      const last = await engine.read("sweep", entries, { last_by_subj: log });
      for (const seq of old) if (last !== undefined && seq < last.seq) await engine.remove("sweep", entries, seq);
    });
  }
}
