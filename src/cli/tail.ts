import type { CommandContext } from "./context.js";
import { UsageError } from "./failures.js";
import { mergeValues, optionsOf, textOf, tokensOf, valuesOf } from "./parse.js";
import { commandNamed } from "./table.js";
import { readInput } from "./values.js";

/**
 * Reads the options after the item of a server whose values are texts: variables of a template, arguments of a prompt. Those
 * of Bowline become the values of the command. `what` names the others in errors.
 */
export async function readTail(
  context: CommandContext,
  command: string,
  what: string,
): Promise<Record<string, string>> {
  const { line, io } = context;
  const table = optionsOf(commandNamed(command)!);
  const texts: Record<string, string> = {};
  // An option that Bowline lacks takes a value.
  const names = line.tail.flatMap((part) => /^--([^=]+)/.exec(part)?.[1] ?? []);
  const own = Object.fromEntries(
    names.filter((name) => !Object.hasOwn(table, name)).map((name) => [name, { type: "string", help: "" } as const]),
  );
  const tokens = tokensOf(line.tail, { ...table, ...own });
  for (const { kind, name, value, inlineValue } of tokens) {
    if (kind === "positional")
      throw new UsageError(`unexpected argument ${JSON.stringify(value)}; a ${what} is written --name value`);
    if (!Object.hasOwn(own, name)) continue;
    if (Object.hasOwn(texts, name)) throw new UsageError(`--${name} is given twice`);
    texts[name] = await readInput(textOf(name, value, inlineValue), name, io);
  }
  const options = tokens.filter(({ kind, name }) => kind === "option" && Object.hasOwn(table, name));
  context.values = mergeValues(line.head, valuesOf(options, table));
  return texts;
}
