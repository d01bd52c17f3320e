import { toBase64 } from "../protocol/base64.js";
import { toHex } from "../protocol/bytes.js";

/** Length of the beginning of a value by which it is found. Shorter values are not searched for. */
export const MIN_KNOWN = 8;

/** Length of a value that is searched for. A longer one is replaced only where it is recognised again. */
const MAX_KNOWN = 4_096;
/** Characters of all forms of all values. Beyond it, further values are replaced only where they are recognised again. */
const MAX_CHARS = 8 * 1024 ** 2;

const BASE = 0x01000193;
/** `BASE` to the power of the length of the window: the weight of the character that leaves it. */
const OUT = Array.from({ length: MIN_KNOWN }).reduce<number>((power) => Math.imul(power, BASE), 1);
const FILTER_BITS = 1 << 16;

interface Known {
  readonly text: string;
  readonly replacement: string;
}

/**
 * Values that must not appear anywhere, with their replacements. All of them are found in one pass over a text, whatever
 * their number: a rolling hash of eight characters tells where one may begin.
 */
export class KnownValues {
  readonly #byHash = new Map<number, Known[]>();
  readonly #filter = new Uint8Array(FILTER_BITS >> 3);
  readonly #values = new Set<string>();
  readonly #max: number;
  #chars = 0;

  constructor(max: number) {
    this.#max = max;
  }

  /**
   * Adds a value that was found, with the forms in which it may be encoded. Returns false if it is known, too short, too
   * long, or beyond a limit.
   */
  add(value: string, replacement: string): boolean {
    const isFull = this.#values.size >= this.#max || this.#chars >= MAX_CHARS;
    return !isFull && value.length <= MAX_KNOWN && this.tell(value, replacement);
  }

  /** Adds a value of the user, which no limit leaves out. Returns false if it is known or too short. */
  tell(value: string, replacement: string): boolean {
    if (value.length < MIN_KNOWN || this.#values.has(value)) return false;
    this.#values.add(value);
    for (const text of new Set([value, ...encodingsOf(value)])) this.#addText({ text, replacement });
    return true;
  }

  /** Replaces all values. Tells of each replacement. */
  replace(text: string, onFound: (replacement: string) => void): string {
    if (this.#values.size === 0 || text.length < MIN_KNOWN) return text;
    let hash = 0;
    let copied = 0;
    let result = "";
    for (let at = 0; at < text.length; at++) {
      hash = (Math.imul(hash, BASE) + text.charCodeAt(at)) | 0;
      if (at >= MIN_KNOWN) hash = (hash - Math.imul(OUT, text.charCodeAt(at - MIN_KNOWN))) | 0;
      const start = at - MIN_KNOWN + 1;
      if (start < copied || !this.#mayHave(hash)) continue;
      const found = this.#byHash.get(hash)?.find((known) => text.startsWith(known.text, start));
      if (found === undefined) continue;
      onFound(found.replacement);
      result += text.slice(copied, start) + found.replacement;
      copied = start + found.text.length;
    }
    return copied === 0 ? text : result + text.slice(copied);
  }

  #addText(known: Known): void {
    if (known.text.length < MIN_KNOWN) return;
    this.#chars += known.text.length;
    let hash = 0;
    for (let at = 0; at < MIN_KNOWN; at++) hash = (Math.imul(hash, BASE) + known.text.charCodeAt(at)) | 0;
    const bit = hash & (FILTER_BITS - 1);
    this.#filter[bit >> 3] = (this.#filter[bit >> 3] as number) | (1 << (bit & 7));
    // The longest is tried first, so that no part of it remains.
    const all = [...(this.#byHash.get(hash) ?? []), known].sort((a, b) => b.text.length - a.text.length);
    this.#byHash.set(hash, all);
  }

  #mayHave(hash: number): boolean {
    const bit = hash & (FILTER_BITS - 1);
    return ((this.#filter[bit >> 3] as number) & (1 << (bit & 7))) !== 0;
  }
}

/**
 * Returns the forms of a value in URLs, also twice encoded, in JSON within JSON, in hexadecimal digits, and in base64 at each of
 * its three positions.
 */
function* encodingsOf(value: string): Iterable<string> {
  const isWellFormed = !/[\ud800-\udfff]/.test(value);
  if (isWellFormed) {
    const encoded = encodeURIComponent(value);
    yield encoded;
    yield encoded.replace(/%../g, (code) => code.toLowerCase());
    yield encodeURIComponent(encoded);
    yield new URLSearchParams({ v: value }).toString().slice(2);
  }
  const escaped = JSON.stringify(value).slice(1, -1);
  for (const text of [escaped, escaped.replaceAll("/", "\\/")]) {
    yield text;
    yield JSON.stringify(text).slice(1, -1);
  }
  const bytes = new TextEncoder().encode(value);
  const digits = toHex(bytes);
  yield digits;
  yield digits.toUpperCase();
  for (let offset = 0; offset < 3; offset++) {
    const shifted = new Uint8Array(offset + bytes.length);
    shifted.set(bytes, offset);
    const from = Math.ceil((offset * 4) / 3);
    // The last character depends on the text that follows.
    const core = toBase64(shifted).slice(from, Math.floor((shifted.length * 4) / 3));
    yield core;
    yield core.replaceAll("+", "-").replaceAll("/", "_");
  }
}
