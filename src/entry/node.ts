export { defaultEnvironment } from "../node/environment.js";
export { type FileResourceOptions, fileResource, resolveInside } from "../node/file-resource.js";
export { type RunningHttpServer, type ServeHttpOptions, serveHttp, toNodeListener } from "../node/serve-http.js";
export { type ServeStdioOptions, serveStdio } from "../node/serve-stdio.js";
export { createStdioClientChannel, type StdioClientChannel, type StdioClientOptions } from "../node/stdio-client.js";
export { createStdioServerChannel, type StdioServerOptions } from "../node/stdio-server.js";
