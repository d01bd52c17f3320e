import type { Clock } from "../call/clock.js";
import type { ReportContext } from "../era/server-era.js";
import type { ServerLimits } from "../era/server-limits.js";
import { toError } from "../protocol/errors.js";
import { oneLine } from "../protocol/text.js";

const PERIOD_MS = 3_600_000;
/** Maximum number of characters of each stack. */
const MAX_CHARS = 4_000;
const MAX_CAUSES = 2;

/** Prints errors and warnings of which nobody else is told to the standard error, or to the console where there is none. */
export class ErrorPrinter {
  readonly #limits: Pick<ServerLimits, "maxPrintedErrors">;
  readonly #clock: Clock;
  /** Number of lines printed in the period that ends at `#endsAt`. */
  #printed = 0;
  #endsAt = 0;
  /** Warnings that have been printed. */
  readonly #warned = new Set<string>();

  constructor(limits: Pick<ServerLimits, "maxPrintedErrors">, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Prints an error with its stack and causes. Does nothing beyond the limit. */
  print(error: unknown, { where, method = where, name }: ReportContext): void {
    if (this.#mayPrint()) write(`${method}${name ? ` "${name}"` : ""} failed: ${stackOf(error)}`);
  }

  /** Prints a warning once. The limit holds for all warnings of the server, too. */
  warn(message: string): void {
    const text = oneLine(message, MAX_CHARS);
    if (this.#warned.has(text) || this.#warned.size >= this.#limits.maxPrintedErrors || !this.#mayPrint()) return;
    this.#warned.add(text);
    write(text);
  }

  /** Counts a line. Tells once in a period that the limit is reached. */
  #mayPrint(): boolean {
    const now = this.#clock.now();
    if (now >= this.#endsAt) {
      this.#printed = 0;
      this.#endsAt = now + PERIOD_MS;
    }
    const { maxPrintedErrors: most } = this.#limits;
    const before = this.#printed++;
    if (before === most && most > 0)
      write(`${most} errors printed, none for an hour (limits.maxPrintedErrors): set logger or onError`);
    return before < most;
  }
}

function write(text: string): void {
  // biome-ignore lint/suspicious/noConsole: it writes to the standard error on every runtime that has one
  console.error(`bowline: ${text}`);
}

/** Returns the stacks of an error and its causes. Text from a peer in them can neither control a terminal nor forge a line. */
function stackOf(error: unknown, depth = 0): string {
  const { message, stack = message, cause } = toError(error);
  // The stack of a value that is not an error would be that of this function.
  const own = error instanceof Error ? stack : message;
  const shown = own
    .slice(0, MAX_CHARS)
    .split("\n")
    .map((line) => oneLine(line, MAX_CHARS))
    .join("\n    ");
  return cause === undefined || depth === MAX_CAUSES ? shown : `${shown}\n    caused by: ${stackOf(cause, depth + 1)}`;
}
