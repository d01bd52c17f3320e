import { type Clock, systemClock } from "../call/clock.js";
import { assertOptions, type Known } from "../protocol/known-options.js";

/** Request that a `fetch` with faults is about to send. */
export interface FaultyRequest {
  readonly method: string;
  readonly url: URL;
  readonly headers: Headers;
  /** Body, if it is a text. */
  readonly body: string | undefined;
}

/** What happens to a request and its response. Members may be combined. An event is one of an event stream. */
export interface FetchFault {
  /** Time before the request is sent. */
  readonly delayMs?: number | undefined;
  /** Status of a response that is given without sending the request. */
  readonly status?: number | undefined;
  /** Headers of that response. */
  readonly headers?: { readonly [name: string]: string } | undefined;
  /** Body of that response. */
  readonly body?: string | undefined;
  /** Number of bytes of the body after which the connection is cut. */
  readonly cutAfterBytes?: number | undefined;
  /** Number of events after which the connection is cut. */
  readonly cutAfterEvents?: number | undefined;
  /** Number of events after which nothing arrives until `flow`. */
  readonly stallAfterEvents?: number | undefined;
  /** Index of an event that arrives twice. */
  readonly duplicateEvent?: number | undefined;
}

/**
 * Treatment of a request. `drop` sends nothing and fails. `lose` sends the request and fails in place of the response.
 * `stall` sends the request, and its response waits until `flow`.
 */
export type FetchFate = "pass" | "drop" | "lose" | "stall" | FetchFault;

/** Options of {@link withFetchFaults}. */
export interface FetchFaultOptions {
  /** Chooses the treatment of each request by the request and its index. Without it every request passes. */
  readonly fate?: ((request: FaultyRequest, index: number) => FetchFate) | undefined;
  /** Called with each fault, for `recording.add({ k: "fault", what })`. */
  readonly onFault?: ((what: string, request: FaultyRequest) => void) | undefined;
  /** Clock for `delayMs`. */
  readonly clock?: Clock | undefined;
}

const OPTIONS: Known<FetchFaultOptions> = { fate: "function", onFault: "function", clock: "object" };

const FAULT: Known<FetchFault> = {
  delayMs: "ms",
  status: "positive",
  headers: "object",
  body: "string",
  cutAfterBytes: "count",
  cutAfterEvents: "count",
  stallAfterEvents: "count",
  duplicateEvent: "count",
};

/** `fetch` with faults. */
export interface FaultyFetch {
  (url: URL, init: RequestInit): Promise<Response>;
  /** Releases all responses that are stalled. */
  flow(): void;
}

type Fetch = (url: URL, init: RequestInit) => Promise<Response>;

/**
 * Wraps the `fetch` of a client with faults of HTTP, to test how the client handles them.
 *
 * @example
 * ```ts
 * const fetch = withFetchFaults(globalThis.fetch, {
 *   fate: (_request, index) => (index === 2 ? { cutAfterEvents: 1 } : "pass"),
 * });
 * const client = await connect("http://127.0.0.1:3000/mcp", { fetch });
 * ```
 */
export function withFetchFaults(fetch: Fetch, options: FetchFaultOptions): FaultyFetch {
  assertOptions({ withFetchFaults }, options, OPTIONS);
  const { fate = () => "pass", onFault, clock = systemClock } = options;
  const gates = new Set<() => void>();
  const gate = (signal: AbortSignal | null | undefined) => untilReleased(gates, signal);
  let index = 0;
  const faulty = async (url: URL, init: RequestInit): Promise<Response> => {
    const { method = "GET", headers, body, signal } = init;
    const text = typeof body === "string" ? body : undefined;
    const request = { method, url, headers: new Headers(headers ?? {}), body: text };
    const chosen = fate(request, index++);
    if (chosen === "pass") return fetch(url, init);
    if (typeof chosen === "object") assertOptions("withFetchFaults: fate", chosen, FAULT);
    for (const what of typeof chosen === "string" ? [chosen] : Object.keys(chosen)) onFault?.(what, request);
    if (chosen === "drop") throw new TypeError("fetch failed: the request was dropped");
    const fault = typeof chosen === "string" ? {} : chosen;
    if (fault.delayMs !== undefined) await pause(clock, fault.delayMs, signal);
    if (fault.status !== undefined) {
      const { status, headers: own = {} } = fault;
      return new Response(fault.body ?? null, { status, headers: { ...own } });
    }
    const response = await fetch(url, init);
    if (chosen === "lose") {
      await response.body?.cancel();
      throw new TypeError("fetch failed: the response was lost");
    }
    if (chosen === "stall") await gate(signal);
    return withBody(response, fault, () => gate(signal));
  };
  const flow = () => {
    for (const release of [...gates]) release();
  };
  return Object.assign(faulty, { flow });
}

