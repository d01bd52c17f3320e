import type { IndexEntry, IndexPlace, Listed } from "../cluster/cluster.js";
import type { Engine } from "./engine.js";
import { APPLY, COUNT, LIST, LOOK, MARK } from "./record-scripts.js";
import type { Script } from "./scripts.js";

/** Age from which the put of a mark is over: longer than an operation can take. */
const MARK_MS = 30_000;
/** Number of entries that a count compares with their records, in a part of the counts. */
const SAMPLES = 16;
const SAMPLED = 1 / 16;
/** Maximum number of rounds in which an index is repaired before it is taken as it is. */
const ROUNDS = 100;
/** Rounds of a listing, in which other processes may move entries. */
const LIST_ROUNDS = 3;
/** Maximum number of entries that are read at once. */
const BATCH = 200;

/** Record with its index entries, as it is in the engine. */
interface Looked {
  readonly value: string;
  /** Empty if there is no record. */
  readonly version: string;
  readonly index: readonly IndexEntry[];
  readonly s: string;
  readonly end: string;
  readonly leftMs: number | undefined;
}

/** Mark of a put. */
interface Mark {
  readonly key: string;
  /** Empty while the put may be on its way. */
  readonly token: string;
}

/** Change of a record that its indexes must follow. */
export interface Change {
  readonly key: string;
  readonly s: string;
  /** Time at which the record is gone, or empty. */
  readonly end: string;
  readonly index: readonly IndexEntry[];
}

/**
 * Indexes of records. A record and an index may be on different servers, so a put has three steps: it marks the indexes,
 * writes the record, and writes the index entries. A process that finds a mark, or an entry whose time has passed,
 * compares it with the record and repairs the index. So the record is always right, and an index follows.
 */
export class IndexEntries {
  static readonly scripts: readonly Script[] = [APPLY, COUNT, LIST, LOOK, MARK];
  readonly #engine: Engine;
  /** Tokens of puts that this process has not completed. */
  readonly #running = new Set<string>();

  constructor(engine: Engine) {
    this.#engine = engine;
  }

  /** Runs a put. Its marks tell this process nothing, since the put completes them. */
  async running<T>(token: string, put: () => Promise<T>): Promise<T> {
    this.#running.add(token);
    try {
      return await put();
    } finally {
      this.#running.delete(token);
    }
  }

