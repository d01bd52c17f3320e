import type { Known } from "../protocol/known-options.js";
import type { AnySchema } from "../schema/compile.js";
import type { MethodOptions } from "./definitions/custom-method.js";
import type { PromptOptions } from "./definitions/prompt.js";
import type { ResourceOptions } from "./definitions/resource.js";
import type { AnyToolOptions } from "./definitions/tool.js";
import type { HttpServerOptions, ServerOptions } from "./options.js";

export const SERVER: Known<ServerOptions> = {
  instructions: 1,
  logger: 1,
  warnDeprecated: 1,
  onError: 1,
  interceptors: 1,
  onConnection: 1,
  maskErrors: 1,
  pageSize: 1,
  versions: 1,
  cache: 1,
  capabilities: 1,
  resources: 1,
  stateKeys: 1,
  stateCodec: 1,
  stateAudience: 1,
  acceptState: 1,
  logLevel: 1,
  limits: 1,
  rateLimit: 1,
  pings: 1,
  progressIntervalMs: 1,
  identify: 1,
  http: 1,
  validator: 1,
  clock: 1,
};

export const HTTP: Known<HttpServerOptions> = {
  allowedHosts: 1,
  allowedOrigins: 1,
  cors: 1,
  gate: 1,
  sessions: 1,
  preferJson: 1,
  responseMode: 1,
  keepAliveMs: 1,
  resumable: 1,
  retryMs: 1,
  sse: 1,
};

/** What all definitions have in common. */
const SHARED = { title: 1, description: 1, icons: 1, meta: 1, visible: 1, requires: 1 } as const;

export const TOOL: Known<AnyToolOptions> = {
  ...SHARED,
  input: 1,
  output: 1,
  annotations: 1,
  taskSupport: 1,
  timeoutMs: 1,
  concurrency: 1,
  maxWaiting: 1,
  validator: 1,
};

export const PROMPT: Known<PromptOptions<AnySchema>> = { ...SHARED, arguments: 1, complete: 1 };

export const RESOURCE: Known<ResourceOptions> = {
  ...SHARED,
  name: 1,
  mimeType: 1,
  size: 1,
  annotations: 1,
  variables: 1,
  unsafePaths: 1,
  complete: 1,
  cache: 1,
  list: 1,
};

export const METHOD: Known<MethodOptions<AnySchema>> = { params: 1, requires: 1, sealState: 1, nameFrom: 1 };
