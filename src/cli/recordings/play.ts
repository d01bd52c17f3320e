import { systemClock } from "../../call/clock.js";
import type { LocalTarget } from "../../client/options.js";
import { ReplayError, type ReplayServer, type ReplayServerOptions, replayServer } from "../../entry/testing.js";
import { UsageError } from "../failures.js";
import type { Io } from "../io.js";
import { textValue, type Values } from "../parse.js";
import { openRecording } from "./open.js";

/**
 * Returns the server that plays a recording. It speaks the recorded protocol version; with `--era` or `--version` it
 * repeats the calls in another. `env` has the values that the recording has as `<env:NAME>`.
 */
export async function playRecording(
  name: string,
  values: Values,
  env: { readonly [name: string]: string },
  io: Io,
): Promise<LocalTarget> {
  const isOther = values.era !== undefined || values.version !== undefined;
  return replayServer(await openRecording(name, io), { era: isOther ? "any" : "recorded", values: env });
}

/** Returns the server of `bowline replay`, with the options of the command line. */
export async function playAsTold(
  name: string,
  values: Values,
  env: { readonly [name: string]: string },
  io: Io,
): Promise<ReplayServer> {
  const time = timing(textValue("time", values));
  const order = textValue("order", values) as ReplayServerOptions["order"];
  const answers = textValue("answers", values) as ReplayServerOptions["answers"];
  const era = textValue("era", values) as ReplayServerOptions["era"];
  return replayServer(await openRecording(name, io), { values: env, order, answers, era, ...time });
}

/** Reads `--time`: as recorded, or a multiple of that. */
function timing(text: string | undefined): Pick<ReplayServerOptions, "time" | "clock"> {
  if (text === undefined || text === "none") return {};
  if (text === "recorded") return { time: "recorded" };
  const factor = /^\d*\.?\d+$/.test(text) ? Number(text) : 0;
  if (factor === 0)
    throw new UsageError(
      `--time must be none, recorded, or a factor above zero such as 0.1, got ${JSON.stringify(text)}`,
    );
  const schedule = (callback: () => void, ms: number) => systemClock.schedule(callback, ms * factor);
  return { time: "recorded", clock: { ...systemClock, schedule } };
}

/** Returns what an assertion about a replay finds. */
export function problemsOf(check: () => void): readonly string[] {
  try {
    check();
    return [];
  } catch (error) {
    if (error instanceof ReplayError) return error.problems;
    throw error;
  }
}
