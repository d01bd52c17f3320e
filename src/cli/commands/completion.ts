import { SHELLS } from "../completion/scripts.js";
import type { CommandContext } from "../context.js";
import { UsageError } from "../failures.js";

/** Prints the completion script of a shell. */
export async function completion({ line, screen }: CommandContext): Promise<void> {
  const [shell = ""] = line.names;
  const script = Object.hasOwn(SHELLS, shell) ? SHELLS[shell] : undefined;
  if (script === undefined)
    throw new UsageError(`completion is for ${Object.keys(SHELLS).join(", ")}, not ${JSON.stringify(shell)}`);
  screen.line(script.trimEnd());
}
