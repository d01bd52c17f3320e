import { type DocumentMeta, expiryOf } from "./documents.js";
import type { Engine, StoredMessage } from "./engine.js";
import type { EntryMeta } from "./log-entries.js";

/** Maximum number of messages that a process looks at in one sweep of a stream. */
const MAX_MESSAGES = 1_000;

/** Time after its end for which a document stays. By then, each process has got the message that it is deleted. */
const GRACE_MS = 60_000;

/** Document of the process that sweeps. */
const NAME = "";

/**
 * Deletes messages whose life is over, which the server does not know of. Each sweep looks at some messages and goes on
 * where the last one of this process has ended.
 */
export class Sweep {
  readonly #engine: Engine;
  readonly #graceMs: number;
  readonly #places = { documents: 0, entries: 0 };

  constructor(engine: Engine, graceMs = GRACE_MS) {
    this.#engine = engine;
    this.#graceMs = graceMs;
  }

  /** Sweeps if no process has done so for `everyMs`. */
  async run(everyMs: number): Promise<void> {
    const engine = this.#engine;
    const { names, time } = engine;
    const subject = names.plainSubject("sweep", NAME);
    const last = await engine.read("sweep", names.documents, { last_by_subj: subject });
    if (last !== undefined && last.time + everyMs > time.now()) return;
    if ((await engine.store("sweep", subject, {}, "", last?.seq ?? 0)) === undefined) return;
    await this.#pass("documents", names.allDocuments, async (message) => {
      const { gone, dropped, id } = message.meta as DocumentMeta & { dropped?: boolean; id?: string };
      const end = gone ? message.time : expiryOf(message.time, message.meta as DocumentMeta);
      if (end + this.#graceMs > time.now()) return;
      if (dropped && id !== undefined) await engine.purge("sweep", names.entries, names.entriesOf(id));
      await engine.purge("sweep", names.documents, message.subject, message.seq + 1);
    });
    await this.#pass("entries", names.allEntries, async ({ subject: log, seq, time: at, meta }) => {
      if (at + Number((meta as EntryMeta).keep) > time.now()) return;
      // The last message of a log stays. It is found if there is a later one.
      const next = await engine.read("sweep", names.entries, { seq: seq + 1, next_by_subj: log });
      if (next !== undefined) await engine.purge("sweep", names.entries, log, seq + 1);
    });
  }

  /** Looks at the next messages of a stream. */
  async #pass(
    name: "documents" | "entries",
    filter: string,
    visit: (message: StoredMessage) => Promise<void>,
  ): Promise<void> {
    const stream = this.#engine.names[name];
    for (let count = 0; count < MAX_MESSAGES; count++) {
      const wanted = { seq: this.#places[name] + 1, next_by_subj: filter };
      const message = await this.#engine.read("sweep", stream, wanted);
      this.#places[name] = message?.seq ?? 0;
      if (message === undefined) return;
      await visit(message);
    }
  }
}
