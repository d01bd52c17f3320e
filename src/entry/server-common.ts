export type { Call, CallOrigin, ClientFacts } from "../era/call.js";
export type { AskOptions, HandlerResult, ReportContext } from "../era/era.js";
export type { HttpExchange, HttpHeaders, HttpStream } from "../http/exchange.js";
export type { Channel, ChannelEvents } from "../jsonrpc/channel.js";
export type { JsonSchema, JsonSchemaValidator, SchemaIssue } from "../schema/json-schema/validator.js";
export { type AnySchema, withJsonSchema } from "../schema/standard.js";
export type { Changes } from "../server/changes.js";
export type { Completer, Completers } from "../server/completion.js";
export { audio, embedded, image, link, text } from "../server/content.js";
export type { Context, ElicitAnswer } from "../server/context.js";
export type { MethodHandler, MethodOptions } from "../server/custom-method.js";
export type { ServedConnection } from "../server/door.js";
export { inputRequired } from "../server/input-required.js";
export type {
  GateVerdict,
  HttpGate,
  HttpServerOptions,
  Logger,
  ServerInterceptor,
  ServerOptions,
} from "../server/options.js";
export type { PromptHandler, PromptOptions, PromptReturn } from "../server/prompt.js";
export type { ResourceHandler, ResourceOptions, ResourceReturn } from "../server/resource.js";
export type { Server, ToolTypes } from "../server/server.js";
export type { SealKey } from "../server/state-seal.js";
export { type ToolHandler, type ToolOptions, type ToolReturn, toolResult } from "../server/tool.js";
export type { Change } from "../store/change-bus.js";
export type { EventLog } from "../store/event-log.js";
export * from "./errors.js";
