import type { Clock } from "../call/clock.js";
import type { ReportContext } from "../era/server-era.js";
import type { ServerLimits } from "../era/server-limits.js";
import { ConnectionError, McpError, ProtocolError, toError } from "../protocol/errors.js";
import { oneLine } from "../protocol/text.js";

const PERIOD_MS = 3_600_000;
const MAX_CHARS = 4_000;
const MAX_CAUSES = 3;

/** Prints errors of which nobody else is told to the standard error, or to the console where there is none. */
export class ErrorPrinter {
  readonly #limits: Pick<ServerLimits, "maxPrintedErrors">;
  readonly #clock: Clock;
  #printed = 0;
  #endsAt = Number.NEGATIVE_INFINITY;

  constructor(limits: Pick<ServerLimits, "maxPrintedErrors">, clock: Clock) {
    this.#limits = limits;
    this.#clock = clock;
  }

  /** Prints an error with its stack and causes. Does nothing for a mistake of the peer, or beyond the limit. */
  print(error: unknown, context: ReportContext): void {
    if (isOfPeer(error, context)) return;
    const now = this.#clock.now();
    if (now >= this.#endsAt) {
      this.#printed = 0;
      this.#endsAt = now + PERIOD_MS;
    }
    const { maxPrintedErrors: most } = this.#limits;
    if (most === 0 || this.#printed > most) return;
    this.#printed++;
    const text =
      this.#printed > most
        ? `${most} errors were printed (limits.maxPrintedErrors); further errors are not printed for an hour: set logger or onError`
        : `${headlineOf(context)}: ${stackOf(error)}`;
    // biome-ignore lint/suspicious/noConsole: it writes to the standard error on every runtime that has one
    console.error(`bowline: ${text}`);
  }
}

/** True for a mistake or an end of the peer, which concerns nobody who maintains this side. */
function isOfPeer(error: unknown, { where }: ReportContext): boolean {
  if (where === "connection" || where === "ping") return true;
  if (where === "requestState" && !(error instanceof McpError)) return true;
  const isPeers = error instanceof ProtocolError || error instanceof ConnectionError;
  return isPeers && /^(http|notification|progress)$/.test(where);
}

function headlineOf({ where, method, name }: ReportContext): string {
  if (method === undefined) return where;
  return name === undefined ? `${method} failed` : `${method} ${JSON.stringify(name)} failed`;
}

/** Returns the stacks of an error and its causes. Text from a peer in them can neither control a terminal nor forge a line. */
function stackOf(thrown: unknown): string {
  const stacks: string[] = [];
  for (let error = thrown; stacks.length === 0 || (error !== undefined && stacks.length <= MAX_CAUSES); ) {
    const { name, message, stack = "", cause } = toError(error);
    // The stack of a value that is not an error would be that of this function.
    if (!(error instanceof Error)) stacks.push(message);
    else stacks.push(stack.includes(message) ? stack : `${name}: ${message}\n${stack}`);
    error = cause;
  }
  const lines = stacks.join("\ncaused by: ").slice(0, MAX_CHARS).trimEnd().split("\n");
  return lines.map((line) => oneLine(line, MAX_CHARS)).join("\n    ");
}
