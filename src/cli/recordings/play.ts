import type { LocalTarget } from "../../client/options.js";
import { replayServer } from "../../entry/testing.js";
import type { Io } from "../io.js";
import type { Values } from "../parse.js";
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
