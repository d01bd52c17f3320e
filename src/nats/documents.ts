import { pause } from "../call/abortable.js";
import type { Engine, Meta, StoredMessage } from "./engine.js";
import { away } from "./failure.js";

/** Index entry of a document: name, score, and true if the score counts from the time of the document. */
export type MetaIndex = readonly [name: string, score: number, isRelative?: boolean];

/** Values of each document. A document without `ttl` stays. `gone` marks one that was deleted. */
export interface DocumentMeta extends Meta {
  readonly ttl?: number | undefined;
  readonly gone?: true | undefined;
  readonly index?: readonly MetaIndex[] | undefined;
}

export interface Document extends StoredMessage {
  readonly meta: DocumentMeta;
  /** Time at which it is gone. Infinity if it stays. */
  readonly expires: number;
}

/** Change of a document: the new one, or nothing. */
export interface Change<T> {
  readonly meta?: DocumentMeta;
  readonly text?: string;
  /** Gives the result of the change. `seq` is the number of the new document. */
  result(seq: number): T;
}

/** Number of attempts to change a document that others change at the same time. */
const MAX_ATTEMPTS = 100;

/** Attempts from which on the next one waits, and the maximum of that time. */
const HASTY = 3;
const WAIT_MS = 20;

/** Subjects of which only the last message counts. It is changed by compare-and-set on its number. */
export class Documents {
  readonly engine: Engine;

  constructor(engine: Engine) {
    this.engine = engine;
  }

  /** Reads the document of a subject, if there is one whose life is not over. */
  async get(what: string, subject: string): Promise<Document | undefined> {
    return this.#live(await this.#last(what, subject));
  }

  /** Stores a document in place of any other. */
  async put(what: string, subject: string, meta: DocumentMeta, text: string): Promise<number> {
    return (await this.engine.store(what, subject, meta, text)) as number;
  }

  /**
   * Stores a document where there is none. Resolves with its number, or with undefined. Most subjects are new, so that it
   * reads nothing before it has failed once.
   */
  async add(what: string, subject: string, meta: DocumentMeta, text: string): Promise<number | undefined> {
    const seq = await this.engine.store(what, subject, meta, text, 0);
    if (seq !== undefined) return seq;
    return this.change<number | undefined>(what, subject, (found) =>
      found === undefined ? { meta, text, result: (seq) => seq } : { result: () => undefined },
    );
  }

  /** Changes a document as `judge` decides. It decides again if another process was faster. */
  async change<T>(what: string, subject: string, judge: (found: Document | undefined) => Change<T>): Promise<T> {
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      const last = await this.#last(what, subject);
      const { meta, text = "", result } = judge(this.#live(last));
      if (meta === undefined) return result(0);
      const seq = await this.engine.store(what, subject, meta, text, last?.seq ?? 0);
      if (seq !== undefined) return result(seq);
      if (attempt > HASTY) await pause(this.engine.clock, Math.random() * WAIT_MS);
    }
    throw away(`${what}: other processes changed it during ${MAX_ATTEMPTS} attempts; repeat it later`);
  }

  /** Deletes a document if `fits` accepts it. Resolves with true if it was deleted. */
  remove(what: string, subject: string, fits: (found: Document) => boolean): Promise<boolean> {
    return this.change(what, subject, (found) =>
      found !== undefined && fits(found) ? { meta: { gone: true }, result: () => true } : { result: () => false },
    );
  }

  #last(what: string, subject: string): Promise<StoredMessage | undefined> {
    return this.engine.read(what, this.engine.names.documents, { last_by_subj: subject });
  }

  #live(message: StoredMessage | undefined): Document | undefined {
    if (message === undefined) return undefined;
    const meta = message.meta as DocumentMeta;
    const expires = expiryOf(message.time, meta);
    return meta.gone || expires <= this.engine.time.now() ? undefined : { ...message, meta, expires };
  }
}

export function expiryOf(time: number, { ttl }: DocumentMeta): number {
  return ttl === undefined ? Number.POSITIVE_INFINITY : time + ttl;
}
