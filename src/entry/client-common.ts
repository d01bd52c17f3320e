export type { Clock } from "../call/clock.js";
export type { Interceptor } from "../call/interceptor.js";
export type { PingOptions } from "../call/ping-options.js";
export type { CallProgress } from "../call/progress.js";
export type { CacheMode, CacheStats, ClientCacheOptions } from "../client/cache/cache.js";
export {
  type CachedResult,
  type CacheRecord,
  type CacheStore,
  type MemoryCacheOptions,
  memoryCache,
} from "../client/cache/store.js";
export type { Client } from "../client/client.js";
export type { CommandLimits } from "../client/command-limits.js";
export type { RestartLimits } from "../client/connections/restarting.js";
export type {
  CommandEntry,
  ServerEntries,
  ServerEntry,
  ServersConfig,
  UrlEntry,
  Variables,
} from "../client/group/config.js";
export type {
  FromServer,
  Group,
  GroupServer,
  GroupServerName,
  GroupToolName,
  GroupToolNameOr,
  Named,
  ServerTypes,
} from "../client/group/group.js";
export type { GroupListing } from "../client/group/listing.js";
export type { BackoffOptions, ServerStatus } from "../client/group/member.js";
export type { GroupOptions, ProcessOptions } from "../client/group/options.js";
export type { GroupChange, GroupWatch } from "../client/group/watch.js";
export { type IconOptions, isSafeIcon, type LoadedIcon, loadIcon } from "../client/icon.js";
export type {
  AnswerContext,
  AnswerOptions,
  CallOptions,
  ChannelTarget,
  ClientCall,
  ClientExtension,
  ClientInterceptor,
  ClientLogger,
  ClientOptions,
  CommandTarget,
  ExtensionContext,
  LocalTarget,
  SamplingOptions,
  ServerRequestHandler,
  Target,
  ToolCallOptions,
  TypedCallOptions,
} from "../client/options.js";
export type { Pages } from "../client/pages.js";
export {
  type LockedTool,
  type PinnedOptions,
  pinned,
  type ServerLock,
  type ToolChange,
} from "../client/pinning/pinned.js";
export type { MethodResults, ToolOutcome } from "../client/results.js";
export { displayName, isResourceNotFound } from "../client/results.js";
export { type RetryOptions, retry } from "../client/retry.js";
export { withParams } from "../client/server-requests.js";
export type {
  AnyServer,
  CallArguments,
  ReadOptions,
  ResourceUri,
  ResourceVariables,
  ServerPromptArguments,
  ServerPrompts,
  ServerTools,
  TemplateValues,
} from "../client/server-types.js";
export type { ListListener, ListListeners, ListUpdate } from "../client/subscriptions/list-refresh.js";
export type { ResubscribeOptions } from "../client/subscriptions/resilient.js";
export type { Resync, Watch, WatchFilter, WatchOptions } from "../client/subscriptions/watch.js";
export type {
  ClientResult,
  PriorKnowledge,
  ReportProgress,
  ResumeToken,
  SavedSession,
  ServerDescription,
} from "../era/client-era.js";
export type { ClientLimits } from "../era/client-limits.js";
export type { CloseOptions, ReconnectOptions } from "../era/transport.js";
export type { EraName, ProtocolVersion } from "../era/versions.js";
export { toolChoiceOf } from "../protocol/sampling-rules.js";
export type { TemplateValue } from "../protocol/uri-expand.js";
export type { Change } from "../store/change-bus.js";
export * from "./protocol.js";
export * from "./schema.js";
