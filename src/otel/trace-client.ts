import { context } from "@opentelemetry/api";
import type { ClientCall, ClientInterceptor } from "../client/options.js";
import { atCaller } from "../protocol/at-caller.js";
import { observe } from "./operation.js";
import { createTelemetry, type TelemetryOptions } from "./telemetry.js";
import { injectTrace } from "./trace-context.js";

type Meta = { readonly [key: string]: unknown };

/**
 * Creates an interceptor that records a span and a duration for each call of a client. The trace context is sent in
 * `_meta`. Placed after `retry()` in the list of interceptors, it creates a span per attempt; placed before, a span for
 * all attempts. Does nothing while no provider and no propagator is registered.
 */
export function traceClient(options: TelemetryOptions = {}): ClientInterceptor {
  const telemetryNow = atCaller(traceClient, () => createTelemetry(options, "client"));
  return (call, next) => {
    const telemetry = telemetryNow();
    if (telemetry === undefined) return next(call);
    const { method, params } = call;
    const operation = {
      method,
      params,
      facts: {},
      details: detailsOf(call),
      parent: context.active(),
      cancelled: () => call.options.signal?.aborted === true,
    };
    return observe(telemetry, "client", operation, (within) => {
      const given = [call.options.meta, params?._meta as Meta | undefined];
      const injected = injectTrace(within, telemetry.propagator, given);
      return next(injected === undefined ? call : withMeta(call, injected));
    });
  };
}

function detailsOf({ params, options }: ClientCall): Record<string, string> {
  return {
    ...(options.id === undefined ? undefined : { "jsonrpc.request.id": String(options.id) }),
    ...(typeof params?.uri === "string" ? { "mcp.resource.uri": params.uri } : undefined),
  };
}

function withMeta(call: ClientCall, meta: Meta): ClientCall {
  return { ...call, options: { ...call.options, meta: { ...call.options.meta, ...meta } } };
}
