import { AsyncLocalStorage } from "node:async_hooks";
import type { TestContext } from "node:test";
import { type Context, type ContextManager, context, propagation, ROOT_CONTEXT, trace } from "@opentelemetry/api";
import { CompositePropagator, W3CBaggagePropagator, W3CTraceContextPropagator } from "@opentelemetry/core";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";

export const W3C = new CompositePropagator({
  propagators: [new W3CTraceContextPropagator(), new W3CBaggagePropagator()],
});

/** What an application's tracing recorded. */
export interface Traced {
  /** The spans that have ended, by the start of their name. */
  spans(name?: string): ReadableSpan[];
  /** Runs work within a span of the application's own. */
  within<T>(name: string, work: (spanId: string) => Promise<T>): Promise<T>;
}

/** Registers tracing as an application does, until the test ends. */
export function registerTracing(t: TestContext): Traced {
  const exporter = new InMemorySpanExporter();
  const provider = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(exporter)] });
  trace.setGlobalTracerProvider(provider);
  context.setGlobalContextManager(new StorageContext());
  propagation.setGlobalPropagator(W3C);
  t.after(() => {
    trace.disable();
    context.disable();
    propagation.disable();
  });
  return {
    spans: (name = "") => exporter.getFinishedSpans().filter((span) => span.name.startsWith(name)),
    within: (name, work) =>
      provider.getTracer("application").startActiveSpan(name, async (span) => {
        try {
          return await work(span.spanContext().spanId);
        } finally {
          span.end();
        }
      }),
  };
}

/** Context that follows promises. */
class StorageContext implements ContextManager {
  readonly #storage = new AsyncLocalStorage<Context>();

  active(): Context {
    return this.#storage.getStore() ?? ROOT_CONTEXT;
  }

  with<A extends unknown[], F extends (...args: A) => ReturnType<F>>(
    within: Context,
    work: F,
    self?: ThisParameterType<F>,
    ...args: A
  ): ReturnType<F> {
    return this.#storage.run(within, () => work.call(self, ...args));
  }

  bind<T>(_: Context, target: T): T {
    return target;
  }

  enable(): this {
    return this;
  }

  disable(): this {
    this.#storage.disable();
    return this;
  }
}
