import { styleText } from "node:util";
import type { Io, OutStream } from "./io.js";
import { wrapped } from "./text.js";

type Style = Parameters<typeof styleText>[0];

/** Writes text of the command: results to stdout, everything else to stderr. */
export class Screen {
  readonly #io: Io;
  /** Clears a line that is redrawn, before other text is written to the terminal. */
  clearLine: () => void = () => {};
  quiet = false;

  constructor(io: Io) {
    this.#io = io;
  }

  /** Writes a line of a result. */
  line(text = ""): void {
    this.clearLine();
    this.#io.stdout.write(`${text}\n`);
  }

  /** Writes bytes of a result as they are. */
  bytes(bytes: Uint8Array): void {
    this.#io.stdout.write(bytes);
  }

  /** Writes a line that is not part of the result. */
  note(text: string): void {
    if (!this.quiet) this.error(text);
  }

  /** Writes a line that `quiet` does not silence. */
  error(text: string): void {
    this.clearLine();
    this.#io.stderr.write(`${text}\n`);
  }

  /** Styles a text of a result, if stdout shows colours. */
  paint(style: Style, text: string): string {
    return this.#styled(style, text, this.#io.stdout);
  }

  /** The same for stderr. */
  tint(style: Style, text: string): string {
    return this.#styled(style, text, this.#io.stderr);
  }

  #styled(style: Style, text: string, stream: OutStream): string {
    const { env } = this.#io;
    const isForced = env.FORCE_COLOR !== undefined && env.FORCE_COLOR !== "" && env.FORCE_COLOR !== "0";
    const isWanted = isForced || (stream.isTTY === true && env.TERM !== "dumb");
    return isWanted && !env.NO_COLOR ? styleText(style, text, { validateStream: false }) : text;
  }

  /** Columns of stdout. In a pipe, those that COLUMNS names. */
  get columns(): number {
    return Math.max(40, this.#io.stdout.columns || Number(this.#io.env.COLUMNS) || 100);
  }
}

/** Column at which the text of an option begins. */
const COLUMN = 28;
/** Columns that the text needs at least. A narrow terminal has it below the option. */
const LEAST = 20;

/** Prints an option with its text, in lines that fit the terminal. */
export function printOption(option: string, text: string, screen: Screen): void {
  const name = `  ${screen.paint("cyan", option)}`;
  if (text === "") return screen.line(name);
  const isBelow = screen.columns - COLUMN < LEAST;
  const start = isBelow ? 6 : Math.max(COLUMN, option.length + 4);
  const [first = "", ...more] = wrapped(text, Math.max(LEAST, screen.columns - start));
  if (isBelow) screen.line(name);
  screen.line(isBelow ? `      ${first}` : `${name}${" ".repeat(start - 2 - option.length)}${first}`);
  for (const line of more) screen.line(`${" ".repeat(isBelow ? 6 : COLUMN)}${line}`);
}