function withBody(response: Response, fault: FetchFault, wait: () => Promise<void>): Response {
  const { cutAfterBytes, cutAfterEvents, stallAfterEvents, duplicateEvent } = fault;
  const hasFault = [cutAfterBytes, cutAfterEvents, stallAfterEvents, duplicateEvent].some((each) => each !== undefined);
  if (response.body === null || !hasFault) return response;
  const body =
    cutAfterBytes === undefined ? faultyEvents(response.body, fault, wait) : cutBytes(response.body, cutAfterBytes);
  const { status, statusText, headers } = response;
  return new Response(streamOf(body), { status, statusText, headers });
}

const cut = () => new TypeError("terminated: the connection was cut");

async function* cutBytes(body: ReadableStream<Uint8Array>, most: number): AsyncGenerator<Uint8Array> {
  let left = most;
  for await (const chunk of chunksOf(body)) {
    if (left > 0) yield chunk.subarray(0, left);
    left -= chunk.length;
    if (left <= 0) throw cut();
  }
}

async function* faultyEvents(
  body: ReadableStream<Uint8Array>,
  { cutAfterEvents, stallAfterEvents, duplicateEvent }: FetchFault,
  wait: () => Promise<void>,
): AsyncGenerator<Uint8Array> {
  const encoder = new TextEncoder();
  let count = 0;
  for await (const event of eventsOf(body)) {
    if (count === cutAfterEvents) throw cut();
    if (count === stallAfterEvents) await wait();
    yield encoder.encode(event);
    if (count === duplicateEvent) yield encoder.encode(event);
    count++;
    if (count === cutAfterEvents) throw cut();
  }
}

/** Yields the events of a stream, each with its blank line, and the rest. */
async function* eventsOf(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder();
  let text = "";
  for await (const chunk of chunksOf(body)) {
    text += decoder.decode(chunk, { stream: true });
    for (;;) {
      const end = /\r\n\r\n|\n\n|\r\r(?!\n)/.exec(text);
      if (end === null) break;
      yield text.slice(0, end.index + end[0].length);
      text = text.slice(end.index + end[0].length);
    }
  }
  if (text !== "") yield text;
}

/** Yields the chunks of a body. Cancels the body if the reader stops. */
async function* chunksOf(body: ReadableStream<Uint8Array>): AsyncGenerator<Uint8Array> {
  const reader = body.getReader();
  try {
    for (let next = await reader.read(); !next.done; next = await reader.read()) yield next.value;
  } finally {
    reader.cancel().catch(() => {});
  }
}

function streamOf(chunks: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await chunks.next();
        if (done === true) controller.close();
        else controller.enqueue(value);
      },
      // A generator that waits can only be ended once it continues.
      cancel: () => void chunks.return(undefined).catch(() => {}),
    },
    { highWaterMark: 0 },
  );
}

function untilReleased(gates: Set<() => void>, signal: AbortSignal | null | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const release = () => {
      gates.delete(release);
      resolve();
    };
    gates.add(release);
    onAbort(signal, (reason) => {
      gates.delete(release);
      reject(reason);
    });
  });
}

function pause(clock: Clock, ms: number, signal: AbortSignal | null | undefined): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = clock.schedule(resolve, ms);
    onAbort(signal, (reason) => {
      clock.cancel(timer);
      reject(reason);
    });
  });
}

function onAbort(signal: AbortSignal | null | undefined, listener: (reason: unknown) => void): void {
  if (signal?.aborted === true) listener(signal.reason);
  else signal?.addEventListener("abort", () => listener(signal.reason), { once: true });
}
