import { type OptionSpec, type OptionTable, SERVER_OPTIONS } from "./options.js";
import { COMMANDS, type CommandSpec, SERVER_FORMS, usesServer } from "./table.js";

const COLUMN = 30;

/** Returns the help of the whole command. */
export function overview(version: string): string {
  const groups = [...new Set(COMMANDS.map(({ group }) => group))];
  const commandsOf = (wanted: string) =>
    COMMANDS.filter(({ group }) => group === wanted).map(({ name, summary }) => row(name, summary, 14));
  return [
    `bowline ${version}: talk to MCP servers`,
    "",
    "Usage: bowline <command> [<server>] [options]",
    ...groups.flatMap((group) => ["", group, ...commandsOf(group)]),
    "",
    "A server is one of",
    ...SERVER_FORMS.map(([form, meaning]) => row(form, meaning)),
    "",
    "Options of all commands",
    ...rowsOf(SERVER_OPTIONS),
    "",
    "Exit codes: 0 done, 1 check failed, 2 usage, 3 login, 4 not reached, 5 tool failed, 6 server error, 7 time, 8 question",
    "Documentation: bowline help <command>, or docs/cli.md",
    "",
  ].join("\n");
}

/** Returns the help of one command. */
export function helpOf(spec: CommandSpec): string {
  const { about, usage, examples = [], notes = [], options } = spec;
  const own = rowsOf(options);
  return [
    about,
    "",
    ...usage.map((line, index) => `${index === 0 ? "Usage: " : "       "}${line}`),
    ...(examples.length === 0 ? [] : ["", ...examples.map((line) => `  ${line}`)]),
    ...(notes.length === 0 ? [] : ["", ...notes]),
    ...(own.length === 0 ? [] : ["", "Options", ...own]),
    ...(usesServer(spec) ? ["  and the options of all commands: bowline --help"] : []),
    "",
  ].join("\n");
}

function rowsOf(options: OptionTable): string[] {
  const rows = Object.entries(options).map(([name, option]) => [signatureOf(name, option), option.help] as const);
  const column = Math.max(COLUMN, ...rows.map(([signature]) => signature.length + 4));
  return rows.map(([signature, help]) => row(signature, help, column));
}

/** Returns an option as help writes it: `-q, --quiet` or `--era <auto|...>`. */
function signatureOf(name: string, { type, short, value = "value", choices }: OptionSpec): string {
  const shown = value.startsWith("'") ? value : `<${choices?.join("|") ?? value}>`;
  return `${short === undefined ? "" : `-${short}, `}--${name}${type === "string" ? ` ${shown}` : ""}`;
}

function row(left: string, right: string, column = COLUMN): string {
  return `  ${left.padEnd(column - 2)}${left.length > column - 4 ? "  " : ""}${right}`;
}
