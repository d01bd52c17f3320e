import { oneLine } from "../protocol/text.js";

/** Name and version of a server, for the line that a person sees who starts it on a terminal. */
interface ServerName {
  readonly name: string;
  readonly version: string;
}

/** Writes a line to stderr for a person at the terminal, since a server waits in silence. `words` are a command to try. */
export function greet(server: ServerName | undefined, waits: string, words: readonly string[]): void {
  const { name, version } = server ?? { name: "the server", version: "" };
  const hint = words.length === 0 ? "" : `; try: ${words.map(quoteForShell).join(" ")}`;
  process.stderr.write(`${oneLine(`${name} ${version}`)} ${waits}${hint}\n`);
}

function quoteForShell(word: string): string {
  return /^[\w@%+=:,./\\-]+$/.test(word) ? word : JSON.stringify(word);
}
