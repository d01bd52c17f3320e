import type { ClientTasks, TaskHandle, TaskState } from "../../entry/tasks/client.js";
import type { CommandContext } from "../context.js";
import { UsageError } from "../failures.js";
import { Questions } from "../questions.js";
import { withClient } from "../session.js";
import { visibleLine } from "../text.js";
import { printOutcome } from "./call.js";

const ACTIONS = ["follow", "result", "cancel"];

/** Lists tasks, or shows, follows, cancels or completes one. */
export async function tasks(context: CommandContext): Promise<void> {
  const { line, values } = context;
  const [id] = line.names;
  const actions = ACTIONS.filter((name) => values[name] === true);
  if (actions.length > 1)
    throw new UsageError(`${actions.map((name) => `--${name}`).join(" and ")} exclude each other`);
  if (id === undefined && actions.length > 0) throw new UsageError(`--${actions[0]} needs the id of a task`);
  const questions = await Questions.open(context);
  const { ClientTasks, tasksClient } = await import("../../entry/tasks/client.js");
  const waits = values.follow === true || values.result === true;
  const options = { ...questions.handlers, extensions: [tasksClient()], ...(!waits && { input: "manual" as const }) };
  await withClient(
    context,
    async (client) => {
      const all = new ClientTasks(client);
      if (id === undefined) return listTasks(all, context);
      await useTask(all, id, questions, context);
    },
    options,
  );
}

async function listTasks(all: ClientTasks, context: CommandContext): Promise<void> {
  const { io, screen } = context;
  const listed = await all.list({ signal: io.signal }).all();
  context.finish({ tasks: listed }, () => {
    for (const task of listed) screen.line(taskText(task, context));
    if (listed.length === 0) screen.line("no tasks");
  });
}

async function useTask(all: ClientTasks, id: string, questions: Questions, context: CommandContext): Promise<void> {
  const { io, screen, values } = context;
  const handle = await all.task(id);
  // A person who stops watching leaves the task as it is.
  const leave = () => handle.detach();
  const ends = [io.signal, questions.signal];
  for (const end of ends) end.addEventListener("abort", leave, { once: true });
  try {
    if (values.cancel === true) {
      await handle.cancel();
      return context.finish({ task: handle.task }, () => screen.line(`task ${visibleLine(id)} is cancelled`));
    }
    if (values.follow !== true && values.result !== true) {
      handle.detach();
      return context.finish({ task: handle.task }, () =>
        screen.line(handle.task === undefined ? "" : taskText(handle.task, context)),
      );
    }
    if (values.follow === true) await tellStates(handle, context);
    await printOutcome(await handle.result, context);
  } catch (error) {
    for (const end of ends) end.throwIfAborted();
    throw error;
  } finally {
    for (const end of ends) end.removeEventListener("abort", leave);
  }
}

/** Prints the states of a task: to stderr, since the result follows on stdout. */
async function tellStates(handle: TaskHandle, context: CommandContext): Promise<void> {
  for await (const task of handle) context.screen.note(taskText(task, context));
}

function taskText(
  { taskId, status, statusMessage, lastUpdatedAt }: Omit<TaskState, "inputRequests">,
  { screen }: CommandContext,
): string {
  const message = statusMessage === undefined ? "" : `  ${visibleLine(statusMessage)}`;
  const colour = status === "failed" ? "red" : status === "completed" ? "green" : "cyan";
  return `${visibleLine(taskId)}  ${screen.paint(colour, status)}  ${visibleLine(lastUpdatedAt)}${message}`;
}
