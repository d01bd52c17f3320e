import { type Context, context, type Link, trace } from "@opentelemetry/api";
import { atCaller } from "../protocol/at-caller.js";
import type { CallInfo } from "../server/call-info.js";
import type { ServerInterceptor } from "../server/options.js";
import { type Operation, observe } from "./operation.js";
import { createTelemetry, type Telemetry, type TelemetryOptions } from "./telemetry.js";
import { extractTrace } from "./trace-context.js";

/**
 * Creates an interceptor that records a span and a duration for each request of a server. The parent is the trace
 * context in the request's `_meta`, or else the active context. Does nothing while no provider and no propagator is
 * registered.
 */
export function traceServer(options: TelemetryOptions = {}): ServerInterceptor {
  const telemetryNow = atCaller(traceServer, () => createTelemetry(options, "server"));
  return (call, next) => {
    const telemetry = telemetryNow();
    if (telemetry === undefined) return next(call);
    return observe(telemetry, "server", operationOf(call, telemetry), () => next(call));
  };
}

function operationOf(call: CallInfo, { propagator }: Telemetry): Operation {
  const { method, params } = call;
  const ambient = context.active();
  const parent = extractTrace(ambient, propagator, params._meta as { readonly [key: string]: unknown } | undefined);
  const facts = { "mcp.protocol.version": call.client.version, ...networkOf(call) };
  return {
    method,
    params,
    facts,
    details: detailsOf(call),
    parent,
    links: linksOf(ambient, parent),
    cancelled: () => call.signal.aborted,
  };
}

/** Returns a link to the active span, such as that of the HTTP request, if the parent comes from `_meta`. */
function linksOf(ambient: Context, parent: Context): Link[] {
  const under = trace.getSpanContext(ambient);
  return under === undefined || under.spanId === trace.getSpanContext(parent)?.spanId ? [] : [{ context: under }];
}

function networkOf({ url }: CallInfo): Record<string, string> {
  return url === undefined
    ? { "network.transport": "pipe" }
    : { "network.transport": "tcp", "network.protocol.name": "http" };
}

function detailsOf({ id, params, sessionId }: CallInfo): Record<string, string> {
  return {
    "jsonrpc.request.id": String(id),
    ...(sessionId === undefined ? undefined : { "mcp.session.id": sessionId }),
    ...(typeof params.uri === "string" ? { "mcp.resource.uri": params.uri } : undefined),
  };
}
