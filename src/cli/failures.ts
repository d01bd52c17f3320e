import { ConnectionError, McpError, RpcError, TimeoutError } from "../protocol/errors.js";
import { Interrupted } from "./io.js";
import { toJson, visibleLine } from "./text.js";

/** Exit codes of the command. Scripts depend on them. */
export const EXIT = {
  done: 0,
  checkFailed: 1,
  usage: 2,
  login: 3,
  notReached: 4,
  toolFailed: 5,
  serverError: 6,
  time: 7,
  question: 8,
  defect: 70,
  interrupted: 130,
  terminated: 143,
} as const;

/** Failure that a command reports by an exit code of its own. `details` are members of the JSON document. */
export class CommandError extends Error {
  override readonly name: string = "CommandError";
  constructor(
    readonly exit: number,
    readonly code: string,
    message: string,
    readonly details: object = {},
  ) {
    super(message);
  }
}

/** Mistake on the command line or in a file that it names. Nothing was sent, unless the message says so. */
export class UsageError extends CommandError {
  override readonly name = "UsageError";
  constructor(message: string, details?: object) {
    super(EXIT.usage, "usage", message, details);
  }
}

/** Failure of `connect`, which has another exit code than the same failure of a call. */
export class NotReached extends Error {
  override readonly name = "NotReached";
  constructor(
    /** The server, as the command line names it. */
    readonly label: string,
    override readonly cause: unknown,
  ) {
    super("not reached");
  }
}

/** Member `error` of the JSON document of a failure. */
export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly delivery?: string;
  readonly retrySafe?: boolean;
  readonly [detail: string]: unknown;
}

/** Returns the exit code of an error, and how the command tells it. */
export function describeFailure(thrown: unknown): { readonly exit: number; readonly failure: Failure } {
  if (thrown instanceof NotReached) {
    const { exit, failure } = describeFailure(thrown.cause);
    const isOfServer = exit === EXIT.serverError && !(thrown.cause instanceof RpcError);
    const isOfConnection = isOfServer || exit === EXIT.notReached || exit === EXIT.time;
    const message = isOfConnection
      ? `cannot connect to ${visibleLine(thrown.label)}: ${failure.message}`
      : failure.message;
    return { exit: isOfServer ? EXIT.notReached : exit, failure: { ...failure, message } };
  }
  if (thrown instanceof Interrupted) {
    const exit = thrown.by === "SIGINT" ? EXIT.interrupted : EXIT.terminated;
    return { exit, failure: { code: "interrupted", message: thrown.message } };
  }
  if (thrown instanceof CommandError) {
    const { exit, code, message, details } = thrown;
    return { exit, failure: { code, message: visibleLine(message), ...details } };
  }
  if (thrown instanceof McpError) return { exit: exitOf(thrown), failure: toFailure(thrown) };
  const message = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
  return { exit: EXIT.defect, failure: { code: "defect", message } };
}

/** Codes of errors that say what is wrong with the command line or a configuration. */
const OF_USAGE: ReadonlySet<string> = new Set(["definition_error", "unknown_era", "unknown_version", "unknown_target"]);
/** Codes of errors that a person must answer. */
const OF_QUESTIONS: ReadonlySet<string> = new Set(["input_required"]);
/** Codes of errors about the content of a skill, which is what the command checks. */
const OF_CHECKS: ReadonlySet<string> = new Set(["skill_mismatch", "skill_changed", "invalid_skill"]);

function exitOf(error: McpError): number {
  const { status } = error as { readonly status?: number };
  if (error.code === "auth_error" || status === 401) return EXIT.login;
  if (error instanceof TimeoutError) return EXIT.time;
  if (OF_USAGE.has(error.code)) return EXIT.usage;
  if (OF_CHECKS.has(error.code)) return EXIT.checkFailed;
  if (OF_QUESTIONS.has(error.code) || asksUser(error)) return EXIT.question;
  if (error instanceof ConnectionError || error.code === "no_common_version") return EXIT.notReached;
  return EXIT.serverError;
}

/** True if the call needs something of a user that this client did not offer, or a page that the user has to visit. */
function asksUser(error: McpError): boolean {
  const { requiredCapabilities, elicitations } = error as {
    readonly requiredCapabilities?: object;
    readonly elicitations?: readonly object[];
  };
  return (
    elicitations !== undefined ||
    (requiredCapabilities !== undefined &&
      ["elicitation", "sampling", "roots"].some((name) => name in requiredCapabilities))
  );
}

/** Members of errors that help a script to decide. */
const TOLD = [
  "delivery",
  "retrySafe",
  "retryAfterMs",
  "rpcCode",
  "data",
  "status",
  "step",
  "tried",
  "kind",
  "exitCode",
  "exitSignal",
  "likelyCause",
  "stderr",
  "supported",
  "taskId",
] as const;

function toFailure(error: McpError): Failure {
  const members = error as unknown as Readonly<Record<string, unknown>>;
  const told = TOLD.filter((name) => members[name] !== undefined && !isEmptyList(members[name]));
  return {
    code: error.code,
    message: visibleLine(error.message),
    ...Object.fromEntries(told.map((name) => [name, members[name]])),
  };
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

/** Returns what a person should know beside the message. */
export function adviceFor(thrown: unknown, exit: number, failure: Failure): string[] {
  const { delivery, retrySafe, likelyCause, message, question } = failure;
  const advice: string[] = [];
  if (typeof likelyCause === "string" && !message.includes(likelyCause)) advice.push(visibleLine(likelyCause));
  if (exit === EXIT.login)
    advice.push("Log in: bowline login <server>. Or pass a token: --header 'Authorization: Bearer <token>'");
  if (exit === EXIT.time)
    advice.push("Wait longer: --timeout <time> for silence, --deadline <time> for all of the call.");
  if (question !== undefined) advice.push(toJson(question));
  if (delivery !== undefined && !(thrown instanceof NotReached))
    advice.push(
      retrySafe === true
        ? `Nothing of the call ran (delivery: ${delivery}). It is safe to send it again.`
        : delivery === "answered"
          ? "The server answered with this error. It may have done a part of the call before; the answer does not say."
          : `The call may have run (delivery: ${delivery}). Sending it again may run it twice.`,
    );
  return advice;
}
