import { type Clock, systemClock } from "../call/clock.js";
import { assertClientOptions, type ClientOptions, type Target } from "../client/options.js";
import type { Fetch } from "../http/client/send.js";
import type { HttpExchange } from "../http/exchange.js";
import { createWebExchange } from "../http/web-exchange.js";
import { atCaller } from "../protocol/at-caller.js";
import { DefinitionError } from "../protocol/errors.js";
import type { Channel } from "../protocol/jsonrpc/channel.js";
import { assertOptions, type Known, type Optional, withDefaults } from "../protocol/known-options.js";
import {
  CONNECTION_INFO,
  type ConnectionInfo,
  ConnectionRecorder,
  type FrameHead,
  type Recorder,
} from "./connection.js";
import {
  type NewEvent,
  RECORDING_VERSION,
  type RecordedWire,
  type RecordingEvent,
  type RecordingHeader,
} from "./events.js";
import { frameContent, type KnownContent } from "./frame.js";
import { KeptEvents } from "./kept-events.js";
import { RECORDING_LIMITS, type RecordingLimits } from "./limits.js";
import { localChannel } from "./local-channel.js";
import { REDACTION_OPTIONS, type RedactionOptions, Redactor } from "./redactor.js";
import { tapAuthFetch } from "./tap-auth.js";
import { tapChannel } from "./tap-channel.js";
import { tapOptions } from "./tap-client.js";
import { tapExchange } from "./tap-exchange.js";
import { tapFetch } from "./tap-fetch.js";
import { lineOf, type RecordingSink, RecordingWriter, timed } from "./writer.js";

/** Options of a {@link Recording}. */
export interface RecordingOptions {
  /** Destination of the lines, such as `recordingFile(path)`. Without it they are kept in memory only. */
  readonly to?: RecordingSink | undefined;
  /**
   * What is replaced in addition to what is replaced by default. `false` replaces nothing: such a recording has tokens
   * and other secrets.
   */
  readonly redaction?: RedactionOptions | false | undefined;
  /**
   * Program that records, with its version.
   * @default "bowline"
   */
  readonly by?: string | undefined;
  /** Clock of the times. */
  readonly clock?: Clock | undefined;
  /** Limits on what is kept. */
  readonly limits?: Optional<RecordingLimits> | undefined;
}

const OPTIONS: Known<RecordingOptions> = {
  to: { write: [{ function: "any" }, "required"], close: "function" },
  redaction: [{ object: REDACTION_OPTIONS, boolean: [false] }],
  by: "string",
  clock: "object",
  limits: RECORDING_LIMITS,
};

/** Server that can be recorded: it serves channels, HTTP exchanges, or both. */
export interface RecordableServer {
  readonly accept?: ((channel: Channel) => Promise<{ close(): Promise<void> }>) | undefined;
  readonly handle?: ((exchange: HttpExchange) => void) | undefined;
}

/**
 * Recording of MCP traffic, which is redacted before it is kept or written. It records clients, servers and channels, in
 * any protocol version, and never makes them wait.
 *
 * @example
 * ```ts
 * const recording = new Recording();
 * const client = await connect(...recording.client("https://example.com/mcp"));
 * await client.callTool("forecast", { city: "Oslo" });
 * await client.close();
 * await recording.close();
 * console.log(recording.text());
 * ```
 */
export class Recording {
  readonly header: RecordingHeader;
  readonly #clock: Clock;
  readonly #start: number;
  readonly #limits: RecordingLimits;
  readonly #redactor: Redactor | undefined;
  readonly #writer: RecordingWriter | undefined;
  readonly #kept: KeptEvents;
  readonly #listeners = new Set<(event: RecordingEvent) => void>();
  readonly #recorder: Recorder;
  #connections = 0;
  #exchanges = 0;
  #closing: Promise<void> | undefined;

