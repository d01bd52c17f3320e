export {
  type ClientConnectionEvent,
  type ClientRequestEvent,
  DIAGNOSTIC_CHANNELS,
  diagnoseClient,
  diagnoseServer,
  type ServerRequestEvent,
} from "../node/diagnostics.js";
export { defaultEnvironment } from "../node/environment.js";
export type { FetchServerLike } from "../node/fetch-listener.js";
export { type FileResourceOptions, fileResource, resolveInside } from "../node/file-resource.js";
export { createFileStore } from "../node/file-store.js";
export { createGuardedFetch, type GuardedFetchOptions } from "../node/guarded-fetch.js";
export { type Loopback, type LoopbackOptions, openLoopback } from "../node/loopback.js";
export type { NodeExchangeOptions } from "../node/node-exchange.js";
export { readServers } from "../node/read-servers.js";
export {
  type RunningHttpServer,
  type ServeHttpOptions,
  serveHttp,
  serveNodeRequest,
  toNodeListener,
} from "../node/serve-http.js";
export { type ServeStdioOptions, serveStdio } from "../node/serve-stdio.js";
export { createStdioClientChannel, type StdioClientChannel, type StdioClientOptions } from "../node/stdio-client.js";
export { createStdioServerChannel, type StdioServerOptions } from "../node/stdio-server.js";
