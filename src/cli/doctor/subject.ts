import { systemClock } from "../../call/clock.js";
import type { CommandTarget } from "../../client/options.js";
import type { StartFailure } from "../../doctor/facts.js";
import type { Subject } from "../../doctor/session.js";
import { connect } from "../../entry/client.js";
import { defaultEnvironment } from "../../node/environment.js";
import type { ConnectionError } from "../../protocol/errors.js";
import type { CommandContext } from "../context.js";
import { UsageError } from "../failures.js";
import type { PlannedTarget, ServerPlan } from "../target.js";
import { NODE_NETWORK } from "./network.js";
import { startProcess } from "./process-server.js";

/** Returns a server of the command line as the doctor examines it. */
export function subjectOf(target: PlannedTarget, { options }: ServerPlan, { io, values }: CommandContext): Subject {
  const scope = { now: Date.now() };
  const base = { connect, clock: systemClock, signal: io.signal, slow: values.slow === true, scope };
  if (typeof target === "string")
    return { ...base, wire: "http", url: new URL(target), headers: options.headers, network: NODE_NETWORK };
  if (!("command" in target))
    throw new UsageError("bowline doctor needs a live server: a recording answers only what was recorded");
  return {
    ...base,
    wire: "stdio",
    start: () => startProcess(target),
    diagnose: (failure) => diagnose(failure as ConnectionError, target, io.env),
  };
}

/** Time for a start with the whole environment. */
const RETRY_MS = 5_000;

/** Tells why a process does not start, and whether it starts with all variables of the user. */
async function diagnose(
  failure: ConnectionError,
  target: CommandTarget,
  env: Readonly<Record<string, string | undefined>>,
): Promise<StartFailure> {
  const { message, exitCode, exitSignal, stderr = [], likelyCause } = failure;
  const given = { ...defaultEnvironment(), ...target.env };
  const others = Object.keys(env).filter((name) => !(name in given));
  const said = stderr.join("\n");
  const startsWithAll =
    exitCode !== undefined &&
    others.length > 0 &&
    (await starts({ ...target, env: { ...(env as Record<string, string>), ...target.env } }));
  const missing = startsWithAll ? others.filter((name) => new RegExp(`\\b${name}\\b`).test(said)) : [];
  return { message, exitCode, exitSignal, stderr, likelyCause, missing, startsWithAll };
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
