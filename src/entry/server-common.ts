export type { AskOptions, ElicitAnswer, RequestStrategy } from "../era/request-strategy.js";
export type { Call, CallOrigin, ClientDescription, HandlerResult, ReportContext, Topics } from "../era/server-era.js";
export type { ServerLimits } from "../era/server-limits.js";
export type { GateAdmission, GateRefusal, HttpExchange, HttpHeaders, HttpStream, Operation } from "../http/exchange.js";
export type { GateVerdict, HttpGate } from "../http/gate.js";
export type { Channel, ChannelEvents } from "../protocol/jsonrpc/channel.js";
export { type AnySchema, withJsonSchema } from "../schema/compile.js";
export { JSON_SCHEMA_DIALECTS } from "../schema/json-schema/document.js";
export type { JsonSchema, JsonSchemaValidator, SchemaIssue } from "../schema/json-schema/types.js";
export type { Changes, ServerEdit } from "../server/changes.js";
export type { Context } from "../server/context.js";
export type { AccessOptions } from "../server/definitions/access.js";
export type { Editable } from "../server/definitions/catalogue.js";
export { invalidCursor } from "../server/definitions/catalogue.js";
export type { Completer, Completers } from "../server/definitions/completion.js";
export { audio, embedded, image, link, text } from "../server/definitions/content.js";
export type { MethodHandler, MethodOptions } from "../server/definitions/custom-method.js";
export type { PromptHandler, PromptOptions, PromptReturn } from "../server/definitions/prompt.js";
export type { PromptChanges, ResourceChanges, ToolChanges } from "../server/definitions/registry.js";
export {
  type EnumeratedResource,
  type ResourceHandler,
  type ResourceOptions,
  type ResourceReturn,
  resourceNotFound,
} from "../server/definitions/resource.js";
export type { ToolHandler, ToolOptions, ToolReturn } from "../server/definitions/tool.js";
export { toolResult } from "../server/definitions/tool-result.js";
export { detachCall } from "../server/detach-call.js";
export {
  type ExtensionOptions,
  type ExtensionServer,
  ServerExtension,
  type TopicHandler,
} from "../server/extensions/extension.js";
export { inputRequired } from "../server/input-required.js";
export type {
  CacheHints,
  HttpServerOptions,
  Logger,
  ServedConnection,
  ServerCacheOptions,
  ServerInterceptor,
  ServerOptions,
} from "../server/options.js";
export type { RateLimitOptions } from "../server/rate-limit.js";
export type { Server } from "../server/server.js";
export type { PromptTypes, ResourceTypes, ToolTypes } from "../server/server-types.js";
export type { SealKey, StateCodec } from "../server/state/options.js";
export {
  type BucketLimit,
  type Buckets,
  type BucketVerdict,
  MemoryBuckets,
  type MemoryBucketsOptions,
} from "../store/buckets.js";
export type { Change } from "../store/change-bus.js";
export type { EventLog } from "../store/event-log.js";
export * from "./errors.js";
