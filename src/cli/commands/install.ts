import type { CommandContext } from "../context.js";
import { UsageError } from "../failures.js";
import { lineBreakOf } from "../hosts/edit/edits.js";
import { type Change, copyOf, placeFor, planInstall, planRemoval, snippetOf, writeChange } from "../hosts/install.js";
import { toNative } from "../hosts/native.js";
import { sourceOf } from "../hosts/source.js";
import { textValue } from "../parse.js";
import { Prompter } from "../prompter.js";
import { visible, visibleLine } from "../text.js";

/** Adds a server to the file of a host, or removes it. */
export async function install(context: CommandContext): Promise<void> {
  const { line, values, io, screen } = context;
  const place = placeFor(textValue("in", values), values.project === true, io);
  const gone = textValue("remove", values);
  if (gone !== undefined) return remove(gone, place, context);
  if (line.names[0] === undefined && line.program === undefined)
    throw new UsageError("bowline install needs a server: a URL, a file, a name, a package, or -- and a command");
  if (line.names[0] !== undefined && line.program !== undefined)
    throw new UsageError(`unexpected argument ${JSON.stringify(line.names[0])}; the server is the command after --`);
  const { name, entry } = await sourceOf(line, place, io);
  if (values.print === true) {
    const native = toNative(name, entry, place);
    const text = await snippetOf(native, place);
    const told = { name, host: place.host, file: place.file, written: false, entry: native.entry, text };
    context.finish(told, () => screen.line(visible(text.trimEnd())));
    return;
  }
  const { change, native } = await planInstall(name, entry, place);
  const written = await confirmed(change, context);
  const { variables, note } = native;
  const told = { name, host: place.host, file: place.file, written, entry: native.entry, variables };
  context.finish(told, () => {
    const where = visibleLine(place.file);
    screen.line(written ? `${name} is in ${where}` : `${name} is already in ${where}`);
  });
  if (variables.length > 0) screen.note(`${place.host} must be started with ${variables.join(", ")} set`);
  if (note !== undefined) screen.note(`${place.host}: ${note}`);
}

async function remove(name: string, place: Change["place"], context: CommandContext): Promise<void> {
  const { values, line, screen } = context;
  const stray = ["name", "print", "env", "header", "config"].find((option) => values[option] !== undefined);
  if (stray !== undefined) throw new UsageError(`--${stray} is not for --remove`);
  if (line.names[0] !== undefined || line.program !== undefined)
    throw new UsageError("--remove names the server; nothing else does");
  const change = await planRemoval(name, place);
  const written = await confirmed(change, context);
  context.finish({ name, host: place.host, file: place.file, written }, () =>
    screen.line(`${name} is removed from ${visibleLine(place.file)}`),
  );
}

/** Shows a change, asks, and writes it. Resolves with false if there is nothing to change. */
async function confirmed(change: Change, context: CommandContext): Promise<boolean> {
  const { values, io, screen } = context;
  if (change.steps.length === 0) return false;
  screen.note(screen.tint("bold", visibleLine(change.place.file)));
  for (const text of differencesOf(change)) screen.note(screen.tint(text.startsWith("+") ? "green" : "red", text));
  if (values.yes !== true) {
    const isTerminal = io.stdin.isTTY === true && io.stderr.isTTY === true;
    const text = isTerminal ? await new Prompter(io).ask("Write this? (y/n) ") : undefined;
    if (!/^y(?:es)?$/i.test(text ?? ""))
      throw new UsageError("nothing was written; it is written with --yes, or after a yes on a terminal");
  }
  await writeChange(change);
  if (change.before !== undefined) screen.note(`the former file is ${visibleLine(copyOf(change.place.file))}`);
  return true;
}

/**
 * Returns the lines that are added and the number of those that are removed. Lines around them, and removed ones, may have
 * secrets.
 */
function differencesOf({ steps }: Change): string[] {
  return steps.flatMap(({ text, edits }) =>
    edits.flatMap(({ start, end, text: added }) => {
      const line = text.slice(0, start).split("\n").length;
      const removed = text.slice(start, end).trim();
      const gone = removed.replace(/^,$/, "");
      const lines = added
        .replace(/^,/, "")
        .split(lineBreakOf(added))
        .filter((one) => one.trim() !== "");
      const count = gone.split("\n").length;
      return [
        ...(gone === "" ? [] : [`- ${count} ${count === 1 ? "line" : "lines"} from line ${line}`]),
        ...lines.map((one) => visible(`+ ${one}`)),
      ];
    }),
  );
}
