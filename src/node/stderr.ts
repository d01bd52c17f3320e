import { inspect } from "node:util";

/** Writes an error that nobody listens for to standard error, with the place in which it happened. */
export function writeError(where: string, error: unknown): void {
  process.stderr.write(`${where}: ${inspect(error)}\n`);
}
