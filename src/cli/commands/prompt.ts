import type { Prompt } from "../../protocol/types/index.js";
import { blockText } from "../content.js";
import type { CommandContext } from "../context.js";
import { UsageError } from "../failures.js";
import { printOption } from "../screen.js";
import { withClient } from "../session.js";
import { findNamed, meant } from "../suggest.js";
import { readTail } from "../tail.js";
import { visibleLine, wrapped } from "../text.js";

/** Gets a prompt. */
export async function prompt(context: CommandContext): Promise<void> {
  const { line, io, screen } = context;
  const isHelp = line.values.help === true;
  const [name = ""] = line.names;
  const args = isHelp ? {} : await readTail(context, "prompt", "argument");
  await withClient(context, async (client) => {
    const prompts = await client.prompts({ signal: io.signal }).all();
    const found = findNamed("prompt", name, prompts, (one) => one.name);
    if (isHelp) return context.finish({ prompt: found }, () => printHelp(found, context));
    assertArguments(found, args);
    const result = await client.getPrompt(name, args, { signal: io.signal });
    const { description, messages } = result;
    context.finish({ ...(description !== undefined && { description }), messages }, () => {
      for (const { role, content } of messages) {
        if (context.values.text !== true) screen.line(screen.paint("bold", visibleLine(role)));
        screen.line(blockText(content));
      }
    });
  });
}

/** Throws for an argument that the prompt lacks, or that is missing. */
function assertArguments({ name, arguments: declared = [] }: Prompt, args: Readonly<Record<string, string>>): void {
  const names = declared.map((one) => one.name);
  const stray = Object.keys(args).find((one) => !names.includes(one));
  if (stray !== undefined) {
    const hint = meant(stray, names, (best) => `--${visibleLine(best)}`);
    const has = names.length === 0 ? "has no arguments" : `has the arguments ${names.map(visibleLine).join(", ")}`;
    throw new UsageError(
      `unknown option --${stray}${hint}${hint === "" ? ";" : ""} the prompt ${visibleLine(name)} ${has}`,
    );
  }
  const missing = declared.filter((one) => one.required === true && args[one.name] === undefined);
  if (missing.length > 0)
    throw new UsageError(
      `the prompt ${visibleLine(name)} needs ${missing.map((one) => `--${visibleLine(one.name)} <text>`).join(" ")}`,
    );
}

function printHelp({ name, description, title, arguments: declared = [] }: Prompt, { screen }: CommandContext): void {
  const about = `${visibleLine(name)}: ${visibleLine(description ?? title ?? "no description")}`;
  for (const line of wrapped(about, screen.columns)) screen.line(screen.paint("bold", line));
  for (const argument of declared) {
    const option = `--${visibleLine(argument.name)} <text>`;
    const facts = [argument.required === true ? "required" : "", visibleLine(argument.description ?? "")].filter(
      Boolean,
    );
    printOption(option, facts.join("; "), screen);
  }
  if (declared.length === 0) screen.line("  no arguments");
}
