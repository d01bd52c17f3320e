import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { ROOT_CONTEXT, type TextMapPropagator } from "@opentelemetry/api";
import { extractTrace } from "#src/otel/trace-context.js";

test("a propagator sees the three keys alone, and only texts", () => {
  const seen: unknown[] = [];
  const propagator: Pick<TextMapPropagator, "extract"> = {
    extract(context, carrier, getter) {
      seen.push(getter.keys(carrier));
      for (const key of ["traceparent", "tracestate", "baggage", "authorization"]) seen.push(getter.get(carrier, key));
      return context;
    },
  };
  extractTrace(ROOT_CONTEXT, propagator, {
    traceparent: 5,
    tracestate: ["a=1"],
    baggage: "a=1",
    authorization: "secret",
  });
  deepEqual(seen, [["traceparent", "tracestate", "baggage"], undefined, undefined, "a=1", undefined]);
});
