import { KeyRing, type RingKey } from "../protocol/key-ring.js";
import { dropOldest } from "../protocol/oldest.js";
import { assertRing } from "../protocol/ring-keys.js";
import type { Listed } from "./cluster.js";
import { ClusterError } from "./error.js";
import { named } from "./log-errors.js";
import { unreadMs } from "./queue.js";
import {
  type ClaimedStream,
  type DueRecord,
  type Store,
  type StoredEntry,
  type StoreEvents,
  type StoreLogs,
  type StorePut,
  type StreamPage,
  takenBy,
} from "./store.js";

/** Maximum number of keys whose absence was told, and maximum length of their ids. */
const MAX_TOLD = 100;
const MAX_ID = 100;

/** Maximum number of sealed entries whose append may be repeated. */
const MAX_REPEATED = 10_000;

/** Place of texts that are sent. */
const MESSAGE = "a message between processes";

interface SealedEntry {
  readonly data: string;
  readonly last: boolean;
}

/**
 * Store that seals everything it stores or sends: values of records, entries of logs, texts. Each is bound to its place:
 * a record to its key and its indexes, an entry to its stream, claim, number and end mark. So the engine can neither read
 * them nor exchange them. Keys, names of indexes, versions and times stay readable, and an engine that returns to an
 * earlier state, or leaves out what came last, is not noticed.
 */
export class SealedStore implements Store {
  readonly #store: Store;
  readonly #sealer: Sealer;
  readonly #told = new Set<string>();
  /** Settles when the texts that were given before are on their way, and when those that came before are told. */
  #sent: Promise<unknown> = Promise.resolve();
  #heard: Promise<unknown> = Promise.resolve();
  readonly logs: StoreLogs;

