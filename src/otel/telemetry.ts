import {
  createNoopMeter,
  type Histogram,
  type MeterProvider,
  metrics,
  ProxyTracerProvider,
  propagation,
  type TextMapPropagator,
  type Tracer,
  type TracerProvider,
  trace,
} from "@opentelemetry/api";
import { assertOptions, type Known } from "../protocol/known-options.js";

/** Providers to use in place of the globally registered ones. */
export interface TelemetryOptions {
  readonly tracerProvider?: TracerProvider | undefined;
  readonly meterProvider?: MeterProvider | undefined;
  readonly propagator?: TextMapPropagator | undefined;
}

const OPTIONS: Known<TelemetryOptions> = { tracerProvider: "object", meterProvider: "object", propagator: "object" };

/** Instruments of one side of a connection. */
export interface Telemetry {
  readonly tracer: Tracer;
  /** Undefined if no meter provider is registered. */
  readonly duration: Histogram | undefined;
  readonly propagator: Pick<TextMapPropagator, "inject" | "extract">;
}

const SCOPE = "bowline";
/** Bucket boundaries in seconds, as in the semantic conventions for MCP. */
const BOUNDARIES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

/**
 * Returns a function that looks up the instruments at each call, because an application may register its providers
 * late. It returns undefined while no provider and no propagator is registered, so that an untraced call costs only the
 * lookup.
 */
export function createTelemetry(options: TelemetryOptions, side: "client" | "server"): () => Telemetry | undefined {
  assertOptions(`trace${side === "client" ? "Client" : "Server"}`, options, OPTIONS);
  const tracer = (options.tracerProvider ?? trace).getTracer(SCOPE);
  const propagator = options.propagator ?? propagation;
  const isTraced = () =>
    options.tracerProvider !== undefined || hasDelegate(trace.getTracerProvider()) || propagator.fields().length > 0;
  let measuredBy: MeterProvider | undefined;
  let current: Telemetry = { tracer, propagator, duration: undefined };
  return () => {
    const meters = options.meterProvider ?? metrics.getMeterProvider();
    if (meters !== measuredBy) {
      measuredBy = meters;
      current = { tracer, propagator, duration: createDuration(meters, side) };
    }
    return current.duration !== undefined || isTraced() ? current : undefined;
  };
}

/** True if the application has registered a provider behind the API's default proxy. */
function hasDelegate(provider: TracerProvider): boolean {
  return !(provider instanceof ProxyTracerProvider) || provider.getDelegateTracer(SCOPE) !== undefined;
}

function createDuration(provider: MeterProvider, side: "client" | "server"): Histogram | undefined {
  const meter = provider.getMeter(SCOPE);
  if (meter === createNoopMeter()) return undefined;
  return meter.createHistogram(`mcp.${side}.operation.duration`, {
    unit: "s",
    description: side === "client" ? "From a request to its response." : "From a request's arrival to its result.",
    advice: { explicitBucketBoundaries: BOUNDARIES },
  });
}
