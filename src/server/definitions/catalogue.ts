import { andThen, type MaybePromise } from "../../call/maybe-promise.js";
import { type HandlerResult, PreparedResult } from "../../era/server-era.js";
import { pointAtCallers } from "../../protocol/at-caller.js";
import { DefinitionError, RpcError } from "../../protocol/errors.js";
import { INVALID_PARAMS } from "../../protocol/jsonrpc/errors.js";
import { oneLine } from "../../protocol/text.js";
import type { Caller } from "../context.js";
import type { Access } from "./access.js";
import { decodePercent } from "./uri-match.js";

/** Definition that can be listed. */
export interface Listed {
  readonly listing: object;
  /** Undefined if every caller may see and use it. */
  readonly access: Access | undefined;
}

interface Entry<T> {
  readonly key: string;
  readonly ordinal: number;
  readonly item: T;
  readonly enabled: boolean;
}

/**
 * Definitions of one kind, in the order in which they were added. Pages that do not depend on the caller are built once
 * per change.
 */
export class Catalogue<T extends Listed> {
  readonly #noun: string;
  readonly #member: string;
  readonly #pageSize: number | undefined;
  readonly #entries = new Map<string, Entry<T>>();
  readonly #pages = new Map<number, PreparedResult>();
  #shown: readonly Entry<T>[] | undefined;
  #nextOrdinal = 1;

  /** `noun` names an entry in errors, such as "tool". `member` is the member of a result that holds the page. */
  constructor(noun: string, member: string, pageSize: number | undefined) {
    this.#noun = noun;
    this.#member = member;
    this.#pageSize = pageSize;
  }

  /** Number of definitions, including disabled ones. */
  get size(): number {
    return this.#entries.size;
  }

  /** Keys of all definitions, including disabled ones. */
  keys(): Iterable<string> {
    return this.#entries.keys();
  }

  /** True if there has ever been a definition. The methods of a kind stay available after its last one is removed. */
  get offered(): boolean {
    return this.#nextOrdinal > 1;
  }

  /** True if the listing depends on the caller. */
  get filtered(): boolean {
    return this.#enabled().some(({ item }) => item.access !== undefined);
  }

  add(key: string, item: T): void {
    this.#assertFree(key);
    this.#entries.set(key, { key, ordinal: this.#nextOrdinal++, item, enabled: true });
    this.#changed();
  }

  /** Replaces a definition, possibly with another key. Its position in listings stays the same. */
  replace(key: string, newKey: string, item: T): void {
    const entry = this.#entry(key);
    if (newKey !== key) this.#assertFree(newKey);
    this.#entries.delete(key);
    this.#entries.set(newKey, { ...entry, key: newKey, item });
    this.#changed();
  }

  remove(key: string): boolean {
    this.#changed();
    return this.#entries.delete(key);
  }

  /** Enables or disables an entry, which keeps its position. Returns true if that changed it. */
  enable(key: string, enabled: boolean): boolean {
    const entry = this.#entry(key);
    if (entry.enabled === enabled) return false;
    this.#entries.set(key, { ...entry, enabled });
    this.#changed();
    return true;
  }

  isEnabled(key: string): boolean {
    return this.#entries.get(key)?.enabled === true;
  }

  /** Returns the definition even if it is disabled. */
  get(key: string): T | undefined {
    return this.#entries.get(key)?.item;
  }

  /** Returns the definition. Throws if it does not exist. */
  expect(key: string): T {
    return this.#entry(key).item;
  }

  /** Returns an enabled definition, or undefined if it does not exist for this caller. */
  find(key: string, caller: Caller): MaybePromise<T | undefined> {
    const entry = this.#entries.get(key);
    if (entry === undefined || !entry.enabled) return undefined;
    const { item } = entry;
    return item.access === undefined ? item : andThen(item.access(caller), (visible) => (visible ? item : undefined));
  }

  /** Returns all enabled definitions in order. */
  values(): readonly T[] {
    return this.#enabled().map(({ item }) => item);
  }

