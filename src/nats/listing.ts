import type { IndexPlace } from "../cluster/cluster.js";
import { Sorted } from "../cluster/sorted.js";
import { type DocumentMeta, expiryOf } from "./documents.js";
import { lastName } from "./names.js";

/** Document with index entries. */
interface Row {
  readonly subject: string;
  /** Key of its places: the last name of the subject. */
  readonly key: string;
  readonly expires: number;
  readonly index: readonly { readonly index: string; readonly score: number }[];
}

/** Place of a document in an index. */
export interface Placed extends IndexPlace {
  readonly subject: string;
}

/**
 * Indexes of documents, in the memory of this process. It has names, scores and ends of the documents that are in an
 * index, and no values.
 */
export class Listing {
  readonly #rows = new Map<string, Row>();
  readonly #indexes = new Map<string, Sorted<Placed>>();
  /** Subjects by the times at which their documents are gone. */
  readonly #ends = new Sorted<Placed>(isAfter);

  /** Number of the documents, with those whose life is over and that were not removed yet. */
  get size(): number {
    return this.#rows.size;
  }

  /** Takes the present document of a subject. */
  apply(subject: string, time: number, meta: DocumentMeta): void {
    this.#remove(subject);
    const { index = [], gone } = meta;
    if (gone || index.length === 0) return;
    const entries = index.map(([name, score, isRelative]) => ({
      index: name,
      score: isRelative ? time + score : score,
    }));
    const row = { subject, key: lastName(subject), expires: expiryOf(time, meta), index: entries };
    this.#rows.set(subject, row);
    for (const { index: name, score } of entries) this.#indexOf(name).add({ subject, score, key: row.key });
    if (row.expires !== Number.POSITIVE_INFINITY) this.#ends.add(endOf(row));
  }

  count(index: string, now: number): number {
    this.expire(now);
    return this.#indexes.get(index)?.size ?? 0;
  }

  list(index: string, after: IndexPlace | undefined, limit: number, now: number): readonly Placed[] {
    this.expire(now);
    return this.#indexes.get(index)?.list(after && { ...after, subject: LAST }, limit) ?? [];
  }

  /** Removes documents whose life is over, at most `limit` of them. */
  expire(now: number, limit = Number.POSITIVE_INFINITY): void {
    for (let count = 0; count < limit; count++) {
      const [first] = this.#ends.list(undefined, 1);
      if (first === undefined || first.score > now) return;
      this.#remove(first.subject);
    }
  }

  #indexOf(name: string): Sorted<Placed> {
    const found = this.#indexes.get(name) ?? new Sorted<Placed>(isAfter);
    this.#indexes.set(name, found);
    return found;
  }

  #remove(subject: string): void {
    const row = this.#rows.get(subject);
    if (row === undefined) return;
    this.#rows.delete(subject);
    for (const { index, score } of row.index) {
      const entries = this.#indexes.get(index);
      entries?.remove({ subject, score, key: row.key });
      if (entries?.size === 0) this.#indexes.delete(index);
    }
    if (row.expires !== Number.POSITIVE_INFINITY) this.#ends.remove(endOf(row));
  }
}

/** Subject after all others. */
const LAST = "\uffff";

const endOf = ({ subject, expires }: Row): Placed => ({ subject, score: expires, key: "" });

/** Documents of two logs may have the same key. */
function isAfter(one: Placed, other: Placed): boolean {
  if (one.score !== other.score) return one.score > other.score;
  if (one.key !== other.key) return one.key > other.key;
  return one.subject > other.subject;
}
