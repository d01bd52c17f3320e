import { andThen, type MaybePromise } from "../../call/maybe-promise.js";
import { type HandlerResult, PreparedResult } from "../../era/server-era.js";
import { DefinitionError, RpcError } from "../../protocol/errors.js";
import { INVALID_PARAMS } from "../../protocol/jsonrpc/errors.js";
import { oneLine } from "../../protocol/text.js";
import type { Context } from "../context.js";
import type { Access } from "./access.js";

/** What can be listed. */
export interface Listed {
  readonly listing: object;
  /** Undefined where everybody may see and use it. */
  readonly access: Access | undefined;
}

interface Entry<T> {
  readonly key: string;
  readonly ordinal: number;
  readonly item: T;
  readonly enabled: boolean;
}

/** The things of one kind that a server offers, in the order of their registration. Pages are made once per change. */
export class Catalogue<T extends Listed> {
  readonly #noun: string;
  readonly #member: string;
  readonly #pageSize: number | undefined;
  readonly #entries = new Map<string, Entry<T>>();
  readonly #pages = new Map<number, PreparedResult>();
  #shown: readonly Entry<T>[] | undefined;
  #nextOrdinal = 1;

  /** `noun` is what one entry is called in errors, as in "tool"; `member` holds the page in a result. */
  constructor(noun: string, member: string, pageSize: number | undefined) {
    this.#noun = noun;
    this.#member = member;
    this.#pageSize = pageSize;
  }

  /** How many there are, switched off or not. */
  get size(): number {
    return this.#entries.size;
  }

  /** Whether there has ever been one: what was offered once is answered for, even when nothing is left. */
  get offered(): boolean {
    return this.#nextOrdinal > 1;
  }

  /** Whether the listing depends on who asks. */
  get filtered(): boolean {
    return this.#enabled().some(({ item }) => item.access !== undefined);
  }

  add(key: string, item: T): void {
    this.#assertFree(key);
    this.#entries.set(key, { key, ordinal: this.#nextOrdinal++, item, enabled: true });
    this.#changed();
  }

  /** Puts another item, perhaps under another key, in the place of one. */
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

  /** Shows or hides an entry, which keeps its place. Returns whether that changed anything. */
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

  /** The definition, switched off or not. */
  get(key: string): T | undefined {
    return this.#entries.get(key)?.item;
  }

  /** The definition; throws where there is none. */
  expect(key: string): T {
    return this.#entry(key).item;
  }

  /** What a caller means by a key: undefined when it does not exist for this caller. */
  find(key: string, ctx: Context): MaybePromise<T | undefined> {
    const entry = this.#entries.get(key);
    if (entry === undefined || !entry.enabled) return undefined;
    const { item } = entry;
    return item.access === undefined ? item : andThen(item.access(ctx), (visible) => (visible ? item : undefined));
  }

  /** All that is switched on, in order. */
  values(): readonly T[] {
    return this.#enabled().map(({ item }) => item);
  }

  /** The page after a cursor. A cursor stays good when entries come and go. */
  page(cursor: unknown, ctx: Context): MaybePromise<HandlerResult> {
    const after = cursor === undefined ? 0 : this.#readCursor(cursor);
    const known = this.#pages.get(after);
    if (known !== undefined) return known;
    if (this.filtered) return this.#visible(ctx).then((entries) => this.#makePage(entries, after));
    const page = new PreparedResult(this.#makePage(this.#enabled(), after));
    this.#pages.set(after, page);
    return page;
  }

  async #visible(ctx: Context): Promise<readonly Entry<T>[]> {
    const entries = this.#enabled();
    const visible = await Promise.all(entries.map(({ item }) => item.access?.(ctx, true) ?? true));
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
    if (this.#entries.has(key)) throw new DefinitionError(`${this.#noun} "${key}" is defined twice`);
  }

  #readCursor(cursor: unknown): number {
    const [, place = "", key = ""] = /^p([0-9a-z]{1,8})\.(.+)$/.exec(typeof cursor === "string" ? cursor : "") ?? [];
    const named = this.#entries.get(decode(key));
    const ordinal = named === undefined ? Number.parseInt(place, 36) : named.ordinal;
    if (ordinal > 0 && ordinal < this.#nextOrdinal) return ordinal;
    throw invalidCursor();
  }
}

/** Names the last entry shown, for any instance that has it, and its place, for when it has gone. */
function writeCursor({ ordinal, key }: Entry<unknown>): string {
  return `p${ordinal.toString(36)}.${encodeURIComponent(key)}`;
}

/** The error for a cursor that was never given out. */
export function invalidCursor(): RpcError {
  return new RpcError(INVALID_PARAMS, "Invalid params: /cursor is not one that this server gave out");
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return "";
  }
}

/** One definition of a server that is running. Every change is seen by the next list and call, and told to clients. */
export interface Editable<Changes> {
  readonly enabled: boolean;
  /** Shows it again, in its old place. */
  enable(): void;
  /** Hides it: it is not listed, and using it is an error as if it did not exist. */
  disable(): void;
  /** Puts the given members in the place of the present ones. */
  update(changes: Changes): void;
  /** Takes it away for good. Calls that run already come to their end. */
  remove(): void;
}

/** The way to the entry of a catalogue that has this key now, also after the key has changed. */
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
  return {
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
}

/** The caller's own name for it, bounded: it may be anything. */
export function unknownItem(noun: string, name: string): RpcError {
  const shown = oneLine(name, 128);
  return new RpcError(INVALID_PARAMS, `Unknown ${noun}: ${shown} is not among the listed ${noun}s`);
}
