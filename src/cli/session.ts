import type { Client } from "../client/client.js";
import type { ClientInterceptor, ClientOptions } from "../client/options.js";
import { retry } from "../client/retry.js";
import { connect } from "../entry/client.js";
import type { ProtocolVersion } from "../era/versions.js";
import { isNowhere } from "../inspect/nowhere.js";
import { ProtocolError } from "../protocol/errors.js";
import type { LoggingLevel } from "../protocol/types/index.js";
import type { CommandContext } from "./context.js";
import { NotReached, UsageError } from "./failures.js";
import { loginOnDemand } from "./login/on-demand.js";
import { bowlineVersion } from "./package.js";
import { textValue, timeOf } from "./parse.js";
import type { CommandRecorder } from "./recordings/recorder.js";
import { meant } from "./suggest.js";
import { findServer, type PlannedTarget, type ServerPlan } from "./target.js";
import { visible, visibleLine } from "./text.js";

const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

/** Connects to the server of the command line, and closes the client after `use`, whatever happens. */
export async function withClient<T>(
  context: CommandContext,
  use: (client: Client) => Promise<T>,
  more: ClientOptions = {},
): Promise<T> {
  const plan = await findServer(context.line, context.io);
  return withPlan(context, plan, use, more);
}

/** The same for a server that has been found. */
export async function withPlan<T>(
  context: CommandContext,
  plan: ServerPlan,
  use: (client: Client) => Promise<T>,
  more: ClientOptions = {},
): Promise<T> {
  const problems = new Problems(context);
  const login = await loginOnDemand(plan, context);
  const options = { ...optionsOf(context), onError: problems.take, ...plan.options, ...login?.options, ...more };
  const recorder = await recorderOf(context, plan);
  try {
    const client = await open(context, plan, options, recorder);
    problems.show();
    context.describe(client);
    try {
      return await use(client);
    } finally {
      await client.close();
    }
  } finally {
    await login?.close();
    await recorder?.close();
  }
}

/** Returns the recorder of `--record`. */
async function recorderOf(context: CommandContext, plan: ServerPlan): Promise<CommandRecorder | undefined> {
  const name = textValue("record", context.values);
  if (name === undefined) return undefined;
  const { openRecorder } = await import("./recordings/recorder.js");
  return openRecorder(name, plan, context);
}

/** Connects to the first target that answers, and says which one that is if there are several. */
async function open(
  context: CommandContext,
  { label, targets }: ServerPlan,
  options: ClientOptions,
  recorder: CommandRecorder | undefined,
): Promise<Client> {
  let first: unknown;
  for (const [index, target] of targets.entries()) {
    try {
      const client = await (recorder === undefined
        ? connect(withStderr(context, target), options)
        : recorder.connect(target, options));
      if (index > 0) context.screen.note(`${visibleLine(label)} answered at ${visibleLine(String(target))}`);
      return client;
    } catch (error) {
      if (context.io.signal.aborted) throw context.io.signal.reason;
      first ??= error;
      if (!isNowhere(error)) break;
    }
  }
  throw new NotReached(label, first);
}

/**
 * Notes what the server sends against the protocol, such as text on stdout of a stdio server: the first, and with `verbose`
 * each. The error of a connection that fails tells it itself.
 */
class Problems {
  readonly #context: CommandContext;
  readonly #early: Error[] = [];
  #isShown = false;
  #any = false;

  constructor(context: CommandContext) {
    this.#context = context;
  }

  readonly take = (problem: Error): void => {
    if (!(problem instanceof ProtocolError)) return;
    if (this.#isShown) this.#note(problem);
    else if (this.#early.length < MAX_EARLY) this.#early.push(problem);
  };

  /** Shows the problems so far, and each from now on. */
  show(): void {
    this.#isShown = true;
    for (const problem of this.#early.splice(0)) this.#note(problem);
  }

  #note({ message }: Error): void {
    const { screen, values } = this.#context;
    if (this.#any && values.verbose !== true) return;
    this.#any = true;
    screen.note(screen.tint("yellow", `  The server does not follow the protocol: ${visibleLine(message)}`));
  }
}

/** Maximum number of problems that are kept until the connection is open. */
const MAX_EARLY = 20;

/** Shows what the process writes to stderr if that is wanted. Errors quote some of its lines in any case. */
export function withStderr(context: CommandContext, target: PlannedTarget): PlannedTarget {
  if (typeof target === "string" || !("command" in target)) return target;
  const { screen, values } = context;
  const stderr = (line: string) => {
    if (line.trim() !== "") context.serverWrote ??= line;
    if (values.verbose === true) screen.note(screen.tint("dim", `  stderr  ${visible(line)}`));
  };
  return { ...target, stderr };
}

function optionsOf(context: CommandContext): ClientOptions {
  const { values, io, screen } = context;
  const era = textValue("era", values) as ClientOptions["era"];
  const version = textValue("version", values);
  const level = logLevel(textValue("log", values));
  const interceptors = [
    forgetting(context),
    ...(values.verbose === true ? [tracing(context)] : []),
    ...(values.retry === true ? [retry()] : []),
  ];
  return {
    info: { name: "bowline", version: bowlineVersion() },
    signal: io.signal,
    timeoutMs: timeOf("timeout", values),
    deadlineMs: timeOf("deadline", values),
    warnDeprecated: false,
    ...(era !== undefined && { era }),
    ...(version !== undefined && { versions: [version as ProtocolVersion] }),
    interceptors,
    ...(level !== undefined && {
      logLevel: level,
      notifications: {
        "notifications/message": (params) => {
          const { level: own, logger, data } = (params ?? {}) as Readonly<Record<string, unknown>>;
          const text = typeof data === "string" ? data : JSON.stringify(data);
          const from = logger === undefined ? "" : ` ${visibleLine(String(logger))}:`;
          screen.note(screen.tint("dim", `  ${visibleLine(String(own))}${from} ${visibleLine(text ?? "")}`));
        },
      },
    }),
  };
}

function logLevel(level: string | undefined): LoggingLevel | undefined {
  if (level === undefined || LEVELS.includes(level)) return level as LoggingLevel | undefined;
  throw new UsageError(`--log must be ${LEVELS.join(", ")}${meant(level, LEVELS)}`);
}

/** Forgets what the process wrote to stderr before a request. The requests about a task belong to its call. */
function forgetting(context: CommandContext): ClientInterceptor {
  return (call, next) => {
    if (!call.method.startsWith("tasks/")) context.serverWrote = undefined;
    return next(call);
  };
}

/** Prints each request with its time. */
function tracing({ screen }: CommandContext): ClientInterceptor {
  return async (call, next) => {
    const began = performance.now();
    const told = (mark: string, rest: string) => screen.note(screen.tint("dim", `  ${mark} ${call.method}${rest}`));
    told("->", "");
    const ms = () => `  ${(performance.now() - began).toFixed(1)} ms`;
    try {
      const result = await next(call);
      told("<-", ms());
      return result;
    } catch (error) {
      told("!!", `${ms()}  ${visibleLine((error as Error).message)}`);
      throw error;
    }
  };
}
