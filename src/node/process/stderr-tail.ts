const MAX_LINES = 50;
const MAX_CHARS = 8 * 1024;

/** Remembers the last lines of a text stream: at most 50 of them and 8 kB. A longer line counts as several. */
export class StderrTail {
  readonly #onLine: ((line: string) => void) | undefined;
  readonly #utf8 = new TextDecoder();
  readonly #lines: string[] = [];
  #chars = 0;
  #rest = "";

  constructor(onLine?: (line: string) => void) {
    this.#onLine = onLine;
  }

  /** The last lines, the unfinished one included. */
  get lines(): readonly string[] {
    return this.#rest === "" ? [...this.#lines] : [...this.#lines, this.#rest];
  }

  push(chunk: Uint8Array): void {
    this.#take(this.#utf8.decode(chunk, { stream: true }));
  }

  /** The stream is over: an unfinished line counts as one. Idempotent. */
  end(): void {
    this.#take(this.#utf8.decode());
    if (this.#rest !== "") this.#add(this.#rest);
    this.#rest = "";
  }

  #take(text: string): void {
    const lines = (this.#rest + text).split("\n");
    const rest = lines.pop() ?? "";
    for (const line of lines) this.#add(line.endsWith("\r") ? line.slice(0, -1) : line);
    this.#rest = rest;
    while (this.#rest.length > MAX_CHARS) {
      this.#add(this.#rest.slice(0, MAX_CHARS));
      this.#rest = this.#rest.slice(MAX_CHARS);
    }
  }

  #add(line: string): void {
    const kept = line.length > MAX_CHARS ? line.slice(-MAX_CHARS) : line;
    this.#lines.push(kept);
    this.#chars += kept.length;
    while (this.#lines.length > MAX_LINES || this.#chars > MAX_CHARS) this.#chars -= this.#lines.shift()!.length;
    this.#onLine?.(line);
  }
}
