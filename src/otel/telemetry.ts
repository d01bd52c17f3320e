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

/** What to report to, in place of what is registered globally. */
export interface TelemetryOptions {
  readonly tracerProvider?: TracerProvider;
  readonly meterProvider?: MeterProvider;
  readonly propagator?: TextMapPropagator;
}

/** What one side of a connection reports to. */
export interface Telemetry {
  readonly tracer: Tracer;
  /** Undefined where nobody measures. */
  readonly duration: Histogram | undefined;
  readonly propagator: Pick<TextMapPropagator, "inject" | "extract">;
}

const SCOPE = "bowline";
/** Seconds, as the conventions for MCP give them. */
const BOUNDARIES = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];

/**
 * What is registered at the time of each call, since an application may register late: undefined while there is nothing,
 * so that a call costs no more than this look.
 */
export function createTelemetry(options: TelemetryOptions, side: "client" | "server"): () => Telemetry | undefined {
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

/** Whether an application registered a provider behind the stand-in that is always there. */
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
