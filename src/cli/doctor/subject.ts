import { basename } from "node:path";
import { systemClock } from "../../call/clock.js";
import type { CommandTarget } from "../../client/options.js";
import type { Scope, StartFailure } from "../../doctor/facts.js";
import type { Subject } from "../../doctor/session.js";
import { connect } from "../../entry/client.js";
import { defaultEnvironment } from "../../node/environment.js";
import { ConnectionError } from "../../protocol/errors.js";
import type { CommandContext } from "../context.js";
import { NotReached, UsageError } from "../failures.js";
import { textValue } from "../parse.js";
import type { ServerPlan } from "../target.js";
import { readHosts } from "./hosts.js";
import { NODE_NETWORK } from "./network.js";
import { startProcess } from "./process-server.js";
import { startService } from "./service.js";
import { trialOf } from "./trial.js";

/** A server to examine. `close` ends the process that was started for it, if there is one beside the connections. */
interface OpenedSubject {
  readonly subject: Subject;
  readonly close: () => Promise<void>;
}

const NOTHING_TO_CLOSE = async () => {};

/** Returns the server of a command line as the doctor examines it. */
export async function openSubject(
  { label, targets, options }: ServerPlan,
  scope: Scope,
  { io, values }: CommandContext,
): Promise<OpenedSubject> {
  const attempt = textValue("try", values);
  const base = {
    connect,
    network: NODE_NETWORK,
    clock: systemClock,
    signal: io.signal,
    slow: values.slow === true,
    scope,
    ...(attempt !== undefined && { trial: trialOf(attempt, io) }),
    ...(values.hosts === true && { hosts: await readHosts(textValue("config", values), io) }),
  };
  const [target] = targets;
  const url = textValue("url", values);
  if (typeof target === "string") {
    if (url !== undefined) throw new UsageError("--url is for a command after --; the server is at a URL");
    const { headers } = options;
    const address = new URL(await answering(targets as readonly string[], headers));
    return { subject: { ...base, wire: "http", url: address, headers }, close: NOTHING_TO_CLOSE };
  }
  if (target === undefined || !("command" in target))
    throw new UsageError("bowline doctor needs a live server: a recording answers only what was recorded");
  if (url !== undefined) {
    if (!/^https?:\/\//i.test(url) || !URL.canParse(url))
      throw new UsageError(`--url must be a URL with http:// or https://, got ${JSON.stringify(url)}`);
    const service = await startService(target, new URL(url), io.signal).catch((error: unknown) => {
      throw error instanceof ConnectionError ? new NotReached(label, error) : error;
    });
    return { subject: { ...base, wire: "http", url: new URL(url), service }, close: () => service.close() };
  }
  const subject: Subject = {
    ...base,
    wire: "stdio",
    ...(/(?:^|[\\/])(?:npx|uvx|pipx|bunx)(?:\.cmd|\.exe)?$/.test(target.command) && {
      launcher: basename(target.command),
    }),
    start: () => startProcess(target),
    diagnose: (failure) => diagnose(failure, target, io.env),
  };
  return { subject, close: NOTHING_TO_CLOSE };
}

/** Time for an answer at one of several addresses. */
const REACH_MS = 10_000;

/** Returns the first address at which a server answers; the first if there is none, or one alone. */
async function answering(urls: readonly string[], headers: HeadersInit | undefined): Promise<string> {
  const [first = ""] = urls;
  if (urls.length < 2) return first;
  for (const url of urls) {
    try {
      const client = await connect(url, { timeoutMs: REACH_MS, headers, warnDeprecated: false, logger: {} });
      await client.close();
      return url;
    } catch (error) {
      const { status } = error as { readonly status?: number };
      if (status !== 404 && status !== 405) return url;
    }
  }
  return first;
}

/** Time for a start with the whole environment. */
const RETRY_MS = 5_000;

/** Tells why a process does not start, and whether it starts with all variables of the user. */
async function diagnose(
  failure: Error,
  target: CommandTarget,
  env: Readonly<Record<string, string | undefined>>,
): Promise<StartFailure> {
  const { exitCode, exitSignal, stderr = [], likelyCause } = failure as Partial<ConnectionError>;
  // The error of a client that could not connect says so first, which the rule says itself.
  const message = failure.message.replace(/^Not connected: /, "");
  const given = { ...defaultEnvironment(), ...target.env };
  const others = Object.keys(env).filter((name) => !(name in given));
  const said = stderr.join("\n");
  const all = { ...(env as Record<string, string>), ...target.env };
  const startsWithAll = exitCode !== undefined && others.length > 0 && (await starts({ ...target, env: all }));
  const missing = startsWithAll ? others.filter((name) => words(said).has(name)) : [];
  return { message, exitCode, exitSignal, stderr, likelyCause, missing, startsWithAll };
}

function words(text: string): ReadonlySet<string> {
  return new Set(text.match(/\w+/g));
}

async function starts(target: CommandTarget): Promise<boolean> {
  const { channel } = startProcess(target);
  try {
    const client = await connect({ channel }, { timeoutMs: RETRY_MS, warnDeprecated: false, logger: {} });
    await client.close();
    return true;
  } catch {
    return false;
  } finally {
    await channel.close();
  }
}