  constructor(store: Store, keys: readonly RingKey[]) {
    assertRing("sealKeys", keys);
    this.#store = store;
    this.#sealer = new Sealer(keys);
    this.logs = sealedLogs(store.logs, this.#sealer);
  }

  connect({ onText, onMissed, onShort }: StoreEvents): Promise<void> {
    const hear = (sealed: string) => {
      const opened = this.#sealer.open(sealed, MESSAGE);
      this.#heard = Promise.allSettled([opened, this.#heard]).then(([text]) => {
        if (text.status === "fulfilled") onText(text.value);
        else onMissed();
      });
    };
    return this.#store.connect({ onText: hear, onMissed, onShort });
  }

  get isUp(): boolean {
    return this.#store.isUp;
  }

  close(): Promise<void> {
    return this.#store.close();
  }

  async get(key: string) {
    const stored = await this.#store.get(key);
    return stored && { ...stored, value: (await this.#open(key, stored.value)).value };
  }

  async put(key: string, value: string, options: StorePut): Promise<boolean> {
    const indexes = options.index?.map(({ index }) => index).sort() ?? [];
    const sealed = await this.#sealer.close(JSON.stringify([indexes, value]), placeOf(key));
    return this.#store.put(key, sealed, await this.#withNotice(options));
  }

  touch: Store["touch"] = (...args) => this.#store.touch(...args);

  delete: Store["delete"] = (...args) => this.#store.delete(...args);

  async list(index: string, options: Parameters<Store["list"]>[1]): Promise<readonly Listed[]> {
    const found = await this.#store.list(index, options);
    return Promise.all(
      found.map(async (listed) => {
        const { indexes, value } = await this.#open(listed.key, listed.value);
        // The engine enters the records that were taken.
        if (!indexes.includes(index) && index !== takenBy(listed.version))
          throw new ClusterError("refused", `record ${JSON.stringify(listed.key)} was not put into index "${index}"`);
        return { ...listed, value };
      }),
    );
  }

  count: Store["count"] = (index) => this.#store.count(index);

  async takeDue(index: string, options: Parameters<Store["takeDue"]>[1]) {
    const found = await this.#store.takeDue(index, options);
    if (typeof found !== "object") return found;
    const opened: DueRecord[] = [];
    let untold: ClusterError | undefined;
    for (const record of found) {
      try {
        const { indexes, value } = await this.#open(record.key, record.value);
        if (!indexes.includes(index)) throw new ClusterError("refused", `${placeOf(record.key)} was not put into it`);
        opened.push({ ...record, value });
      } catch (error) {
        await this.#giveBack(index, record, unreadMs(record.takes));
        if (error instanceof ClusterError && this.#isNew(record.value)) untold ??= error;
      }
    }
    if (untold === undefined) return opened;
    for (const { key, version, takes } of opened) {
      const value = found.find((record) => record.key === key)?.value ?? "";
      await this.#giveBack(index, { key, value, version, takes }, 0);
    }
    throw untold;
  }

  takeTokens: Store["takeTokens"] = (...args) => this.#store.takeTokens(...args);

  send(texts: readonly string[]): Promise<void> {
    const sealed = Promise.all(texts.map((text) => this.#sealer.close(text, MESSAGE)));
    const sent = this.#sent.then(async () => this.#store.send(await sealed));
    this.#sent = sent.catch(() => {});
    return sent;
  }

  listenAgain(): void {
    this.#store.listenAgain?.();
  }

  async #open(key: string, sealed: string): Promise<{ readonly indexes: readonly string[]; readonly value: string }> {
    const [indexes, value] = JSON.parse(await this.#sealer.open(sealed, placeOf(key))) as [string[], string];
    return { indexes, value };
  }

  async #withNotice(options: StorePut): Promise<StorePut> {
    if (options.notice === undefined) return options;
    return { ...options, notice: await this.#sealer.close(options.notice, MESSAGE) };
  }

  /** Makes a record due again. Another process may have its key. If that fails, it is due after its lease. */
  async #giveBack(index: string, { key, value, version: ifVersion }: DueRecord, inMs: number): Promise<void> {
    const version = crypto.randomUUID();
    await this.#store.put(key, value, { version, ifVersion, index: [{ index, inMs }] }).catch(() => {});
  }

  /** True for the first value with a key that was not told before. */
  #isNew(sealed: string): boolean {
    const [id = ""] = sealed.slice(0, MAX_ID).split(".");
    if (this.#told.has(id) || this.#told.size >= MAX_TOLD) return false;
    this.#told.add(id);
    return true;
  }
}

function sealedLogs(logs: StoreLogs, sealer: Sealer): StoreLogs {
  /** Sealed forms of the latest entries. An append that is repeated must have the same. */
  const latest = new Map<string, { readonly entry: SealedEntry; readonly sealed: Promise<string> }>();
  const seal = ({ log, stream, claim }: ClaimedStream, seq: number, entry: SealedEntry): Promise<string> => {
    const key = `${claim} ${seq}`;
    const known = latest.get(key);
    if (known?.entry.data === entry.data && known.entry.last === entry.last) return known.sealed;
    const place = placeOfEntry(log, stream, claim);
    const sealed = sealer.close(JSON.stringify([seq, entry.last, entry.data]), place);
    if (known === undefined) latest.set(key, { entry, sealed });
    dropOldest(latest, MAX_REPEATED);
    return sealed;
  };
  const open = async (log: string, stream: string, stored: StoredEntry) => {
    const text = await sealer.open(stored.data, placeOfEntry(log, stream, stored.claim));
    const [seq, last, data] = JSON.parse(text) as [number, boolean, string];
    if (last !== stored.last) throw new ClusterError("refused", `the end of ${named(log, stream)} was changed`);
    return { seq, entry: { ...stored, data } };
  };
  const openPage = async (log: string, stream: string, page: StreamPage): Promise<StreamPage> => {
    const opened = await Promise.all(page.entries.map((entry) => open(log, stream, entry)));
    for (const [at, { seq, entry }] of opened.entries()) {
      const before = opened[at - 1];
      if (before?.entry.claim === entry.claim && before.seq + 1 !== seq)
        throw new ClusterError("refused", `entries of ${named(log, stream)} were exchanged or left out`);
    }
    return { ...page, entries: opened.map(({ entry }) => entry) };
  };
  return {
    create: (...args) => logs.create(...args),
    claim: (...args) => logs.claim(...args),
    append: async (claimed, seq, entries, notice) => {
      const sealed = entries.map(async ({ data, last }, at) => {
        return { data: await seal(claimed, seq + at, { data, last }), last };
      });
      const [all, sealedNotice] = await Promise.all([Promise.all(sealed), sealer.close(notice, MESSAGE)]);
      return logs.append(claimed, seq, all, sealedNotice);
    },
    find: (...args) => logs.find(...args),
    read: async (log, stream, after, limit) => {
      const page = await logs.read(log, stream, after, limit);
      return page && openPage(log, stream, page);
    },
    open: (...args) => logs.open(...args),
    drop: async (log, notice) => logs.drop(log, await sealer.close(notice, MESSAGE)),
  };
}

/** Seals texts, each for one place. */
class Sealer {
  readonly #ring: KeyRing;

  constructor(keys: readonly RingKey[]) {
    this.#ring = new KeyRing(keys);
  }

  async close(text: string, place: string): Promise<string> {
    const { keyId, iv, data } = await this.#ring.encrypt(text, place);
    return `${keyId}.${iv}.${data}`;
  }

  async open(sealed: string, place: string): Promise<string> {
    const [keyId = "", iv = "", data = ""] = sealed.split(".");
    if (!this.#ring.ids.includes(keyId))
      throw new ClusterError("refused", `${place} is sealed with a key that is not in sealKeys`);
    try {
      return await this.#ring.decrypt({ keyId, iv, data }, place);
    } catch (cause) {
      throw new ClusterError("refused", `${place} was changed, or sealed for another place`, { cause });
    }
  }
}

function placeOf(key: string): string {
  return `record ${JSON.stringify(key)}`;
}

function placeOfEntry(log: string, stream: string, claim: string): string {
  return `claim ${claim} of ${named(log, stream)}`;
}
