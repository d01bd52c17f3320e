import type { Context, TextMapGetter, TextMapPropagator, TextMapSetter } from "@opentelemetry/api";

/** Where trace context travels in `_meta`: bare keys, though others need a prefix. */
export const TRACEPARENT_KEY = "traceparent";
export const TRACESTATE_KEY = "tracestate";
export const BAGGAGE_KEY = "baggage";

type Meta = { readonly [key: string]: unknown };

const KEYS: ReadonlySet<string> = new Set([TRACEPARENT_KEY, TRACESTATE_KEY, BAGGAGE_KEY]);

/** Propagators of other formats may be registered too: what they write has no place in `_meta`. */
const setter: TextMapSetter<Record<string, string>> = {
  set(carrier, key, value) {
    if (KEYS.has(key)) carrier[key] = value;
  },
};

/** What is no text is as good as absent. */
const getter: TextMapGetter<Meta> = {
  keys: (carrier) => Object.keys(carrier).filter((key) => KEYS.has(key)),
  get(carrier, key) {
    const value = KEYS.has(key) ? carrier[key] : undefined;
    return typeof value === "string" ? value : undefined;
  },
};

/**
 * The keys to add to a request's `_meta` so that its receiver can go on with the trace, or undefined when there are none.
 * What the caller placed in one of `given` stays: a state without its parent would belong to another trace, so either
 * of the two keeps out both.
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

/** The context that a request's `_meta` continues: `ambient` where it says nothing that makes sense. */
export function extractTrace(
  ambient: Context,
  propagator: Pick<TextMapPropagator, "extract">,
  meta: Meta | undefined,
): Context {
  if (meta === undefined) return ambient;
  try {
    return propagator.extract(ambient, meta, getter);
  } catch {
    // A peer's words must not make a request fail because a propagator stumbles over them.
    return ambient;
  }
}