  /** Announces that a put writes entries of these indexes. */
  async mark(indexes: readonly string[], token: string, key: string): Promise<void> {
    await Promise.all(indexes.map((index) => this.#engine.run(MARK, this.#keys(index), [token, key])));
  }

  async unmark(indexes: readonly string[], token: string, key: string): Promise<void> {
    await Promise.all(indexes.map((index) => this.#engine.run(APPLY, this.#keys(index), [key, token, "", "", ""])));
  }

  /** Writes the entries of a record to these indexes. `token` is the mark of the put. */
  async apply(indexes: Iterable<string>, change: Change, token = ""): Promise<void> {
    const { key, s, end, index: entries } = change;
    const writes = [...new Set(indexes)].map((index) => {
      const score = entries.find((entry) => entry.index === index)?.score;
      return this.#engine.run(APPLY, this.#keys(index), [key, token, s, score ?? "", score === undefined ? "" : end]);
    });
    await Promise.all(writes);
  }

  async count(index: string): Promise<number> {
    let isSampled = Math.random() >= SAMPLED;
    for (let round = 0; ; round++) {
      const reply = await this.#engine.run(COUNT, this.#keys(index), [MARK_MS, isSampled ? 0 : SAMPLES]);
      const [count, due, flat, samples] = reply as [string, string[], string[], string[]];
      const marks = this.#marksIn(flat);
      // Marks of puts that are on their way stay. They are considered once.
      const wrong = isSampled ? [] : await this.#wrongIn(index, samples);
      const isRight = due.length + wrong.length === 0 && (marks.length === 0 || round > 0);
      if (isRight || round === ROUNDS) return Number(count);
      isSampled = true;
      await this.#repair(index, [...due, ...wrong], marks);
    }
  }

  async list(index: string, limit: number, after?: IndexPlace): Promise<readonly Listed[]> {
    const found: Listed[] = [];
    for (let place = after; found.length < limit; ) {
      const size = Math.min(limit - found.length, BATCH);
      const batch = await this.#batch(index, size, place);
      found.push(...batch.records);
      place = batch.last;
      if (batch.isEnd) break;
    }
    return found;
  }

  /** Reads some entries with their records. Entries that differ from their records are repaired and read again. */
  async #batch(index: string, size: number, after: IndexPlace | undefined) {
    const place = after === undefined ? [] : [after.score, after.key];
    for (let round = 1; ; round++) {
      const reply = await this.#engine.run(LIST, this.#keys(index), [MARK_MS, size, ...place]);
      const [found, flat] = reply as [string[], string[]];
      const marks = this.#marksIn(flat);
      const entries = pairsOf(found).map(([key, score]) => ({ key, score: Number(score) }));
      const looked = await Promise.all(
        entries.map(async ({ key, score }) => ({ key, score, ...(await this.#look(key)) })),
      );
      const wrong = looked.filter((one) => scoreIn(one, index) !== one.score);
      const isRight = wrong.length === 0 && (marks.length === 0 || round > 1);
      if (!isRight) {
        await this.#repair(
          index,
          wrong.map(({ key }) => key),
          marks,
        );
        if (round < LIST_ROUNDS) continue;
      }
      const records = looked
        .filter((one) => !wrong.includes(one))
        .map(({ key, score, value, version, leftMs }) => ({ key, score, value, version, leftMs }));
      return { records, last: entries.at(-1), isEnd: entries.length < size };
    }
  }

  /** Returns the keys of entries whose records have none in the index. */
  async #wrongIn(index: string, keys: readonly string[]): Promise<readonly string[]> {
    const looked = await Promise.all(keys.map((key) => this.#look(key)));
    return keys.filter((_, at) => scoreIn(looked[at] as Looked, index) === undefined);
  }

  /** Reads marks, those of puts aside that this process is about to complete. */
  #marksIn(flat: readonly string[]): readonly Mark[] {
    const marks: Mark[] = [];
    for (let at = 0; at + 2 < flat.length; at += 3) {
      const [key = "", token = "", isOver] = flat.slice(at, at + 3);
      if (!this.#running.has(token)) marks.push({ key, token: isOver === "1" ? token : "" });
    }
    return marks;
  }

  /** Writes entries as their records are, and removes marks that are over. */
  async #repair(index: string, keys: readonly string[], marks: readonly Mark[]): Promise<void> {
    const tokens = new Map(keys.map((key) => [key, new Set([""])]));
    for (const { key, token } of marks) tokens.set(key, (tokens.get(key) ?? new Set()).add(token));
    const repairs = [...tokens].map(async ([key, marked]) => {
      const { index: entries, s, end } = await this.#look(key);
      for (const token of marked) await this.apply([index], { key, s, end, index: entries }, token);
    });
    await Promise.all(repairs);
  }

  async #look(key: string): Promise<Looked> {
    const reply = await this.#engine.run(LOOK, [recordKey(this.#engine, key)], []);
    const [value = "", version = "", index = "", s = "", end = "", left = ""] = reply as string[];
    return { value, version, index: entriesOf(index), s, end, leftMs: left === "" ? undefined : Number(left) };
  }

  #keys(index: string): readonly string[] {
    return ["", "ends", "marks", "seen"].map((part) => this.#engine.keys.key("index", index, part));
  }
}

export function recordKey({ keys }: Engine, key: string): string {
  return keys.key("record", key);
}

/** Reads the index entries that a record has stored. */
export function entriesOf(text: string): readonly IndexEntry[] {
  return text === "" ? [] : (JSON.parse(text) as IndexEntry[]);
}

function scoreIn({ index: entries }: Looked, index: string): number | undefined {
  return entries.find((entry) => entry.index === index)?.score;
}

function pairsOf(flat: readonly string[]): readonly (readonly [string, string])[] {
  const pairs: (readonly [string, string])[] = [];
  for (let at = 0; at + 1 < flat.length; at += 2) pairs.push([flat[at] ?? "", flat[at + 1] ?? ""]);
  return pairs;
}
