import type { ToolOutcome } from "../../client/results.js";
import type { ClientTasks } from "../../entry/tasks/client.js";
import type { Tool } from "../../protocol/types/index.js";
import { keepCatalogue } from "../catalogue.js";
import { blockText, saveBlocks } from "../content.js";
import type { CommandContext } from "../context.js";
import { EXIT, UsageError } from "../failures.js";
import { BEFORE_CONNECTING } from "../options.js";
import { optionsOf, textValue } from "../parse.js";
import { ProgressLine } from "../progress.js";
import { Questions } from "../questions.js";
import { aboutTokens, kindOf, typeText, valueText } from "../schema-text.js";
import { printOption } from "../screen.js";
import { withClient } from "../session.js";
import { findNamed } from "../suggest.js";
import { commandNamed } from "../table.js";
import { toJson, visibleLine, wrapped } from "../text.js";
import { assertFits, readToolLine } from "../tool-arguments.js";
import { parametersOf } from "../tool-parameters.js";

/** Calls a tool. */
export async function call(context: CommandContext): Promise<void> {
  const questions = await Questions.open(context);
  const { ClientTasks, tasksClient } = await import("../../entry/tasks/client.js");
  const options = { ...questions.handlers, extensions: [tasksClient()], showRequiredUrls: true };
  await withClient(context, (client) => callTool(new ClientTasks(client), questions, context), options);
}

async function callTool(tasks: ClientTasks, questions: Questions, context: CommandContext): Promise<void> {
  const { client } = tasks;
  const { line, io, screen } = context;
  const [name = ""] = line.names;
  const tools = await client.tools({ signal: io.signal }).all();
  await keepCatalogue(context, tools);
  const tool = findNamed("tool", name, tools, (one) => one.name);
  if (context.values.help === true) return printHelp(tool, context);
  const args = await readArguments(tool, context);
  const signal = AbortSignal.any([io.signal, questions.signal]);
  const progress = new ProgressLine(io, screen);
  context.progress = progress;
  const callOptions = { tool, signal, onProgress: (told: Parameters<ProgressLine["tell"]>[0]) => progress.tell(told) };
  try {
    const handle = await tasks.startTool(name, args, callOptions);
    if (handle.id !== undefined && context.values.task === true) {
      handle.detach();
      return context.finish({ task: handle.task }, () => screen.line(visibleLine(handle.id ?? "")));
    }
    if (handle.id !== undefined) await followTask(handle, progress);
    const outcome = await handle.result;
    progress.close();
    questions.tellUnused();
    if (context.values.task === true) screen.note("The tool did not run as a task.");
    await printOutcome(outcome, context);
  } finally {
    progress.close();
  }
}

/** Shows the states of a task until it ends. */
async function followTask(
  handle: AsyncIterable<{ readonly taskId: string; readonly status: string; readonly statusMessage?: string }>,
  progress: ProgressLine,
): Promise<void> {
  for await (const { taskId, status, statusMessage } of handle) {
    const words = status === "input_required" ? "waits for you" : status.replace("_", " ");
    const message = statusMessage === undefined ? "" : `: ${visibleLine(statusMessage)}`;
    progress.say(`task ${visibleLine(taskId.slice(0, 8))} ${words}${message}`);
  }
}

/** Reads the arguments after the name of the tool, and checks them. Nothing is sent before. */
async function readArguments(tool: Tool, context: CommandContext): Promise<Record<string, unknown>> {
  const { line, io } = context;
  const table = optionsOf(commandNamed("call")!);
  const { args, values, own } = await readToolLine(tool, line, table, io);
  // The server was reached with what looked like options of Bowline.
  const taken = BEFORE_CONNECTING.find((one) => line.values[one] !== line.head[one] && own[one] === undefined);
  if (taken !== undefined)
    throw new UsageError(
      `--${taken} is an option of bowline and a parameter of the tool; write it before the tool for bowline, and in --args for the tool`,
    );
  context.values = values;
  if (context.values["no-check"] !== true) await assertFits(tool, args);
  return args;
}

/** Prints the result of a tool: its structured value if there is one, else its content. */
export async function printOutcome(outcome: ToolOutcome, context: CommandContext): Promise<void> {
  const { screen, io } = context;
  const { content, structured, isError, text } = outcome;
  const folder = textValue("out", context.values);
  const saved = folder === undefined ? [] : await saveBlocks(content, folder, io.cwd);
  for (const path of saved) screen.note(`saved ${visibleLine(path)}`);
  const result = { content, ...(structured !== undefined && { structured }), ...(saved.length > 0 && { saved }) };
  if (isError) {
    context.exit = EXIT.toolFailed;
    const message = visibleLine(text) || "the tool gives no reason";
    if (context.isJson) context.fail({ code: "tool_failed", message }, result);
    else {
      screen.error(`${screen.tint("red", "The tool failed:")} ${message}`);
      for (const block of content) if (block.type !== "text") screen.error(blockText(block));
    }
    return;
  }
  context.finish(result, () => {
    if (structured !== undefined) screen.line(toJson(structured, 2));
    const isBytes = (type: string) => type === "image" || type === "audio" || type === "resource";
    const shown = structured === undefined ? content : content.filter(({ type }) => isBytes(type));
    for (const block of shown) if (saved.length === 0 || !isBytes(block.type)) screen.line(blockText(block));
  });
}

/** Prints the parameters of a tool as options. */
function printHelp(tool: Tool, context: CommandContext): void {
  const { screen, server } = context as CommandContext;
  context.finish({ tool }, () => {
    const about = `${visibleLine(tool.name)}: ${visibleLine(tool.description ?? tool.title ?? "no description")}`;
    for (const line of wrapped(about, screen.columns)) screen.line(screen.paint("bold", line));
    screen.line(
      screen.paint(
        "dim",
        `${visibleLine(server?.name ?? "")} ${visibleLine(server?.version ?? "")}, about ${aboutTokens(tool)} tokens`,
      ),
    );
    const root = tool.inputSchema as Readonly<Record<string, unknown>>;
    for (const [name, { schema, isRequired }] of parametersOf(tool)) {
      const value = kindOf(schema) === "boolean" ? "" : ` ${valueText(schema, root)}`;
      const facts = [
        ...(isRequired ? ["required"] : []),
        ...(kindOf(schema) === "list" ? ["repeatable"] : []),
        ...(schema.default === undefined ? [] : [`default ${toJson(schema.default)}`]),
        ...(typeof schema.description === "string" ? [visibleLine(schema.description)] : []),
      ];
      printOption(`--${visibleLine(name)}${value}`, facts.join("; "), screen);
    }
    if (parametersOf(tool).size === 0) screen.line("  no parameters");
    if (tool.outputSchema !== undefined) screen.line(`Returns ${typeText(tool.outputSchema, tool.outputSchema)}`);
    for (const line of wrapped(hintsOf(tool), screen.columns)) screen.line(line);
  });
}

function hintsOf({ annotations = {} }: Tool): string {
  const { readOnlyHint, destructiveHint, idempotentHint, openWorldHint } = annotations;
  const hints = [
    ...(readOnlyHint === true ? ["only reads"] : []),
    ...(destructiveHint === true ? ["may destroy"] : destructiveHint === false ? ["only adds"] : []),
    ...(idempotentHint === true ? ["harmless to repeat"] : []),
    ...(openWorldHint === true ? ["reaches other systems"] : []),
  ];
  return hints.length > 0
    ? `Hints of the server: ${hints.join(", ")}.`
    : "Hints: none. The server does not say whether a repetition is harmless.";
}
