import type { IndexPlace, Listed, PutOptions, Records, Stored } from "../cluster/cluster.js";
import type { Change, Document, DocumentMeta, Documents } from "./documents.js";
import type { Mirror } from "./mirror.js";

/** Number of records that are read at once. */
const PAGE = 200;

/** Values of a record. */
interface RecordMeta extends DocumentMeta {
  /** Version, if a touch has stored the record again. Otherwise it is the number of the message. */
  readonly version?: number | undefined;
}

/** Name of an index of records among all indexes of documents. */
const indexName = (index: string) => `record ${index}`;

/** Records: documents with index entries. */
export class NatsRecords implements Records {
  readonly #documents: Documents;
  readonly #mirror: Mirror;

  constructor(documents: Documents, mirror: Mirror) {
    this.#documents = documents;
    this.#mirror = mirror;
  }

  async get(key: string): Promise<Stored | undefined> {
    const found = await this.#documents.get("get a record", this.#subject(key));
    return found && storedOf(key, found);
  }

  async put(key: string, value: string, options: PutOptions = {}): Promise<string | undefined> {
    const { ttlMs, ifVersion, index = [] } = options;
    const what = "put a record";
    const entries = index.map(({ index: name, score }) => [indexName(name), score] as const);
    const meta: RecordMeta = { ...lifeOf(ttlMs), ...(entries.length > 0 ? { index: entries } : {}) };
    const subject = this.#subject(key);
    if (ifVersion === undefined) return String(await this.#documents.put(what, subject, meta, value));
    if (ifVersion === null) return (await this.#documents.add(what, subject, meta, value))?.toString();
    return this.#documents.change<string | undefined>(what, subject, (found) =>
      found !== undefined && versionOf(found) === ifVersion
        ? { meta, text: value, result: String }
        : { result: () => undefined },
    );
  }

  async touch(key: string, ttlMs: number): Promise<boolean> {
    return this.#documents.change("touch a record", this.#subject(key), (found): Change<boolean> => {
      if (found === undefined) return { result: () => false };
      const { ttl: _, ...rest } = found.meta;
      const meta: RecordMeta = { ...rest, ...lifeOf(ttlMs), version: Number(versionOf(found)) };
      return { meta, text: found.text, result: () => true };
    });
  }

  async delete(key: string, ifVersion?: string): Promise<boolean> {
    const fits = (found: Document) => ifVersion === undefined || versionOf(found) === ifVersion;
    return this.#documents.remove("delete a record", this.#subject(key), fits);
  }

  async list(
    index: string,
    { after, limit }: { readonly after?: IndexPlace; readonly limit: number },
  ): Promise<readonly Listed[]> {
    const found: Listed[] = [];
    for (let place = after; found.length < limit; ) {
      const size = Math.min(limit - found.length, PAGE);
      const page = await this.#mirror.list(indexName(index), place, size);
      const listed = await Promise.all(page.map((placed) => this.#listed(index, placed)));
      found.push(...listed.filter((record) => record !== undefined));
      place = page.at(-1);
      if (page.length < size) break;
    }
    return found;
  }

  async count(index: string): Promise<number> {
    return this.#mirror.count(indexName(index));
  }

  /** Reads a record of an index, unless it has another place by now. */
  async #listed(index: string, { key, score, subject }: IndexPlace & { subject: string }): Promise<Listed | undefined> {
    const found = await this.#documents.get("list records", subject);
    const entry = found?.meta.index?.find(([name]) => name === indexName(index));
    if (found === undefined || entry?.[1] !== score) return undefined;
    const { ttl } = found.meta;
    const left = found.expires - this.#documents.engine.time.now();
    return { ...storedOf(key, found), score, leftMs: ttl === undefined ? undefined : Math.max(0, left) };
  }

  #subject(key: string): string {
    return this.#documents.engine.names.listedSubject("record", key);
  }
}

function lifeOf(ttlMs: number | undefined): Pick<DocumentMeta, "ttl"> {
  return ttlMs === undefined || ttlMs === Number.POSITIVE_INFINITY ? {} : { ttl: ttlMs };
}

function versionOf({ seq, meta }: Document): string {
  return String((meta as RecordMeta).version ?? seq);
}

function storedOf(key: string, found: Document): Stored {
  return { key, value: found.text, version: versionOf(found) };
}
