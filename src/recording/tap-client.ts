import type { ClientCall, ClientInterceptor, ClientOptions } from "../client/options.js";
import { isObject } from "../protocol/json.js";
import type { NewEvent, RecordedFailure } from "./events.js";

/** What the options of a recorded client write to. */
interface ClientRecorder {
  readonly c: number;
  now(): number;
  add(event: NewEvent): void;
}

type Handler = (question: never, ctx: never) => unknown;

/** Returns the options with handlers and an interceptor that record questions, answers and outcomes. */
export function tapOptions(options: ClientOptions, recorder: () => ClientRecorder): ClientOptions {
  const asked = new Questions(recorder);
  const { onElicit, onElicitUrl, onSample, roots, methods } = options;
  return {
    ...options,
    interceptors: [outcomes(recorder), ...(options.interceptors ?? [])],
    onElicit: asked.tap("elicitation/create", onElicit),
    onElicitUrl: asked.tap("elicitation/create", onElicitUrl),
    onSample: asked.tap("sampling/createMessage", onSample),
    roots: typeof roots === "function" ? asked.tapRoots(roots) : roots,
    methods:
      methods &&
      Object.fromEntries(
        Object.entries(methods).map(([name, handler]) => [name, asked.tap(name, handler) as typeof handler]),
      ),
  };
}

/** Records the questions that handlers get, with their answers. */
class Questions {
  #last = 0;
  readonly #recorder: () => ClientRecorder;

  constructor(recorder: () => ClientRecorder) {
    this.#recorder = recorder;
  }

  tap<H extends Handler>(method: string, handler: H | undefined): H | undefined {
    if (handler === undefined) return undefined;
    const tapped = async (question: unknown, ctx: unknown) =>
      this.#ask(method, question, async () => await handler(question as never, ctx as never));
    return tapped as unknown as H;
  }

  tapRoots<H extends (ctx: never) => unknown>(roots: H): H {
    const tapped = (ctx: unknown) => this.#ask("roots/list", undefined, async () => await roots(ctx as never));
    return tapped as unknown as H;
  }

  async #ask<A>(method: string, params: unknown, answer: () => Promise<A>): Promise<A> {
    const recorder = this.#recorder();
    const { c } = recorder;
    const n = ++this.#last;
    recorder.add({ k: "ask", c, n, method, ...(params !== undefined && { params }) });
    try {
      const result = await answer();
      recorder.add({ k: "answer", c, n, result });
      return result;
    } catch (error) {
      recorder.add({ k: "answer", c, n, error: messageOfError(error) });
      throw error;
    }
  }
}

/** Interceptor that records how each call ended for its caller. */
function outcomes(recorder: () => ClientRecorder): ClientInterceptor {
  return async (call, next) => {
    const { c, now, add } = bound(recorder());
    const from = now();
    const name = nameOf(call);
    const about = { k: "outcome", c, method: call.method, ...(name !== undefined && { name }), from } as const;
    try {
      const result = await next(call);
      add(about);
      return result;
    } catch (error) {
      add({ ...about, error: failureOf(error) });
      throw error;
    }
  };
}

function bound(recorder: ClientRecorder) {
  return { c: recorder.c, now: () => recorder.now(), add: (event: NewEvent) => recorder.add(event) };
}

/** Returns the name or URI of what is called. */
function nameOf({ params }: ClientCall): string | undefined {
  const { name, uri, taskId } = (params ?? {}) as { readonly [key: string]: unknown };
  return [name, uri, taskId].find((each) => typeof each === "string") as string | undefined;
}

/** Returns what is recorded of the error of a call. */
function failureOf(error: unknown): RecordedFailure {
  const { code, rpcCode, delivery, retrySafe } = (isObject(error) ? error : {}) as { readonly [key: string]: unknown };
  return {
    code: typeof code === "string" ? code : error instanceof Error ? error.name : "unknown",
    message: messageOfError(error),
    ...(typeof rpcCode === "number" && { rpcCode }),
    ...(typeof delivery === "string" && { delivery }),
    ...(typeof retrySafe === "boolean" && { retrySafe }),
  };
}

function messageOfError(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
