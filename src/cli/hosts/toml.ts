import { DefinitionError } from "../../protocol/errors.js";

type Table = Record<string, unknown>;

/**
 * Parses TOML 1.0, as far as configurations need it: dates are texts. Errors name the file and the line, and no text of
 * the file, which may contain secrets.
 */
export function parseToml(text: string, file: string): Table {
  return new TomlReader(text.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n"), file).read();
}

/** Table header with its pairs, or a pair. `from` and `to` are its first and its last line, from 0. */
export interface TomlItem {
  readonly path: readonly string[];
  readonly isTable: boolean;
  readonly from: number;
  readonly to: number;
}

/** Returns the headers and the pairs of a file in their order. Pairs inside of inline tables are not listed. */
export function readTomlItems(text: string, file: string): readonly TomlItem[] {
  const reader = new TomlReader(text.replace(/^\uFEFF/, "").replaceAll("\r\n", "\n"), file);
  reader.read();
  const lineOf = (at: number) => reader.text.slice(0, at).split("\n").length - 1;
  return reader.items.map(({ path, isTable, start, end }) => ({ path, isTable, from: lineOf(start), to: lineOf(end) }));
}

const BARE = /[A-Za-z0-9_-]+/y;
const BASIC = /"(?:[^"\\\n]|\\.)*"/y;
const LITERAL = /'[^'\n]*'/y;
const LONG_BASIC = /"""\n?((?:[^\\]|\\[\s\S])*?)"""(?!")/y;
const LONG_LITERAL = /'''\n?([\s\S]*?)'''(?!')/y;
const PLAIN = /[^\s,#\]}]+(?: \d\d:[^\s,#\]}]+)?/y;
const NUMBER = /^[+-]?(?:0x[\da-f_]+|0o[0-7_]+|0b[01_]+|[\d_]+(?:\.[\d_]+)?(?:e[+-]?[\d_]+)?|inf|nan)$/i;

class TomlReader {
  #at = 0;
  readonly #root: Table = {};
  /** Tables that a header or an inline table made, which must not be made again. */
  readonly #closed = new Set<Table>();
  readonly items: { readonly path: readonly string[]; isTable: boolean; start: number; end: number }[] = [];

  constructor(
    readonly text: string,
    readonly file: string,
  ) {}

  read(): Table {
    let table = this.#root;
    let within: readonly string[] = [];
    for (this.#skip(true); this.#at < this.text.length; this.#skip(true)) {
      const start = this.#at;
      const isTable = this.text[start] === "[";
      let path: readonly string[];
      if (isTable) {
        [table, within] = this.#header();
        path = within;
      } else path = [...within, ...this.#pair(table)];
      this.items.push({ path, isTable, start, end: this.#at });
      this.#skip(false);
      if (this.#at < this.text.length && this.text[this.#at] !== "\n") this.#fail();
    }
    return this.#root;
  }

  #header(): [table: Table, path: readonly string[]] {
    const isList = this.text.startsWith("[[", this.#at);
    this.#at += isList ? 2 : 1;
    const path = this.#path();
    this.#expect(isList ? "]]" : "]");
    const last = path.at(-1)!;
    const parent = path.slice(0, -1).reduce((table, key) => this.#child(table, key), this.#root);
    if (isList) {
      const list = (this.#own(parent, last) ?? []) as unknown[];
      if (!Array.isArray(list)) this.#fail();
      const table: Table = {};
      list.push(table);
      define(parent, last, list);
      return [table, path];
    }
    const table = this.#child(parent, last);
    if (this.#closed.has(table)) this.#fail();
    this.#closed.add(table);
    return [table, path];
  }

  #pair(table: Table): readonly string[] {
    const path = this.#path();
    this.#expect("=");
    const last = path.at(-1)!;
    const parent = path.slice(0, -1).reduce((one, key) => this.#child(one, key), table);
    if (Object.hasOwn(parent, last)) this.#fail();
    define(parent, last, this.#value());
    return path;
  }

  /** Returns the table at a key, or the last one of a list of tables. */
  #child(table: Table, key: string): Table {
    const found = this.#own(table, key) ?? {};
    define(table, key, found);
    const child = Array.isArray(found) ? found.at(-1) : found;
    if (typeof child !== "object" || child === null) this.#fail();
    return child as Table;
  }

  #own(table: Table, key: string): unknown {
    return Object.hasOwn(table, key) ? table[key] : undefined;
  }

  #path(): string[] {
    const path: string[] = [];
    do {
      this.#skip(false);
      path.push(this.#key());
      this.#skip(false);
    } while (this.#take("."));
    return path;
  }

  #key(): string {
    const quoted = this.#quoted();
    return quoted ?? this.#match(BARE)?.[0] ?? this.#fail();
  }

  #quoted(): string | undefined {
    const basic = this.#match(BASIC)?.[0];
    return basic === undefined ? this.#match(LITERAL)?.[0].slice(1, -1) : this.#unescape(basic.slice(1, -1));
  }

  #value(): unknown {
    this.#skip(false);
    const long = this.#match(LONG_BASIC)?.[1];
    if (long !== undefined) return this.#unescape(long.replace(/\\[ \t]*\n\s*/g, ""));
    const literal = this.#match(LONG_LITERAL)?.[1];
    if (literal !== undefined) return literal;
    const quoted = this.#quoted();
    if (quoted !== undefined) return quoted;
    if (this.#take("[")) return this.#list();
    if (this.#take("{")) return this.#inline();
    const plain = this.#match(PLAIN)?.[0] ?? this.#fail();
    if (plain === "true" || plain === "false") return plain === "true";
    return NUMBER.test(plain) ? Number(plain.replaceAll("_", "")) : /^\d/.test(plain) ? plain : this.#fail();
  }

  #list(): unknown[] {
    const list: unknown[] = [];
    for (;;) {
      this.#skip(true);
      if (this.#take("]")) return list;
      list.push(this.#value());
      this.#skip(true);
      if (!this.#take(",")) {
        this.#expect("]");
        return list;
      }
    }
  }

  #inline(): Table {
    const table: Table = {};
    this.#skip(false);
    if (this.#take("}")) return table;
    for (;;) {
      this.#pair(table);
      this.#skip(false);
      if (!this.#take(",")) break;
    }
    this.#expect("}");
    this.#closed.add(table);
    return table;
  }

  #unescape(text: string): string {
    const escapes: Readonly<Record<string, string>> = {
      b: "\b",
      t: "\t",
      n: "\n",
      f: "\f",
      r: "\r",
      '"': '"',
      "\\": "\\",
    };
    return text.replace(
      /\\(?:u([\da-fA-F]{4})|U([\da-fA-F]{8})|([\s\S]))/g,
      (_, short, long, char: string | undefined) => {
        if (char !== undefined) return escapes[char] ?? this.#fail();
        const code = Number.parseInt(short ?? long, 16);
        return code > 0x10ffff ? this.#fail() : String.fromCodePoint(code);
      },
    );
  }

  /** Skips spaces and comments, with `lines` also line breaks. */
  #skip(lines: boolean): void {
    this.#match(lines ? /(?:\s|#[^\n]*)*/y : /[ \t]*(?:#[^\n]*)?/y);
  }

  #take(text: string): boolean {
    if (!this.text.startsWith(text, this.#at)) return false;
    this.#at += text.length;
    return true;
  }

  #expect(text: string): void {
    this.#skip(false);
    if (!this.#take(text)) this.#fail();
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.#at;
    const found = pattern.exec(this.text);
    if (found === null) return undefined;
    this.#at = pattern.lastIndex;
    return found;
  }

  #fail(): never {
    const line = this.text.slice(0, this.#at).split("\n").length;
    throw new DefinitionError(`${this.file}: is not valid TOML, line ${line}`);
  }
}

/** Sets a member, also one named `__proto__`. */
function define(table: Table, key: string, value: unknown): void {
  Object.defineProperty(table, key, { value, enumerable: true, configurable: true, writable: true });
}
