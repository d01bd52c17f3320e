export { defaultEnvironment } from "../node/environment.js";
export { createFileStore } from "../node/file-store.js";
export { type Loopback, type LoopbackOptions, openLoopback } from "../node/loopback.js";
export { type RunningHttpServer, type ServeHttpOptions, serveHttp, toNodeListener } from "../node/serve-http.js";
export { serveStdio } from "../node/serve-stdio.js";
export { createStdioClientChannel, type StdioClientOptions } from "../node/stdio-client.js";
export { createStdioServerChannel } from "../node/stdio-server.js";
