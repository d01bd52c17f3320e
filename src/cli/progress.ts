import type { CallProgress } from "../call/progress.js";
import type { Io } from "./io.js";
import type { Screen } from "./screen.js";
import { fitted, visibleLine } from "./text.js";

const BAR = 12;
const REDRAW_MS = 100;
const TURNING = ["⠋", "⠙", "⠹", "⠸", "⠼", "⠴", "⠦", "⠧", "⠇", "⠏"];

/** Shows the progress of a call: one line that is redrawn on a terminal, else a line of text for each change. */
export class ProgressLine {
  readonly #io: Io;
  readonly #screen: Screen;
  readonly #began = performance.now();
  readonly #isDrawn: boolean;
  #state = "";
  #bar = "";
  #turns = 0;
  #timer: NodeJS.Timeout | undefined;
  #isShown = false;
  #isPaused = false;

  constructor(io: Io, screen: Screen) {
    this.#io = io;
    this.#screen = screen;
    this.#isDrawn = io.stderr.isTTY === true && !screen.quiet && io.env.TERM !== "dumb" && !io.env.CI;
    screen.clearLine = () => this.#clear();
  }

  /** Shows a progress notification. */
  tell({ progress, total, message }: CallProgress): void {
    const done = total === undefined || total <= 0 ? 0 : Math.min(1, Math.max(0, progress / total));
    const filled = Math.round(done * BAR);
    this.#bar = total === undefined ? "" : `${"█".repeat(filled)}${"░".repeat(BAR - filled)} `;
    const counted = total === undefined ? `${progress}` : `${progress}/${total}`;
    this.say(`${counted}${message === undefined ? "" : ` ${visibleLine(message)}`}`);
  }

  /** Shows a state in words. */
  say(state: string): void {
    this.#state = state;
    if (!this.#isDrawn) {
      this.#screen.note(`  ${state}  ${this.#seconds()}`);
      return;
    }
    this.#timer ??= setInterval(() => this.#draw(), REDRAW_MS);
    this.#timer.unref();
    if (!this.#isShown) this.#draw();
  }

  /** Keeps the terminal free while the user is asked. */
  async pausedWhile<T>(work: () => Promise<T>): Promise<T> {
    this.#clear();
    this.#isPaused = true;
    try {
      return await work();
    } finally {
      this.#isPaused = false;
    }
  }

  close(): void {
    clearInterval(this.#timer);
    this.#clear();
    this.#screen.clearLine = () => {};
  }

  #draw(): void {
    if (this.#isPaused) return;
    const mark = this.#bar === "" ? `${TURNING[this.#turns++ % TURNING.length]} ` : this.#bar;
    const line = fitted(`${mark}${this.#state}  ${this.#seconds()}`, (this.#io.stderr.columns || 80) - 1);
    this.#io.stderr.write(`\r\u001b[K${line}`);
    this.#isShown = true;
  }

  #clear(): void {
    if (this.#isShown) this.#io.stderr.write("\r\u001b[K");
    this.#isShown = false;
  }

  #seconds(): string {
    return `${((performance.now() - this.#began) / 1000).toFixed(1)} s`;
  }
}
