import type { ClientOptions } from "../client/options.js";
import { type Fetch, type FetchInit, globalFetch } from "../http/client/send.js";
import type { StdioClientChannel } from "../node/stdio/client.js";
import { isObject } from "../protocol/json.js";
import type { Channel } from "../protocol/jsonrpc/channel.js";
import { type FrameDirection, messageOf, type NewEvent } from "../recording/events.js";
import { type Direction, type Fate, type FaultyChannel, withFaults } from "../testing/faults.js";
import { type FetchFate, withFetchFaults } from "../testing/fetch-faults.js";
import type { Beneath } from "./dial.js";
import { VerbError } from "./failure.js";
import { Gate } from "./gate.js";
import type { DirectionFaults, FaultPlan } from "./protocol.js";

/** Plan of a connection that passes everything. */
export const NO_FAULTS: FaultPlan = { on: false };

/** Requests whose responses are awaited, so that a fault can match them. Beyond it the oldest are forgotten. */
const MAX_AWAITED = 1_000;

/** What to do now. */
export type FaultAct = "cut" | "stall" | "flow";

/** Faults of one connection, which can be changed while it is open. Each that happens is told as an event. */
export class ConnectionFaults implements Beneath {
  readonly #tell: (event: NewEvent) => void;
  readonly #c: () => number | undefined;
  /** Called when the recording has opened the connection. */
  readonly onOpen: () => void;
  #plan = NO_FAULTS;
  #random = randomOf(0);
  /** Frames so far that a direction of the plan has met. */
  #met = { ">": 0, "<": 0 };
  #statuses = 0;
  #channel: FaultyChannel | undefined;
  #http: { readonly gate: Gate; readonly open: Set<AbortController>; readonly flow: () => void } | undefined;
  /** Ids of requests that the plan matches. */
  readonly #awaited = new Set<unknown>();

  constructor(tell: (event: NewEvent) => void, c: () => number | undefined, onOpen: () => void) {
    this.#tell = tell;
    this.#c = c;
    this.onOpen = onOpen;
  }

  get plan(): FaultPlan {
    return this.#plan;
  }

