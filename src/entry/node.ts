export type { AuthStore } from "../auth/client/store.js";
export type { ServersConfig } from "../client/group/config.js";
export type { ClientOptions } from "../client/options.js";
export type { Fetch, FetchInit, Patience } from "../http/client/send.js";
export {
  type ClientConnectionEvent,
  type ClientRequestEvent,
  DIAGNOSTIC_CHANNELS,
  diagnoseClient,
  diagnoseServer,
  type ServerRequestEvent,
} from "../node/diagnostics.js";
export { defaultEnvironment, type Environment } from "../node/environment.js";
export { type RecordingFileOptions, recordingFile } from "../node/files/recording.js";
export { type FileResourceOptions, fileResource, resolveInside } from "../node/files/resource.js";
export { readServers } from "../node/files/servers.js";
export {
  type SkillCacheLimits,
  type SkillCacheOptions,
  type SkillDiskCache,
  skillCache,
} from "../node/files/skill-cache.js";
export { type SkillFolderLimits, type SkillFolderOptions, skillFolder } from "../node/files/skill-folder.js";
export { fileStore } from "../node/files/store.js";
export { type GuardedFetchOptions, guardedFetch } from "../node/guarded-fetch.js";
export type { NodeExchangeOptions } from "../node/http/exchange.js";
export type { FetchServerLike } from "../node/http/fetch-listener.js";
export {
  type HealthPaths,
  type HttpServerLike,
  type RunningHttpServer,
  type RunningHttpWorker,
  type RunningHttpWorkers,
  type ServeHttpOptions,
  serveHttp,
  serveNodeRequest,
  toNodeListener,
} from "../node/http/serve.js";
export { type Loopback, type LoopbackOptions, openLoopback } from "../node/loopback.js";
export type { LookupAll } from "../node/outgoing/lookup.js";
export type { ServerProcessOptions, StopTimes } from "../node/process/server-process.js";
export { createStdioClientChannel, type StdioClientChannel, type StdioClientOptions } from "../node/stdio/client.js";
export type { WriteLine } from "../node/stdio/frame-writer.js";
export { type ChannelServer, type ServeStdioOptions, serveStdio } from "../node/stdio/serve.js";
export { createStdioServerChannel, type StdioServerLimits, type StdioServerOptions } from "../node/stdio/server.js";
export type { RunningHttpPrimary } from "../node/workers/primary.js";
export type { Channel, ChannelEvents } from "../protocol/jsonrpc/channel.js";
export type { RecordingSink } from "../recording/writer.js";
export type { ServerOptions } from "../server/options.js";
export type { SkillFiles, SkillProblem, SkillTree } from "../skills/server/source.js";
