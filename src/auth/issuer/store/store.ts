/**
 * Where an issuer keeps what outlives a request. Keys are text, `kind:name`; values are plain data that survives JSON;
 * `expiresAt` is in milliseconds since 1970, and nothing for what does not expire. No code, token or secret of a client is
 * in it: they are kept as digests, and tokens of an upstream provider encrypted.
 *
 * On Redis: GET, SET PXAT, SET NX PXAT, DEL.
 */
export interface IssuerStore {
  get(key: string): Promise<unknown>;
  put(key: string, value: unknown, expiresAt?: number): Promise<void>;
  /**
   * Puts a value unless there is one, and tells whether it did. Of several at once exactly one is told true: this is what
   * makes codes and refresh tokens good for one use. What is added is not dropped before it expires.
   */
  add(key: string, value: unknown, expiresAt: number): Promise<boolean>;
  delete(key: string): Promise<void>;
}

export interface MemoryIssuerStoreOptions {
  /** How many values of one kind are kept; 10,000 unless given. */
  readonly maxEntries?: number;
  readonly now?: () => number;
}

interface Entry {
  readonly value: unknown;
  readonly expiresAt: number;
  /** A mark that must not be forgotten early. */
  readonly lasting: boolean;
}

/** Marks are small. */
const MARKS_PER_ENTRY = 10;

/**
 * Keeps everything in this process, bounded per kind. When a kind is full, the oldest value goes (its owner has to
 * authorize again); marks stay, and when there are ten times as many of them no more are taken: nothing that was used up or
 * revoked comes back.
 */
export function createMemoryIssuerStore(options: MemoryIssuerStoreOptions = {}): IssuerStore {
  const { maxEntries = 10_000, now = Date.now } = options;
  const kinds = new Map<string, Map<string, Entry>>();

  const kindOf = (key: string): Map<string, Entry> => {
    const name = key.slice(0, key.indexOf(":"));
    const kind = kinds.get(name) ?? new Map<string, Entry>();
    kinds.set(name, kind);
    return kind;
  };
  const live = (key: string): Entry | undefined => {
    const entry = kindOf(key).get(key);
    if (entry === undefined || now() < entry.expiresAt) return entry;
    kindOf(key).delete(key);
    return undefined;
  };
  const makeRoom = (kind: Map<string, Entry>, lasting: boolean): void => {
    const most = lasting ? maxEntries * MARKS_PER_ENTRY : maxEntries;
    if (kind.size < most) return;
    for (const [key, { expiresAt }] of kind) if (expiresAt <= now()) kind.delete(key);
    if (kind.size < most) return;
    for (const [key, entry] of kind) if (!entry.lasting) return void kind.delete(key);
    throw new Error(`the memory store of the issuer is full (${most} marks)`);
  };
  const write = (key: string, entry: Entry): void => {
    const kind = kindOf(key);
    if (!kind.delete(key)) makeRoom(kind, entry.lasting);
    kind.set(key, entry);
  };

  return {
    get: async (key) => live(key)?.value,
    put: async (key, value, expiresAt = Number.POSITIVE_INFINITY) => write(key, { value, expiresAt, lasting: false }),
    add: async (key, value, expiresAt) => {
      if (live(key) !== undefined) return false;
      write(key, { value, expiresAt, lasting: true });
      return true;
    },
    delete: async (key) => void kindOf(key).delete(key),
  };
}
