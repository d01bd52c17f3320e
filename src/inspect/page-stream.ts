import type { HttpStream } from "../http/exchange.js";
import { formatSseEvent, sseComment } from "../http/sse/writer.js";
import type { Inspection } from "./inspection.js";

/** Parts of an event in one write, so that one turn does not hold the event loop for a page that begins. */
const LINES_AT_ONCE = 500;

/**
 * Event stream to one page. It keeps no text of its own: a page that is behind continues where it was, from what the
 * inspection keeps.
 */
export class PageStream {
  readonly #stream: HttpStream;
  readonly #inspection: Inspection;
  readonly #state: () => string;
  /** Number of the next line, and index of the next end of a run. */
  #line: number;
  #end = 0;
  #isStateNew = true;
  /** True until the first event is written. */
  #isNew = true;
  #areLinesNext = true;
  #isBehind = false;
  #isScheduled = false;
  #isOver = false;

  /** `after` is the number of the last line that the page has. */
  constructor(stream: HttpStream, inspection: Inspection, after: number, state: () => string) {
    this.#stream = stream;
    this.#inspection = inspection;
    this.#state = state;
    this.#line = after + 1;
    this.#pump();
  }

  /** Tells that there is something new. */
  note(what: "line" | "state"): void {
    if (what === "state") this.#isStateNew = true;
    if (this.#isScheduled || this.#isBehind || this.#isOver) return;
    this.#isScheduled = true;
    queueMicrotask(() => {
      this.#isScheduled = false;
      this.#pump();
    });
  }

  /** Writes a comment, which keeps the connection alive. */
  keepAlive(): void {
    if (!this.#isBehind && !this.#isOver) this.#stream.write(sseComment());
  }

  /** Stops writing. */
  end(): void {
    this.#isOver = true;
    this.#stream.end();
  }

  #pump(): void {
    while (!this.#isBehind && !this.#isOver) {
      const text = this.#next();
      if (text === "") return;
      this.#isBehind = true;
      const goOn = () => {
        this.#isBehind = false;
        this.#pump();
      };
      // Waits in any case after many lines, so that other work has its turn.
      if (this.#stream.write(text) && text.length < MANY) this.#isBehind = false;
      else this.#stream.onDrain(() => setTimeout(goOn, 0));
    }
  }

  /**
   * Returns what is next. The state comes first, since the page needs it to begin. Later, the end of a run follows its lines,
   * and so does the state; many lines do not hold them back.
   */
  #next(): string {
    if (this.#isNew) {
      this.#isNew = false;
      return this.#others();
    }
    const lines = this.#areLinesNext ? this.#lines() : "";
    this.#areLinesNext = lines === "";
    return lines || this.#others() || this.#lines();
  }

  #others(): string {
    let text = "";
    for (let end = this.#inspection.runs.at(this.#end); end !== undefined; end = this.#inspection.runs.at(this.#end)) {
      if (end.lastLine >= this.#line || text.length >= MANY) break;
      this.#end = end.index + 1;
      text += formatSseEvent({ event: "run", data: end.text });
    }
    if (!this.#isStateNew) return text;
    this.#isStateNew = false;
    return formatSseEvent({ event: "state", data: this.#state() }) + text;
  }

  #lines(): string {
    let text = "";
    for (let count = 0; count < LINES_AT_ONCE && text.length < MANY; count++) {
      const line = this.#inspection.lines.at(this.#line);
      if (line === undefined) break;
      this.#line = line.number + 1;
      text += formatSseEvent({ id: String(line.number), data: line.text });
    }
    return text;
  }
}

/** Characters after which other work has its turn. */
const MANY = 262_144;