  /** Replaces the plan, and begins to count anew. */
  set(plan: FaultPlan): void {
    if (this.#http === undefined && plan.http !== undefined)
      throw new VerbError("invalid_verb", "faults: plan.http is for connections over HTTP");
    if (this.#http !== undefined && plan.toServer?.duplicate !== undefined)
      throw new VerbError("invalid_verb", "faults: plan.toServer.duplicate is for connections that are not over HTTP");
    this.#plan = plan;
    this.#random = randomOf(plan.seed ?? 0);
    this.#met = { ">": 0, "<": 0 };
    this.#statuses = plan.http === undefined ? 0 : (plan.http.count ?? 1);
    this.#awaited.clear();
    if (!plan.on) this.#flow(undefined);
  }

  act(act: FaultAct, direction: FrameDirection | undefined): void {
    if (this.#channel === undefined && this.#http === undefined)
      throw new VerbError("not_available", "faults: the connection is not open");
    if (act === "cut") this.#cut();
    else if (act === "flow") this.#flow(direction);
    else this.#stall(direction);
  }

  readonly process = (channel: StdioClientChannel): Channel =>
    Object.defineProperties(this.#wrap(channel), {
      stderr: { get: () => channel.stderr },
      stderrTail: { get: () => channel.stderrTail },
      pid: { get: () => channel.pid },
    });

  readonly local = (channel: Channel): Channel => this.#wrap(channel);

  readonly fetch = (inner: ClientOptions["fetch"]): Fetch => {
    const gate = new Gate();
    const open = new Set<AbortController>();
    const send: Fetch = async (url, init) => {
      await gate.pass(">", init.signal);
      const cut = new AbortController();
      open.add(cut);
      const signal = init.signal == null ? cut.signal : AbortSignal.any([init.signal, cut.signal]);
      const forget = () => void open.delete(cut);
      try {
        const base = (inner as Fetch | undefined) ?? (init as FetchInit).ownFetch ?? globalFetch;
        const response = await base(url, { ...init, signal });
        return withGate(response, (wait) => gate.pass("<", wait), signal, forget);
      } catch (error) {
        forget();
        throw error;
      }
    };
    const faulty = withFetchFaults(send as (url: URL, init: RequestInit) => Promise<Response>, {
      fate: ({ body }) => this.#fetchFate(body),
      onFault: (what) => this.#report(WORDS[what] ?? what, undefined),
    });
    this.#http = { gate, open, flow: () => faulty.flow() };
    return faulty as Fetch;
  };

  #wrap(inner: Channel): FaultyChannel {
    const fate = (d: FrameDirection) => (frame: string) => this.#fate(d, frame);
    const faulty = withFaults(inner, {
      send: { fate: fate(">") },
      receive: { fate: fate("<") },
      onFault: (what, direction) => this.#report(what, direction && (direction === "send" ? ">" : "<")),
    });
    this.#channel = faulty;
    const open = faulty.open.bind(faulty);
    faulty.open = (events) => {
      this.onOpen();
      return open(events);
    };
    return faulty;
  }

  #fate(d: FrameDirection, frame: string): Fate {
    const faults = this.#faultsFor(d, () => this.#matches(d, frame));
    if (faults === undefined) return "pass";
    const met = ++this.#met[d];
    const { delayMs, drop, duplicate, cutAfter } = faults;
    if (cutAfter !== undefined && met >= cutAfter) {
      queueMicrotask(() => this.#cut());
      return cutAfter === 0 ? "drop" : "pass";
    }
    if (this.#hits(drop)) return "drop";
    if (this.#hits(duplicate)) return "duplicate";
    return delayMs === undefined || delayMs === 0 ? "pass" : { delayMs };
  }

  #fetchFate(body: string | undefined): FetchFate {
    const { on, toServer = {}, toClient = {}, http } = this.#plan;
    if (!on || !this.#matches(">", body ?? "")) return "pass";
    if (http !== undefined && this.#statuses > 0) {
      this.#statuses--;
      const { status, retryAfterS } = http;
      return { status, ...(retryAfterS !== undefined && { headers: { "retry-after": String(retryAfterS) } }) };
    }
    const met = ++this.#met[">"];
    if (toServer.cutAfter !== undefined && met >= toServer.cutAfter) {
      queueMicrotask(() => this.#cut());
      if (toServer.cutAfter === 0) return "drop";
    }
    if (this.#hits(toServer.drop)) return "drop";
    if (this.#hits(toClient.drop) || toClient.cutAfter === 0) return "lose";
    const delayMs = (toServer.delayMs ?? 0) + (toClient.delayMs ?? 0);
    const fault = {
      ...(delayMs > 0 && { delayMs }),
      ...(this.#hits(toClient.duplicate) && { duplicateEvent: 0 }),
      ...(toClient.cutAfter !== undefined && { cutAfterEvents: toClient.cutAfter }),
    };
    return Object.keys(fault).length === 0 ? "pass" : fault;
  }

  #faultsFor(d: FrameDirection, matches: () => boolean): DirectionFaults | undefined {
    const { on, toServer, toClient } = this.#plan;
    if (!on) return undefined;
    // The ids of requests are remembered in any case, for the responses.
    const isMatch = matches();
    return isMatch ? (d === ">" ? toServer : toClient) : undefined;
  }

  /** True if a text has a message that the plan is about: by its method and name, or as the response to such a request. */
  #matches(d: FrameDirection, text: string): boolean {
    const { match } = this.#plan;
    if (match === undefined || (match.method === undefined && match.name === undefined)) return true;
    const parsed = messageOf({ raw: text });
    const messages: readonly unknown[] = Array.isArray(parsed) ? parsed : [parsed];
    return messages.some((message) => {
      if (!isObject(message)) return false;
      const { method, id, params } = message;
      if (method === undefined) return d === "<" && this.#awaited.delete(id);
      const { name, uri } = (isObject(params) ? params : {}) as { readonly name?: unknown; readonly uri?: unknown };
      const isMatch =
        (match.method === undefined || match.method === method) &&
        (match.name === undefined || match.name === name || match.name === uri);
      if (isMatch && d === ">" && id !== undefined) this.#await(id);
      return isMatch;
    });
  }

  #await(id: unknown): void {
    this.#awaited.add(id);
    if (this.#awaited.size > MAX_AWAITED) this.#awaited.delete(this.#awaited.values().next().value);
  }

  #hits(oneIn: number | undefined): boolean {
    return oneIn !== undefined && this.#random() * oneIn < 1;
  }

  #cut(): void {
    this.#channel?.cut();
    if (this.#http === undefined || this.#http.open.size === 0) return;
    this.#report("cut", undefined);
    for (const cut of [...this.#http.open]) cut.abort(new TypeError("terminated: the connection was cut"));
    this.#http.open.clear();
  }

  #stall(direction: FrameDirection | undefined): void {
    for (const d of directionsOf(direction)) {
      this.#channel?.stall(SIDES[d]);
      if (this.#http?.gate.close(d) === true) this.#report("stall", d);
    }
  }

  #flow(direction: FrameDirection | undefined): void {
    for (const d of directionsOf(direction)) {
      this.#channel?.flow(SIDES[d]);
      this.#http?.gate.open(d);
    }
    this.#http?.flow();
  }

  #report(what: string, d: FrameDirection | undefined): void {
    const c = this.#c();
    this.#tell({ k: "fault", ...(c !== undefined && { c }), what, ...(d !== undefined && { d }) });
  }
}

/** Words of a recording for the members of a fault of HTTP. */
const WORDS: { readonly [member: string]: string } = {
  delayMs: "delay",
  cutAfterEvents: "cut",
  duplicateEvent: "duplicate",
  headers: "retry-after",
};

/** Directions of a channel of the client. */
const SIDES: { readonly [d in FrameDirection]: Direction } = { ">": "send", "<": "receive" };

function directionsOf(direction: FrameDirection | undefined): readonly FrameDirection[] {
  return direction === undefined ? [">", "<"] : [direction];
}

/** Returns a response whose body waits where the gate is closed. */
function withGate(
  response: Response,
  pass: (signal: AbortSignal) => Promise<void>,
  signal: AbortSignal,
  onEnd: () => void,
): Response {
  const { body, status, statusText, headers } = response;
  if (body === null) {
    onEnd();
    return response;
  }
  const reader = body.getReader();
  const gated = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const { done, value } = await reader.read().catch((error: unknown) => {
          onEnd();
          throw error;
        });
        await pass(signal);
        if (value !== undefined) controller.enqueue(value);
        if (!done) return;
        onEnd();
        controller.close();
      },
      cancel(reason) {
        onEnd();
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
  return new Response(gated, { status, statusText, headers });
}

/** Returns a generator of numbers from 0 to 1 that depend on the seed alone (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed | 0;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
