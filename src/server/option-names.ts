import type { Known } from "../protocol/known-options.js";
import type { AnySchema } from "../schema/compile.js";
import type { MethodOptions } from "./definitions/custom-method.js";
import type { PromptOptions } from "./definitions/prompt.js";
import type { ResourceOptions } from "./definitions/resource.js";
import type { AnyToolOptions } from "./definitions/tool.js";
import type { HttpServerOptions, ServerOptions } from "./options.js";

export const SERVER: Known<ServerOptions> = {
  instructions: "string",
  logger: 1,
  warnDeprecated: "boolean",
  onError: "function",
  interceptors: "array",
  onConnection: "function",
  maskErrors: "boolean",
  pageSize: "number",
  versions: "array",
  cache: "object",
  capabilities: "object",
  resources: "object",
  stateKeys: "array",
  stateCodec: "object",
  stateAudience: "string",
  acceptState: "function",
  cluster: "object",
  logLevel: "string",
  limits: "object",
  rateLimit: "object",
  pings: "object",
  progressIntervalMs: "number",
  identify: "boolean",
  http: "object",
  validator: 1,
  clock: "object",
};

export const HTTP: Known<HttpServerOptions> = {
  allowedHosts: 1,
  allowedOrigins: 1,
  cors: "boolean",
  gate: "function",
  remoteOf: "function",
  sessions: 1,
  preferJson: "boolean",
  responseMode: "string",
  keepAliveMs: "number",
  resumable: 1,
  retryMs: "number",
  sse: 1,
};

/** Options that all definitions have. */
const SHARED = {
  title: "string",
  description: "string",
  icons: "array",
  meta: "object",
  visible: "function",
  requires: "object",
} as const;

export const TOOL: Known<AnyToolOptions> = {
  ...SHARED,
  input: 1,
  output: 1,
  annotations: "object",
  task: 1,
  timeoutMs: 1,
  concurrency: 1,
  maxWaiting: 1,
  validator: 1,
};

export const PROMPT: Known<PromptOptions<AnySchema>> = { ...SHARED, arguments: 1, complete: "object" };

export const RESOURCE: Known<ResourceOptions> = {
  ...SHARED,
  name: "string",
  mimeType: "string",
  size: "number",
  annotations: "object",
  variables: 1,
  unsafePaths: 1,
  complete: 1,
  cache: "object",
  list: "function",
};

export const METHOD: Known<MethodOptions<AnySchema>> = {
  params: 1,
  requires: 1,
  sealState: "boolean",
  nameFrom: "string",
};
