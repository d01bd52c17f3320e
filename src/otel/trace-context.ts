import type { Context, TextMapGetter, TextMapPropagator, TextMapSetter } from "@opentelemetry/api";

/** Keys of trace context in `_meta`. The specification reserves them without a prefix. */
export const TRACEPARENT_KEY = "traceparent";
export const TRACESTATE_KEY = "tracestate";
export const BAGGAGE_KEY = "baggage";

type Meta = { readonly [key: string]: unknown };

const KEYS: ReadonlySet<string> = new Set([TRACEPARENT_KEY, TRACESTATE_KEY, BAGGAGE_KEY]);

/**
 * Writes only the keys above. Propagators of other formats may be registered too, and `_meta` has no place for their
 * keys.
 */
const setter: TextMapSetter<Record<string, string>> = {
  set(carrier, key, value) {
    if (KEYS.has(key)) carrier[key] = value;
  },
};

/** Reads only the keys above. Treats a value that is not a string as absent. */
const getter: TextMapGetter<Meta> = {
  keys: (carrier) => Object.keys(carrier).filter((key) => KEYS.has(key)),
  get(carrier, key) {
    const value = KEYS.has(key) ? carrier[key] : undefined;
    return typeof value === "string" ? value : undefined;
  },
};

/**
 * Returns the keys to add to a request's `_meta` so that the receiver continues the trace; undefined if there are none.
 * Values that the caller has set in one of `given` are kept. `traceparent` and `tracestate` belong together, so either
 * of them suppresses both.
 */
export function injectTrace(
  context: Context,
  propagator: Pick<TextMapPropagator, "inject">,
  given: readonly (Meta | undefined)[],
): Record<string, string> | undefined {
  const carrier: Record<string, string> = {};
  propagator.inject(context, carrier, setter);
  const has = (key: string) => given.some((meta) => meta?.[key] !== undefined);
  if (has(TRACEPARENT_KEY) || has(TRACESTATE_KEY)) {
    delete carrier[TRACEPARENT_KEY];
    delete carrier[TRACESTATE_KEY];
  }
  if (has(BAGGAGE_KEY)) delete carrier[BAGGAGE_KEY];
  return Object.keys(carrier).length === 0 ? undefined : carrier;
}

/** Returns the context that a request's `_meta` continues, or `ambient` if it holds no valid trace context. */
export function extractTrace(
  ambient: Context,
  propagator: Pick<TextMapPropagator, "extract">,
  meta: Meta | undefined,
): Context {
  if (meta === undefined) return ambient;
  try {
    return propagator.extract(ambient, meta, getter);
  } catch {
    // A propagator that throws on the peer's values must not fail the request.
    return ambient;
  }
}
