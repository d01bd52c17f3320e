import { type ReplayClientOptions, type ReplayTarget, replayClient } from "../../entry/testing.js";
import { createStdioClientChannel } from "../../node/stdio/client.js";
import { ConnectionError } from "../../protocol/errors.js";
import type { RecordingFile } from "../../recording/reader.js";
import type { CommandContext } from "../context.js";
import { EXIT, NotReached, UsageError } from "../failures.js";
import { listOf, timeOf } from "../parse.js";
import { openRecording, replaceRecording } from "../recordings/open.js";
import { problemsOf } from "../recordings/play.js";
import { serveRecording } from "../recordings/serve.js";
import { withStderr } from "../session.js";
import { findServer, type ServerPlan } from "../target.js";
import { visibleLine } from "../text.js";

/** Options of servers that no replay has: the recording tells what is sent, and how. */
const NOT_HERE = ["version", "deadline", "log", "record", "overwrite"];
/** Options of a replay that is the server, and of one that is the client. */
const OF_SERVER = ["listen", "era", "time", "order", "answers"];
const OF_CLIENT = ["ignore", "shape", "update", "header", "cwd", "config", "timeout", "json"];

/** Plays a recording: as the server or, if one is named, as the client of a live server. */
export async function replay(context: CommandContext): Promise<void> {
  const { line, values } = context;
  const [name, server] = line.program === undefined ? [line.server, line.names[0]] : [line.names[0], undefined];
  if (name === undefined) throw new UsageError("bowline replay needs a recording");
  const isServer = server === undefined && line.program === undefined;
  const find = (names: readonly string[]) => names.find((each) => values[each] !== undefined);
  const never = find(NOT_HERE);
  if (never !== undefined) throw new UsageError(`--${never} is not for a replay: it sends what was recorded`);
  const stray = find(isServer ? OF_CLIENT : OF_SERVER);
  if (stray !== undefined)
    throw new UsageError(
      isServer
        ? `--${stray} is for a replay against a server, and none is named`
        : `--${stray} is for a recording that is the server, and another is named`,
    );
  if (isServer) await serveRecording(name, context);
  else await sendRecording(name, server, context);
}

/** Sends a recording to a live server, and tells the differences. */
async function sendRecording(name: string, server: string | undefined, context: CommandContext): Promise<void> {
  const { line, values, io, screen } = context;
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
  const { calls, same } = report;
  const isUpdate = values.update === true;
  if (isUpdate && !same) await replaceRecording(name, report.text, io);
  const problems = isUpdate ? report.unsettled : problemsOf(() => report.assertSame());
  if (problems.length > 0) context.exit = EXIT.checkFailed;
  context.finish({ same, calls, problems }, () => {
    for (const problem of problems) screen.line(visibleLine(problem));
    const differing = calls.filter(({ differences }) => differences.length > 0).length;
    const told = same ? "all answered as recorded" : `${differing} answered differently`;
    const updated = isUpdate && !same ? `; ${visibleLine(name)} has the new answers` : "";
    screen.note(`${calls.length} ${calls.length === 1 ? "request" : "requests"}, ${told}${updated}`);
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
