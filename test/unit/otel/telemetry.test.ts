import { deepEqual, equal, notEqual } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { metrics, propagation, trace } from "@opentelemetry/api";
import { MeterProvider } from "@opentelemetry/sdk-metrics";
import { BasicTracerProvider } from "@opentelemetry/sdk-trace-base";
import { createTelemetry } from "#src/otel/telemetry.js";
import { W3C } from "../../support/tracing.js";

function forgetGlobals(t: TestContext): void {
  t.after(() => {
    trace.disable();
    metrics.disable();
    propagation.disable();
  });
}

test("a call is observed as soon as one thing is registered that wants to know of it, and not before", (t) => {
  forgetGlobals(t);
  equal(createTelemetry({}, "client")(), undefined);
  notEqual(createTelemetry({ tracerProvider: new BasicTracerProvider() }, "client")(), undefined);
  notEqual(createTelemetry({ meterProvider: new MeterProvider() }, "client")(), undefined);
  notEqual(createTelemetry({ propagator: W3C }, "client")(), undefined);
  const now = createTelemetry({}, "client");
  equal(now(), undefined);
  propagation.setGlobalPropagator(W3C);
  notEqual(now(), undefined);
  propagation.disable();
  equal(now(), undefined);
  metrics.setGlobalMeterProvider(new MeterProvider());
  notEqual(now()?.duration, undefined);
  metrics.disable();
  equal(now(), undefined);
  trace.setGlobalTracerProvider(new BasicTracerProvider());
  notEqual(now(), undefined);
  equal(now()?.duration, undefined);
});

test("the histogram of each side has its name, its description and the boundaries of the conventions", () => {
  for (const [side, description] of [
    ["client", /response/],
    ["server", /result/],
  ] as const) {
    const made: unknown[][] = [];
    const meter = { createHistogram: (...given: unknown[]) => made.push(given) };
    const meterProvider = { getMeter: () => meter } as unknown as MeterProvider;
    const now = createTelemetry({ meterProvider }, side);
    now();
    now();
    equal(made.length, 1, "it is made once");
    const [name, options] = made[0] as [string, { unit: string; description: string; advice: object }];
    equal(name, `mcp.${side}.operation.duration`);
    equal(options.unit, "s");
    equal(description.test(options.description), true, options.description);
    const explicitBucketBoundaries = [0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 120, 300];
    deepEqual(options.advice, { explicitBucketBoundaries });
  }
});
