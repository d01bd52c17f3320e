import { context } from "@opentelemetry/api";
import type { ClientCall, ClientInterceptor } from "../client/options.js";
import { observe } from "./operation.js";
import { createTelemetry, type TelemetryOptions } from "./telemetry.js";
import { injectTrace } from "./trace-context.js";

type Meta = { readonly [key: string]: unknown };

/**
 * A span and a measurement for each call of a client, whose trace goes along in `_meta`. After `retry()` in the list of
 * interceptors each attempt has a span of its own, before it all attempts share one. Does nothing while no provider is
 * registered.
 */
export function traceClient(options: TelemetryOptions = {}): ClientInterceptor {
  const telemetryNow = createTelemetry(options, "client");
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
