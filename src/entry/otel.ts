export type { ClientInterceptor } from "../client/options.js";
export type { TelemetryOptions } from "../otel/telemetry.js";
export { traceClient } from "../otel/trace-client.js";
export { traceServer } from "../otel/trace-server.js";
export type { ServerInterceptor } from "../server/options.js";
