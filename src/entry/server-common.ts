export type { Asker, AskOptions, ElicitAnswer } from "../era/asking.js";
export type { Call, CallOrigin, ClientFacts, HandlerResult, ReportContext, Topics } from "../era/era.js";
export type { GateAdmission, GateRefusal, Operation } from "../http/admission.js";
export type { HttpExchange, HttpHeaders, HttpStream } from "../http/exchange.js";
export type { GateVerdict, HttpGate } from "../http/gate.js";
export { JSON_SCHEMA_DIALECTS } from "../schema/json-schema/dialects.js";
export type { JsonSchema, JsonSchemaValidator, SchemaIssue } from "../schema/json-schema/types.js";
export { type AnySchema, withJsonSchema } from "../schema/standard.js";
export type { AccessOptions } from "../server/access.js";
export type { CacheHints, ServerCacheOptions } from "../server/cache-hints.js";
export { invalidCursor } from "../server/catalogue.js";
export type { Changes } from "../server/changes.js";
export type { Completer, Completers } from "../server/completion.js";
export { audio, embedded, image, link, text } from "../server/content.js";
export type { Context } from "../server/context.js";
export type { MethodHandler, MethodOptions } from "../server/custom-method.js";
export { detachCall } from "../server/detach-call.js";
export type { Editable } from "../server/edit.js";
export {
  type ExtensionOptions,
  type ExtensionServer,
  ServerExtension,
  type TopicHandler,
} from "../server/extension.js";
export type { HttpServer, PromptTypes, ResourceTypes, ServerEdit, ToolTypes } from "../server/http-server.js";
export { inputRequired } from "../server/input-required.js";
export type {
  HttpServerOptions,
  Logger,
  ServerInterceptor,
  ServerOptions,
} from "../server/options.js";
export type { PromptHandler, PromptOptions, PromptReturn } from "../server/prompt.js";
export type { PromptChanges, ResourceChanges, ToolChanges } from "../server/registry.js";
export {
  type EnumeratedResource,
  type ResourceHandler,
  type ResourceOptions,
  type ResourceReturn,
  resourceNotFound,
} from "../server/resource.js";
export type { SealKey, StateCodec } from "../server/seal-options.js";
export type { ToolHandler, ToolOptions, ToolReturn } from "../server/tool.js";
export { toolResult } from "../server/tool-result.js";
export type { Change } from "../store/change-bus.js";
export type { EventLog } from "../store/event-log.js";
export * from "./errors.js";
