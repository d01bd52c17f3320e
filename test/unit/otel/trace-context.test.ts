import { deepEqual } from "node:assert/strict";
import { test } from "node:test";
import { ROOT_CONTEXT, type TextMapPropagator } from "@opentelemetry/api";
import { extractTrace, injectTrace } from "#src/otel/trace-context.js";

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

test("a traceparent or a tracestate of the caller keeps out both of the current trace, and baggage only itself", () => {
  const current = { traceparent: "00-1-1-01", tracestate: "vendor=current", baggage: "user=ada" };
  const propagator: Pick<TextMapPropagator, "inject"> = {
    inject: (_, carrier, setter) => {
      for (const [key, value] of Object.entries({ ...current, b3: "0" })) setter.set(carrier, key, value);
    },
  };
  const added = (...given: ({ readonly [key: string]: unknown } | undefined)[]) =>
    injectTrace(ROOT_CONTEXT, propagator, given);
  const { traceparent, tracestate, baggage } = current;
  deepEqual(added(undefined, {}), current);
  deepEqual(added({ traceparent: "00-2-2-01" }), { baggage });
  deepEqual(added(undefined, { tracestate: "vendor=own" }), { baggage });
  deepEqual(added({ baggage: "user=bob" }), { traceparent, tracestate });
  deepEqual(added({ baggage: "user=bob" }, { tracestate: "vendor=own" }), undefined);
});
