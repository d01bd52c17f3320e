import { type ReplayClientOptions, ReplayError, type ReplayTarget, replayClient } from "../../entry/testing.js";
import { createStdioClientChannel } from "../../node/stdio/client.js";
import { ConnectionError } from "../../protocol/errors.js";
import type { RecordingFile } from "../../recording/reader.js";
import type { CommandContext } from "../context.js";
import { EXIT, NotReached, UsageError } from "../failures.js";
import { listOf, timeOf } from "../parse.js";
import { openRecording } from "../recordings/open.js";
import { withStderr } from "../session.js";
import { findServer, type ServerPlan } from "../target.js";
import { visibleLine } from "../text.js";

/** Options of servers that a replay does not have: the recording tells what is sent, and how. */
const NOT_HERE = ["era", "version", "deadline", "log", "record", "overwrite"];

/** Sends a recording to a live server, and tells the differences. */
export async function replay(context: CommandContext): Promise<void> {
  const { line, values, io, screen } = context;
  const stray = NOT_HERE.find((name) => values[name] !== undefined);
  if (stray !== undefined) throw new UsageError(`--${stray} is not for a replay: it sends what was recorded`);
  const [name, server] = line.program === undefined ? [line.server, line.names[0]] : [line.names[0], undefined];
  if (name === undefined || (server === undefined && line.program === undefined))
    throw new UsageError("bowline replay needs a recording, and the server to send it to");
  const file = await openRecording(name, io);
  const plan = await findServer({ ...line, server, names: [] }, io);
  const env = plan.targets.flatMap((target) =>
    typeof target !== "string" && "command" in target ? [target.env ?? {}] : [],
  );
  const timeoutMs = timeOf("timeout", values);
  const report = await send(file, name, plan, context, {
    ignore: listOf("ignore", values),
    compare: values.shape === true ? "shape" : "value",
    headers: Object.fromEntries(new Headers(plan.options.headers)),
    values: Object.assign({}, ...env),
    ...(timeoutMs !== undefined && { timeoutMs }),
  });
  const problems = problemsOf(report);
  if (problems.length > 0) context.exit = EXIT.checkFailed;
  const { calls, same } = report;
  context.finish({ same, calls, problems }, () => {
    for (const problem of problems) screen.line(visibleLine(problem));
    const count = `${calls.length} ${calls.length === 1 ? "request" : "requests"}`;
    screen.note(same ? `${count}, all answered as recorded` : `${count}, ${problems.length} answered differently`);
  });
}

async function send(
  file: RecordingFile,
  name: string,
  { label, targets }: ServerPlan,
  context: CommandContext,
  options: ReplayClientOptions,
) {
  const [target] = targets;
  if (target === undefined || targets.length > 1)
    throw new UsageError(`${label} has no path; write the whole URL of the server, such as ${label}/mcp`);
  if (typeof target === "string") {
    if (!file.events.some(({ k }) => k === "request"))
      throw new UsageError(`${name} is no recording of HTTP; replay it against a command or a file`);
    return overHttp(file, target, label, options);
  }
  const live = withStderr(context, target);
  if (typeof live === "string" || !("command" in live)) return replayClient(file, live as ReplayTarget, options);
  const { restart: _, ...command } = live;
  const channel = createStdioClientChannel(command);
  try {
    return await replayClient(file, { channel }, options);
  } catch (error) {
    throw error instanceof ConnectionError ? new NotReached(label, error) : error;
  } finally {
    await channel.close();
  }
}

/** Sends a recording over HTTP. A server that no request reaches is no difference. */
async function overHttp(file: RecordingFile, url: string, label: string, options: ReplayClientOptions) {
  let isReached = false;
  let failure: Error | undefined;
  const fetch = async (to: URL, init: RequestInit) => {
    try {
      const response = await globalThis.fetch(to, init);
      isReached = true;
      return response;
    } catch (error) {
      failure ??= error as Error;
      throw error;
    }
  };
  const report = await replayClient(file, url, { ...options, fetch });
  if (isReached || failure === undefined) return report;
  const { message, cause } = failure;
  const reason = cause instanceof Error ? `${message}: ${cause.message}` : message;
  throw new NotReached(label, new ConnectionError(reason, { delivery: "not_sent", cause: failure }));
}

function problemsOf(report: { assertSame(): void }): readonly string[] {
  try {
    report.assertSame();
    return [];
  } catch (error) {
    if (error instanceof ReplayError) return error.problems;
    throw error;
  }
}
