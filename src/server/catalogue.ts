import { PreparedResult } from "../era/prepared-result.js";
import { INVALID_PARAMS } from "../jsonrpc/error-codes.js";
import { DefinitionError, RpcError } from "../schema/errors.js";

interface Entry<T> {
  readonly ordinal: number;
  readonly item: T;
}

export interface CatalogueOptions {
  /** What one entry is called in errors: "tool". */
  readonly noun: string;
  /** The member of the result that holds the page: "tools". */
  readonly member: string;
  readonly pageSize: number;
  /** What every page says besides its entries. */
  readonly extras: { readonly [key: string]: unknown };
}

/** The things of one kind that a server offers, in the order of their registration. Pages are made once per change. */
export class Catalogue<T extends { readonly listing: unknown }> {
  readonly #options: CatalogueOptions;
  readonly #entries = new Map<string, Entry<T>>();
  readonly #pages = new Map<number, PreparedResult>();
  #nextOrdinal = 1;

  constructor(options: CatalogueOptions) {
    this.#options = options;
  }

  get size(): number {
    return this.#entries.size;
  }

  add(key: string, item: T): void {
    if (this.#entries.has(key)) throw new DefinitionError(`${this.#options.noun} "${key}" is defined twice`);
    this.#entries.set(key, { ordinal: this.#nextOrdinal++, item });
    this.#pages.clear();
  }

  remove(key: string): boolean {
    this.#pages.clear();
    return this.#entries.delete(key);
  }

  get(key: string): T | undefined {
    return this.#entries.get(key)?.item;
  }

  *values(): Iterable<T> {
    for (const entry of this.#entries.values()) yield entry.item;
  }

  /** The page after a cursor. A cursor stays good when entries come and go. */
  page(cursor: unknown): PreparedResult {
    const after = cursor === undefined ? 0 : this.#readCursor(cursor);
    let page = this.#pages.get(after);
    if (page === undefined) {
      page = this.#makePage(after);
      this.#pages.set(after, page);
    }
    return page;
  }

  #makePage(after: number): PreparedResult {
    const { member, pageSize, extras } = this.#options;
    const rest = [...this.#entries.values()].filter((entry) => entry.ordinal > after);
    const shown = rest.slice(0, pageSize);
    const last = shown[shown.length - 1];
    const nextCursor =
      last !== undefined && rest.length > shown.length ? { nextCursor: writeCursor(last.ordinal) } : {};
    return new PreparedResult({ [member]: shown.map((entry) => entry.item.listing), ...nextCursor, ...extras });
  }

  #readCursor(cursor: unknown): number {
    const ordinal =
      typeof cursor === "string" && /^p[0-9a-z]{1,8}$/.test(cursor) ? Number.parseInt(cursor.slice(1), 36) : Number.NaN;
    if (ordinal > 0 && ordinal < this.#nextOrdinal) return ordinal;
    throw new RpcError(INVALID_PARAMS, `Invalid params: /cursor is not one that this server gave out`);
  }
}

function writeCursor(ordinal: number): string {
  return `p${ordinal.toString(36)}`;
}
