import { atCaller } from "../../protocol/at-caller.js";
import { assertOptions } from "../../protocol/known-options.js";
import { AnyEraReplay, type CreateServer } from "./any-era.js";
import {
  ClientReplay,
  REPLAY_CLIENT_OPTIONS,
  type ReplayClientOptions,
  type ReplayReport,
  type ReplayTarget,
} from "./client.js";
import { REPLAY_SERVER_OPTIONS, Replay, type ReplayServer, type ReplayServerOptions } from "./server.js";
import { type ReplaySource, readSource } from "./source.js";

/** Creates the server of `replayServer`. */
export async function createReplayServer(
  source: ReplaySource,
  options: ReplayServerOptions,
  create: CreateServer,
): Promise<ReplayServer> {
  assertOptions("replayServer", options, REPLAY_SERVER_OPTIONS);
  const file = await readSource("replayServer", source);
  return options.era === "any" ? new AnyEraReplay(file, options, create) : new Replay(file, options);
}

/**
 * Sends the requests of a recording to a live server, in their order, answers its questions as recorded, and compares the
 * results. Values that the server gives, such as cursors and sessions, take the place of the recorded ones.
 *
 * @example
 * ```ts
 * const report = await replayClient("cast-off.rec.ndjson", server, { ignore: ["/result/structuredContent/time"] });
 * report.assertSame();
 * ```
 */
export async function replayClient(
  source: ReplaySource,
  target: ReplayTarget,
  options: ReplayClientOptions = {},
): Promise<ReplayReport> {
  atCaller(replayClient, () => assertOptions("replayClient", options, REPLAY_CLIENT_OPTIONS));
  return new ClientReplay(await readSource("replayClient", source), options).run(target);
}
