import { atCaller } from "../protocol/at-caller.js";
import type { CreateServer } from "../testing/replay/any-era.js";
import { createReplayServer } from "../testing/replay/replay.js";
import type { ReplayServer, ReplayServerOptions } from "../testing/replay/server.js";
import type { ReplaySource } from "../testing/replay/source.js";
import { McpServer } from "./server.js";

export type { Clock } from "../call/clock.js";
export type { Cluster } from "../cluster/cluster.js";
export type { MemoryClusterLimits, MemoryClusterOptions } from "../cluster/memory/limits.js";
export { createMemoryState, type MemoryState } from "../cluster/memory/state.js";
export type { HttpExchange } from "../http/exchange.js";
export type { Channel } from "../protocol/jsonrpc/channel.js";
export { createChannelPair } from "../protocol/jsonrpc/memory-channel.js";
export type { ConnectionInfo, ConnectionRecorder, ExchangeRecorder } from "../recording/connection.js";
export type { Difference } from "../recording/differences.js";
export type {
  AnswerEvent,
  AskEvent,
  AuthEvent,
  CloseEvent,
  CommentEvent,
  DoneEvent,
  EndEvent,
  EventKind,
  FaultEvent,
  FrameDirection,
  FrameEvent,
  GapEvent,
  NewEvent,
  NoiseEvent,
  NoteEvent,
  OpenEvent,
  OutcomeEvent,
  RecordedFailure,
  RecordedHeaders,
  RecordedServer,
  RecordedWire,
  RecordingEvent,
  RecordingHeader,
  RedactionNote,
  RequestEvent,
  ResponseEvent,
  StderrEvent,
  VerdictEvent,
} from "../recording/events.js";
export type { RecordingLimits } from "../recording/limits.js";
export {
  type NumberedEvent,
  parseRecording,
  RecordingError,
  type RecordingFile,
  type RecordingSource,
  readRecording,
} from "../recording/reader.js";
export { type RecordableServer, Recording, type RecordingOptions } from "../recording/recording.js";
export type { RedactionOptions } from "../recording/redactor.js";
export type { RecordingSink } from "../recording/writer.js";
export { type ArrayExchange, type ArrayExchangeInit, createArrayExchange } from "../testing/array-exchange.js";
export {
  engineContract,
  type StoreContractOptions,
  storeContract,
} from "../testing/contract/store-contract.js";
export type { Engine, Open, Register, Scope, World } from "../testing/contract/world.js";
export { FakeClock, type Timer } from "../testing/fake-clock.js";
export {
  type Direction,
  type Fate,
  type FaultOptions,
  type Faults,
  type FaultyChannel,
  withFaults,
} from "../testing/faults.js";
export {
  type FaultyFetch,
  type FaultyRequest,
  type FetchFate,
  type FetchFault,
  type FetchFaultOptions,
  withFetchFaults,
} from "../testing/fetch-faults.js";
export type {
  ReplayClientOptions,
  ReplayedCall,
  ReplayLocalTarget,
  ReplayReport,
  ReplayTarget,
} from "../testing/replay/client.js";
export { ReplayError } from "../testing/replay/matcher.js";
export { replayClient } from "../testing/replay/replay.js";
export type { ReplayServer, ReplayServerOptions } from "../testing/replay/server.js";
export type { ReplaySource } from "../testing/replay/source.js";
export {
  type RecordedExchange,
  type RecordedFrame,
  type RecordedMessage,
  WireRecorder,
} from "../testing/wire-recorder.js";

/**
 * Creates a server that plays a recording: each request gets the recorded notifications, questions and result, in their
 * order, and faults happen again.
 *
 * @example
 * ```ts
 * const server = await replayServer("cast-off.rec.ndjson");
 * const client = await connect(server);
 * await client.callTool("cast-off", { berth: "n1" });
 * server.assertDone();
 * ```
 */
export async function replayServer(source: ReplaySource, options: ReplayServerOptions = {}): Promise<ReplayServer> {
  const create: CreateServer = (info, own) => new McpServer(info, own);
  return await atCaller(replayServer, () => createReplayServer(source, options, create));
}

// The signatures above use types of the client and of the protocol. A program may import this entry alone.
export type * from "./client-common.js";