  constructor(options: RecordingOptions = {}) {
    assertOptions({ Recording }, options, OPTIONS);
    const { to, redaction = {}, by = "bowline", clock = systemClock } = options;
    this.#limits = withDefaults(options.limits, RECORDING_LIMITS);
    this.#clock = clock;
    this.#start = clock.now();
    this.#redactor = redaction === false ? undefined : new Redactor(redaction, this.#limits);
    const at = new Date(clock.timeOfDay?.() ?? Date.now()).toISOString();
    const note = this.#redactor?.note ?? { profile: "off" };
    this.header = { mcpRecording: RECORDING_VERSION, by, at, unit: "us", redaction: note };
    this.#writer = to && new RecordingWriter(this.header, to, this.#limits);
    this.#kept = new KeptEvents(this.#limits);
    this.#recorder = {
      maxLineBytes: this.#limits.maxLineBytes,
      now: () => this.#now(),
      add: (event) => this.add(event),
      content: (text) => frameContent(text, this.#redactor),
      addFrame: (head, content) => this.#addFrame(head, content),
      nextExchange: () => ++this.#exchanges,
    };
  }

  /** Events that are kept in memory, oldest first. */
  get events(): readonly RecordingEvent[] {
    return this.#kept.all;
  }

  /** Number of replaced values by kind. */
  get redacted(): { readonly [kind: string]: number } {
    return { ...this.#redactor?.counts };
  }

  /** Returns the lines that are kept in memory, with the header. */
  text(): string {
    const { dropped, all } = this.#kept;
    const gap: RecordingEvent = { t: all[0]?.t ?? 0, k: "gap", lines: dropped, reason: "older lines were dropped" };
    const lines = [...(dropped > 0 ? [gap] : []), ...all].map((event) => lineOf(event, this.#limits.maxLineBytes));
    return `${[JSON.stringify(this.header), ...lines].join("\n")}\n`;
  }

  /** Calls the listener with each further event. Returns a function that removes it. */
  subscribe(listener: (event: RecordingEvent) => void): () => void {
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Adds an event, redacted. Does nothing after `close`. */
  add(event: NewEvent): void {
    if (event.k === "frame") {
      const { m, raw, ...head } = event;
      this.#addFrame(head, frameContent(raw ?? JSON.stringify(m) ?? "", this.#redactor));
    } else if (this.#closing === undefined) this.#write(timed(this.#now(), this.#redactor?.event(event) ?? event));
  }

  /**
   * Replaces in a JSON value what the events of this recording have replaced.
   * @internal
   */
  redact<T>(value: T): T {
    return (this.#redactor === undefined ? value : this.#redactor.message(value)) as T;
  }

  /** Adds the text of a person. */
  note(text: string): void {
    this.add({ k: "note", text });
  }

  /** Begins a connection, for a tap of your own. */
  connection(info: ConnectionInfo): ConnectionRecorder {
    atCaller(this.connection, () => assertOptions("Recording.connection", info, CONNECTION_INFO));
    return new ConnectionRecorder(this.#recorder, ++this.#connections, info);
  }

  /**
   * Returns target and options for `connect(...recording.client(target, options))`. In addition to the traffic, the
   * recording gets the questions to the user with their answers, and the outcome of each call.
   */
  client(target: Target, options: ClientOptions = {}): [target: Target, options: ClientOptions] {
    atCaller(this.client, () => assertClientOptions("Recording.client", options));
    const isUrl = typeof target === "string" || target instanceof URL;
    let connection: ConnectionRecorder | undefined;
    const open = (wire: RecordedWire, url?: string) => {
      connection = this.connection({ wire, role: "client", ...(url !== undefined && { server: { url } }) });
      return connection;
    };
    const tapped = tapOptions(options, () => ({
      c: connection?.c ?? 0,
      now: () => this.#now(),
      add: (event) => this.add(event),
    }));
    if (isUrl) return [target, { ...tapped, fetch: this.fetch(options.fetch, open("http", String(target))) }];
    const channel = channelOf(target);
    return [{ channel: tapChannel(channel, ">", () => open(wireOf(target))) }, tapped];
  }

  /** Wraps a client's channel so that it is recorded. */
  channel(inner: Channel, wire: RecordedWire = wireOf({ channel: inner })): Channel {
    return tapChannel(inner, ">", () => this.connection({ wire, role: "client" }));
  }

  /** Wraps a client's `fetch` so that it is recorded. */
  fetch(
    inner?: ClientOptions["fetch"],
    connection: ConnectionRecorder = this.connection({ wire: "http", role: "client" }),
  ): (url: URL, init: RequestInit) => Promise<Response> {
    return tapFetch(inner as Fetch | undefined, connection, this.#limits.maxLineBytes);
  }

  /** Wraps the `fetch` of `oauth()`, so that each step of authorization is recorded, without its bodies. */
  authFetch(inner?: ClientOptions["fetch"]): (url: URL, init: RequestInit) => Promise<Response> {
    return tapAuthFetch(inner as Fetch | undefined, { now: () => this.#now(), add: (event) => this.add(event) });
  }

  /** Returns the server with all its channels and HTTP exchanges recorded, to pass to `connect`, `serveHttp` or `serveStdio`. */
  server<S extends RecordableServer>(server: S): S {
    let http: ConnectionRecorder | undefined;
    const handle = (exchange: HttpExchange) => {
      http ??= this.connection({ wire: "http", role: "server" });
      server.handle?.(tapExchange(exchange, http));
    };
    const taps: { readonly [name: string | symbol]: unknown } = {
      handle,
      accept: (channel: Channel, ...rest: unknown[]) => {
        const tapped = tapChannel(channel, "<", () => this.connection({ wire: wireOf({ channel }), role: "server" }));
        return (server.accept as (...given: unknown[]) => unknown).call(server, tapped, ...rest);
      },
      fetch: (request: Request) => {
        const { exchange, response } = createWebExchange(request);
        handle(exchange);
        return response;
      },
    };
    return new Proxy(server, {
      get: (inner, name) => {
        const value: unknown = Reflect.get(inner, name, inner);
        if (typeof value !== "function") return value;
        return Object.hasOwn(taps, name) ? taps[name] : value.bind(inner);
      },
    });
  }

  /** Writes the last line and closes the destination. Rejects if lines could not be written. */
  close(): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #close(): Promise<void> {
    const t = this.#now();
    const { lines, bytes } = this.#kept.written(JSON.stringify(this.header));
    const redacted = this.redacted;
    this.#kept.add({ t, k: "done", lines, bytes, ...(Object.keys(redacted).length > 0 && { redacted }) });
    await this.#writer?.close(t, redacted);
  }

  #addFrame(head: FrameHead, { json, ...content }: KnownContent): void {
    if (this.#closing !== undefined) return;
    const begin = timed(this.#now(), this.#redactor?.event(head) ?? head);
    // The text is written as it came, so that it is not serialized again.
    const line = json === undefined ? undefined : `${JSON.stringify(begin).slice(0, -1)},"m":${json}}`;
    this.#write({ ...begin, ...content } as RecordingEvent, line);
  }

  /** Keeps and writes an event. `line` is its text, if that is known. */
  #write(event: RecordingEvent, line?: string): void {
    this.#kept.add(event, line?.length);
    this.#writer?.write(event, line);
    for (const listener of this.#listeners) listener(event);
  }

  #now(): number {
    return Math.round((this.#clock.now() - this.#start) * 1000);
  }
}

/** Returns the channel to a target that is not a URL. */
function channelOf(target: Exclude<Target, string | URL>): Channel {
  if ("channel" in target) return target.channel;
  if ("command" in target)
    throw new DefinitionError(
      "Recording.client: a command is recorded as { channel: createStdioClientChannel({ command, stderr: 'pipe' }) }",
    );
  return localChannel(target);
}

/** Returns the kind of wire of a target, as far as the target tells it. A channel that wraps another one may name its wire. */
function wireOf(target: object): RecordedWire {
  if (!("channel" in target)) return "memory";
  const { wire } = target.channel as { readonly wire?: RecordedWire };
  return wire ?? ("stderrTail" in (target.channel as object) ? "stdio" : "custom");
}
