import type { Clock } from "../call/clock.js";
import type { ReportContext } from "../era/server-era.js";
import type { ServerLimits } from "../era/server-limits.js";
import { toError } from "../protocol/errors.js";
import { oneLine } from "../protocol/text.js";

const PERIOD_MS = 3_600_000;
/** Maximum number of characters of each stack. */
const MAX_CHARS = 4_000;
const MAX_CAUSES = 2;

/** Prints errors of which nobody else is told to the standard error, or to the console where there is none. */
export class ErrorPrinter {
  readonly #limits: Pick<ServerLimits, "maxPrintedErrors">;
  readonly #clock: Clock;
  /** Number of errors printed in the period that ends at `#endsAt`. */
  #printed = 0;
  #endsAt = 0;

  constructor(limits: Pick<ServerLimits, "maxPrintedErrors">, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Prints an error with its stack and causes. Does nothing beyond the limit. */
  print(error: unknown, { where, method = where, name }: ReportContext): void {
    const now = this.#clock.now();
    if (now >= this.#endsAt) {
      this.#printed = 0;
      this.#endsAt = now + PERIOD_MS;
    }
    const { maxPrintedErrors: most } = this.#limits;
    if (this.#printed > most) return;
    const text =
      this.#printed++ < most
        ? `${method}${name ? ` "${name}"` : ""} failed: ${stackOf(error)}`
        : `${most} errors printed, none for an hour (limits.maxPrintedErrors): set logger or onError`;
    // biome-ignore lint/suspicious/noConsole: it writes to the standard error on every runtime that has one
    console.error(`bowline: ${text}`);
  }
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
