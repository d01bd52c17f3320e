export { defaultEnvironment } from "../node/environment.js";
export type { NodeExchangeOptions } from "../node/node-exchange.js";
export {
  type RunningHttpServer,
  type ServeHttpOptions,
  serveHttp,
  serveNodeRequest,
  toNodeListener,
} from "../node/serve-http.js";
export { serveStdio } from "../node/serve-stdio.js";
export { createStdioClientChannel, type StdioClientOptions } from "../node/stdio-client.js";
export { createStdioServerChannel } from "../node/stdio-server.js";