  /** Returns the page after a cursor. A cursor stays valid when entries are added or removed. */
  page(cursor: unknown, caller: Caller): MaybePromise<HandlerResult> {
    const after = cursor === undefined ? 0 : this.#readCursor(cursor);
    const known = this.#pages.get(after);
    if (known !== undefined) return known;
    if (this.filtered) return this.#visible(caller).then((entries) => this.#makePage(entries, after));
    const page = new PreparedResult(this.#makePage(this.#enabled(), after));
    this.#pages.set(after, page);
    return page;
  }

  async #visible(caller: Caller): Promise<readonly Entry<T>[]> {
    const entries = this.#enabled();
    const visible = await Promise.all(entries.map(({ item }) => item.access?.(caller, true) ?? true));
    return entries.filter((_, index) => visible[index]);
  }

  #makePage(entries: readonly Entry<T>[], after: number): { readonly [key: string]: unknown } {
    const rest = entries.filter((entry) => entry.ordinal > after);
    const shown = rest.slice(0, this.#pageSize);
    const last = shown.at(-1);
    const nextCursor = last !== undefined && rest.length > shown.length ? { nextCursor: writeCursor(last) } : {};
    return { [this.#member]: shown.map((entry) => entry.item.listing), ...nextCursor };
  }

  #enabled(): readonly Entry<T>[] {
    this.#shown ??= [...this.#entries.values()]
      .filter(({ enabled }) => enabled)
      .sort((one, other) => one.ordinal - other.ordinal);
    return this.#shown;
  }

  #changed(): void {
    this.#shown = undefined;
    this.#pages.clear();
  }

  #entry(key: string): Entry<T> {
    const entry = this.#entries.get(key);
    if (entry === undefined) throw new DefinitionError(`${this.#noun} "${key}" is not defined`);
    return entry;
  }

  #assertFree(key: string): void {
    if (this.#entries.has(key)) throw new DefinitionError(`${this.#noun} "${key}" is already defined`);
  }

  #readCursor(cursor: unknown): number {
    const [, place = "", key = ""] = /^p([0-9a-z]{1,8})\.(.+)$/.exec(typeof cursor === "string" ? cursor : "") ?? [];
    const named = this.#entries.get(decodePercent(key) ?? "");
    const ordinal = named === undefined ? Number.parseInt(place, 36) : named.ordinal;
    if (ordinal > 0 && ordinal < this.#nextOrdinal) return ordinal;
    throw invalidCursor();
  }
}

/**
 * Creates a cursor from the last entry of a page. Other instances of the server find the entry by its key. The ordinal
 * is used if the entry was removed.
 */
function writeCursor({ ordinal, key }: Entry<unknown>): string {
  return `p${ordinal.toString(36)}.${encodeURIComponent(key)}`;
}

/** Creates the error for a cursor that this server never issued. */
export function invalidCursor(): RpcError {
  return new RpcError(INVALID_PARAMS, "Invalid params: /cursor was not issued by this server");
}

/** Definition of a running server. The next list or call sees each change, and clients are notified. */
export interface Editable<Changes> {
  /** False while the definition is hidden. */
  readonly enabled: boolean;
  /** Shows the definition again, at its old position. */
  enable(): void;
  /** Hides the definition: it is not listed, and using it fails as if it did not exist. */
  disable(): void;
  /** Replaces the given options. One that is `undefined` is taken away. */
  update(changes: Changes): void;
  /** Removes the definition. Running calls continue. */
  remove(): void;
}

/** Returns an editor of the entry with this key. It follows the entry when the key changes. */
export function editEntry<T extends Listed, Changes>(
  catalogue: Catalogue<T>,
  key: string,
  rebuild: (key: string, present: T, changes: Changes) => { readonly key: string; readonly item: T },
  announce: () => void,
): Editable<Changes> {
  catalogue.expect(key);
  let present = key;
  const announceIf = (changed: boolean) => {
    if (changed) announce();
  };
  const editor: Editable<Changes> = {
    get enabled() {
      return catalogue.isEnabled(present);
    },
    enable: () => announceIf(catalogue.enable(present, true)),
    disable: () => announceIf(catalogue.enable(present, false)),
    update(changes) {
      const { key: next, item } = rebuild(present, catalogue.expect(present), changes);
      catalogue.replace(present, next, item);
      present = next;
      announce();
    },
    remove: () => announceIf(catalogue.remove(present)),
  };
  return pointAtCallers(editor, "enable", "disable", "update");
}

/** Creates the error for an unknown name. The name is shortened, since it comes from the client. */
export function unknownItem(noun: string, name: string): RpcError {
  const shown = oneLine(name, 128);
  return new RpcError(INVALID_PARAMS, `Unknown ${noun}: ${shown} is not listed`);
}
