export {
  type BucketLimit,
  type Buckets,
  type BucketVerdict,
  type MemoryBucketsOptions,
  memoryBuckets,
} from "../call/buckets.js";
export type { Clock } from "../call/clock.js";
export type { Interceptor } from "../call/interceptor.js";
export type { MaybePromise } from "../call/maybe-promise.js";
export type { PingOptions } from "../call/ping-options.js";
export type { Cluster } from "../cluster/cluster.js";
export { resourceNotFound } from "../era/missing-resource.js";
export type { OpenedByContext } from "../era/openable-state.js";
export type { AskOptions, ElicitAnswer } from "../era/request-strategy.js";
export type {
  ClientDescription,
  ReportContext,
  ResultObject,
  SessionOptions,
  SessionSettings,
  UnnamedRequest,
} from "../era/server-era.js";
export type { ServerLimits } from "../era/server-limits.js";
export type { SsePaths } from "../era/sse-paths.js";
export type { AuthInfo } from "../http/auth-info.js";
export type {
  GateAdmission,
  GateRefusal,
  HttpExchange,
  HttpHeaders,
  HttpStream,
  OpenBodies,
  Operation,
} from "../http/exchange.js";
export type { GateVerdict, HttpGate } from "../http/gate.js";
export type { GuardOptions } from "../http/guard.js";
export { isSuspension } from "../protocol/errors.js";
export type { Problem } from "../protocol/json.js";
export { type AnySchema, withJsonSchema } from "../schema/compile.js";
export type { RequestedSchema } from "../schema/elicitation-answer.js";
export type { FormSchema } from "../schema/elicitation-form.js";
export type { CallInfo } from "../server/call-info.js";
export type { Changes, ServerEdit } from "../server/changes.js";
export type { Caller, Context } from "../server/context.js";
export type { AccessOptions } from "../server/definitions/access.js";
export type { Editable } from "../server/definitions/catalogue.js";
export { invalidCursor } from "../server/definitions/catalogue.js";
export type { Completer, Completers } from "../server/definitions/completion.js";
export { audio, embedded, image, link, text } from "../server/definitions/content.js";
export type {
  MethodHandler,
  MethodOptions,
  MethodParams,
  NotificationHandler,
  OtherNotificationHandler,
} from "../server/definitions/custom-method.js";
export type {
  PromptArgumentName,
  PromptArguments,
  PromptHandler,
  PromptOptions,
  PromptReturn,
} from "../server/definitions/prompt.js";
export type { PromptChanges, ResourceChanges, ToolChanges } from "../server/definitions/registry.js";
export type {
  EnumeratedResource,
  ResourceHandler,
  ResourceOptions,
  ResourcePart,
  ResourceReturn,
} from "../server/definitions/resource.js";
export type {
  AnyToolHandler,
  AnyToolOptions,
  ToolArguments,
  ToolHandler,
  ToolOptions,
  ToolReturn,
} from "../server/definitions/tool.js";
export { type PlainToolResult, type ToolResult, toolResult } from "../server/definitions/tool-result.js";
export type { UriVariableName, UriVariables } from "../server/definitions/uri-template.js";
export { detachStream } from "../server/detach-stream.js";
export {
  type ExtensionOptions,
  type ExtensionServer,
  type ServedTopic,
  ServerExtension,
  type TopicHandler,
} from "../server/extensions/extension.js";
export { inputRequired } from "../server/input-required.js";
export type {
  CacheHints,
  ChannelCaller,
  HttpServerOptions,
  Logger,
  ServedConnection,
  ServerCacheOptions,
  ServerInterceptor,
  ServerOptions,
  ServerSettings,
  WithoutCluster,
  WithStateCodec,
  WithStateKeys,
} from "../server/options.js";
export type { RateLimitOptions } from "../server/rate-limit.js";
export type { Server } from "../server/server.js";
export type {
  PromptType,
  ResourceType,
  ServerShape,
  ToolType,
} from "../server/server-types.js";
export type { SealKey, StateCodec } from "../server/state/options.js";
export type { ServerStats } from "../server/stats.js";
export type { Change, ChangeBus, ChangeListener } from "../store/change-bus.js";
export type { EventLog, LoggedEvent } from "../store/event-log.js";
export * from "./protocol.js";
export * from "./schema.js";
