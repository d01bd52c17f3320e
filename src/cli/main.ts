import { CommandContext } from "./context.js";
import { adviceFor, describeFailure, EXIT, UsageError } from "./failures.js";
import { helpOf, overview } from "./help.js";
import type { Io } from "./io.js";
import { bowlineVersion, bundledCopies } from "./package.js";
import { assertComplete, parseCommand } from "./parse.js";
import { Screen } from "./screen.js";
import { findNamed, unknownName } from "./suggest.js";
import { COMMANDS, type CommandSpec, commandNamed } from "./table.js";
import { visible, visibleLine } from "./text.js";

/** Runs a command line. Resolves with the exit code, and never rejects. */
export async function main(argv: readonly string[], io: Io): Promise<number> {
  const screen = new Screen(io);
  let context: CommandContext | undefined;
  try {
    const [name, ...rest] = argv;
    if (name === "--complete") return await complete(rest, screen, io);
    const spec = name === undefined ? undefined : commandNamed(name);
    if (spec === undefined) return withoutCommand(name, rest, screen);
    const line = parseCommand(spec, rest);
    if (line.values.help === true && line.names.length === 0) {
      screen.line(helpOf(spec).trimEnd());
      return EXIT.done;
    }
    context = new CommandContext(line, io, screen);
    screen.quiet = line.values.quiet === true;
    assertComplete(spec, line);
    await run(spec, context);
    return context.exit;
  } catch (thrown) {
    return report(thrown, context, screen, io, argv);
  }
}

async function run(spec: CommandSpec, context: CommandContext): Promise<void> {
  const { RUN } = await import("./commands/index.js");
  await RUN[spec.name]!(context);
}

/** Prints candidates for a shell. A mistake in the line, or in a file, leaves the shell without candidates. */
async function complete(words: readonly string[], screen: Screen, io: Io): Promise<number> {
  const { candidatesFor } = await import("./completion/candidates.js");
  for (const [word, about] of await candidatesFor(words, io)) screen.line(about === "" ? word : `${word}\t${about}`);
  return EXIT.done;
}

/** Handles a command line without a command: help, version, completion, or a mistake. */
function withoutCommand(name: string | undefined, rest: readonly string[], screen: Screen): number {
  if (name === "--version") {
    screen.line(`bowline ${bowlineVersion()}`);
    const isVerbose = rest.includes("--verbose") || rest.includes("-v");
    for (const copy of isVerbose ? bundledCopies() : []) screen.line(copy);
    return EXIT.done;
  }
  if (name === "help" && rest[0] !== undefined) {
    screen.line(helpOf(findNamed("command", rest[0], COMMANDS, ({ name }) => name)).trimEnd());
    return EXIT.done;
  }
  if (name === undefined || name === "help" || name === "--help" || name === "-h") {
    const text = overview(bowlineVersion()).trimEnd();
    if (name === undefined) screen.error(text);
    else screen.line(text);
    return name === undefined ? EXIT.usage : EXIT.done;
  }
  if (name.startsWith("-"))
    throw new UsageError(`a command must come first, such as bowline list; got ${JSON.stringify(name)}`);
  throw unknownName(
    "command",
    name,
    COMMANDS.map((command) => command.name),
  );
}

/** Reports a failure. Returns its exit code. */
function report(
  thrown: unknown,
  context: CommandContext | undefined,
  screen: Screen,
  io: Io,
  argv: readonly string[],
): number {
  const cause = io.signal.aborted && thrown !== io.signal.reason ? io.signal.reason : thrown;
  // A reader that has enough, such as head, is no failure.
  if ((cause as NodeJS.ErrnoException | undefined)?.code === "EPIPE") return EXIT.done;
  const { exit, failure: known } = describeFailure(cause);
  const wrote = exit === EXIT.serverError && known.stderr === undefined ? context?.serverWrote : undefined;
  const failure = wrote === undefined ? known : { ...known, stderr: [wrote] };
  if (context === undefined ? argv.includes("--json") : context.isJson) {
    const told =
      context ??
      new CommandContext(
        { values: {}, head: {}, server: undefined, program: undefined, names: [], tail: [] },
        io,
        screen,
      );
    told.fail(failure);
    return exit;
  }
  if (exit === EXIT.defect) {
    screen.error(`bowline: a defect of Bowline ${bowlineVersion()}; please report it\n${visible(failure.message)}`);
    return exit;
  }
  const [first = "", ...more] =
    exit === EXIT.usage && thrown instanceof UsageError ? thrown.message.split("\n") : [failure.message];
  screen.error(`${screen.tint("red", "bowline:")} ${visibleLine(first)}`);
  for (const line of more) screen.error(visible(line));
  for (const line of adviceFor(cause, exit, failure)) screen.error(`  ${line}`);
  if (wrote !== undefined && context?.values.verbose !== true)
    screen.error(`  The server wrote to stderr (-v shows all): ${visibleLine(wrote)}`);
  return exit;
}
