import type { Clock } from "../call/clock.js";
import type { Client } from "../client/client.js";
import type { CallOptions, ClientOptions, Target } from "../client/options.js";
import type { Fetch } from "../http/client/send.js";
import { isObject } from "../protocol/json.js";
import type { Channel } from "../protocol/jsonrpc/channel.js";
import type { Params } from "../protocol/jsonrpc/message.js";
import type { Tool } from "../protocol/types/index.js";
import { tapChannel } from "../recording/tap-channel.js";
import { tapOptions } from "../recording/tap-client.js";
import type { HostsFacts, ProcessEnd, Scope, StartFailure } from "./facts.js";
import { isAnswer, type Log, type Message, messageIn } from "./log.js";
import type { Network } from "./network.js";

/** The server that is examined, and what the examination may use. The caller supplies everything that is not pure. */
export interface Subject {
  /** How the server is reached. */
  readonly wire: "stdio" | "http";
  readonly url?: URL | undefined;
  /** Headers of the user, such as a token. */
  readonly headers?: HeadersInit | undefined;
  /** Sends single requests to a URL. */
  readonly network?: Network | undefined;
  /** Connects a client. */
  readonly connect: (target: Target, options: ClientOptions) => Promise<Client>;
  /** Process behind the URL, if it was started for this. */
  readonly service?: Service | undefined;
  /** Starts the server, if it is not at a URL. */
  readonly start?: (() => StartedServer) | undefined;
  /** Program that looks up the package of the server at each start, such as npx. */
  readonly launcher?: string | undefined;
  /** Starts it once more after a failure, with the whole environment, and tells what is known about the failure. */
  readonly diagnose?: ((failure: Error) => Promise<StartFailure>) | undefined;
  readonly clock: Clock;
  readonly signal?: AbortSignal | undefined;
  /** Tool call that the user allowed. */
  readonly trial?: Trial | undefined;
  readonly hosts?: HostsFacts | undefined;
  readonly scope: Scope;
  /** True if probes may wait for minutes. */
  readonly slow: boolean;
}

/** A started server. */
export interface StartedServer {
  readonly channel: Channel;
  /** Bytes on stderr so far. */
  readonly stderrBytes: () => number;
  /** Ends the input, waits for the end of the process, and ends what is left of it. */
  readonly end: () => Promise<Omit<ProcessEnd, "asking"> | undefined>;
  /** Sends SIGTERM, and waits for the end of the process, which is forced in the end. */
  readonly terminate: () => Promise<{
    readonly code: number | null;
    readonly signal: string | null;
    readonly isForced: boolean;
  }>;
}

/** Process that serves HTTP. */
export interface Service {
  /** Sends SIGTERM, and waits for the end of the process, which is forced in the end. */
  readonly terminate: StartedServer["terminate"];
}

/** Tool call that the user allowed. Its arguments are read when the schemas of the tools are known. */
export interface Trial {
  readonly args: (tools: readonly Tool[]) => Promise<{ readonly tool: Tool; readonly args: Record<string, unknown> }>;
}

/** Answer to a request, as the server sent it. */
export interface Reply {
  readonly result?: Message | undefined;
  readonly error?: { readonly code?: unknown; readonly message?: unknown; readonly data?: unknown } | undefined;
  /** Error of the client, if there was no answer, or one that it refused. */
  readonly failure?: Error | undefined;
  /** HTTP status of the answer. */
  readonly status?: number | undefined;
  /** Line of the request. */
  readonly asked: number | undefined;
  /** Line of the answer, or of the last event. */
  readonly line: number | undefined;
  readonly ms: number;
}

/** Change of what is sent: of the text of a message and, over HTTP, of the headers. */
export type Tamper = (text: string, headers: Headers | undefined) => string;

/** Options of {@link Session.open}. */
export interface LinkOptions extends ClientOptions {
  readonly versions: NonNullable<ClientOptions["versions"]>;
}

/** Time for the start of a process, which may install a package first. */
export const START_MS = 120_000;
/** Time for an answer. It is long, since the limit of a whole run is another. */
const ANSWER_MS = 10_000;

/** An examination: opens connections, each of which is recorded. */
export class Session {
  readonly #links = new Set<Link>();

  constructor(
    readonly subject: Subject,
    readonly log: Log,
  ) {}

  /** Opens a connection. The returned link exists even if connecting fails: its `failure` tells why. */
  async open({ versions, ...more }: LinkOptions): Promise<Link> {
    const { subject, log } = this;
    const link = new Link(this, subject.start?.());
    this.#links.add(link);
    const options: ClientOptions = {
      timeoutMs: ANSWER_MS,
      warnDeprecated: false,
      cache: false,
      logger: {},
      clock: subject.clock,
      signal: subject.signal,
      headers: subject.headers,
      ...more,
      versions,
    };
    const tapped = tapOptions(options, () => ({
      c: link.c,
      now: () => 0,
      add: (event) => log.raw.add(event),
    }));
    await link.connect(tapped);
    return link;
  }

  /** Returns a `fetch` whose exchanges are a connection of their own in the recording, with its number. */
  fetch(inner?: Fetch): { readonly c: number; readonly fetch: Fetch } {
    const { raw } = this.log;
    const connection = raw.connection({
      wire: "http",
      role: "client",
      ...(this.subject.url && { server: { url: this.subject.url.href } }),
    });
    return { c: connection.c, fetch: raw.fetch(inner, connection) as Fetch };
  }

  /** Closes all links. */
  async close(): Promise<void> {
    await Promise.all([...this.#links].map((link) => link.close()));
  }
}

/** Connection to the server, by a client whose traffic is recorded. */
export class Link {
  client: Client | undefined;
  /** Why there is no client. */
  failure: Error | undefined;
  /** Number of the connection in the recording. */
  c = 0;
  readonly server: StartedServer | undefined;
  readonly #session: Session;
  readonly #from: number;
  #tamper: Tamper | undefined;
  #end: Promise<Omit<ProcessEnd, "asking"> | undefined> | undefined;
  /** True if the channel has ended by itself. */
  hasEnded = false;
  #stderrBytes: number | undefined;

  constructor(session: Session, server: StartedServer | undefined) {
    this.#session = session;
    this.server = server;
    this.#from = session.log.mark;
  }

  /** Bytes on stderr before the first message. The recording has them later than the process that wrote them. */
  get stderrBytes(): number {
    return this.#stderrBytes ?? this.server?.stderrBytes() ?? 0;
  }

  /** Events of the connection so far. */
  get events() {
    return this.#session.log.since(this.#from, this.c);
  }

  async connect(options: ClientOptions): Promise<void> {
    const { subject } = this.#session;
    try {
      this.client = await subject.connect(...this.#target(options));
    } catch (error) {
      subject.signal?.throwIfAborted();
      this.failure = error as Error;
    }
  }

  /**
   * Sends a request, and returns what came back. `tamper` changes what is sent. Requests of a link are sent one after the
   * other.
   */
  async ask(
    method: string,
    params?: Readonly<Record<string, unknown>>,
    { tamper, ...options }: CallOptions & { readonly tamper?: Tamper } = {},
  ): Promise<Reply> {
    const { log, subject } = this.#session;
    const mark = log.mark;
    const began = subject.clock.now();
    let failure: Error | undefined;
    this.#tamper = tamper;
    try {
      await this.client?.request(method, params as Params | undefined, { ...options, input: "manual" });
    } catch (error) {
      subject.signal?.throwIfAborted();
      failure = error as Error;
    } finally {
      this.#tamper = undefined;
    }
    const ms = subject.clock.now() - began;
    const events = log.since(mark, this.c);
    const found = events.findLast((one) => {
      const message = messageIn(one, "<");
      return message !== undefined && isAnswer(message);
    });
    const message = found && messageIn(found, "<");
    const { event: response } = events.findLast(({ event }) => event.k === "response") ?? {};
    return {
      ...(isObject(message?.result) && { result: message.result }),
      ...(isObject(message?.error) && { error: message.error }),
      ...(failure && { failure }),
      ...(response?.k === "response" && { status: response.status }),
      asked: events.find((one) => messageIn(one, ">")?.method === method)?.line,
      line: (found ?? events.at(-1))?.line,
      ms,
    };
  }

  /** Ends the input of the server's process and waits for its end. Undefined without a process. */
  end(): Promise<Omit<ProcessEnd, "asking"> | undefined> {
    this.#end ??= this.server?.end() ?? Promise.resolve(undefined);
    return this.#end;
  }

  async close(): Promise<void> {
    await this.end();
    await this.client?.close();
  }

  #target(options: ClientOptions): [target: Target, options: ClientOptions] {
    const { subject, log } = this.#session;
    const { raw } = log;
    if (subject.url !== undefined) {
      const connection = raw.connection({ wire: "http", role: "client", server: { url: subject.url.href } });
      this.c = connection.c;
      return [subject.url, { ...options, fetch: this.#tampered(raw.fetch(undefined, connection) as Fetch) }];
    }
    const tapped = tapChannel(this.server!.channel, ">", () => {
      const connection = raw.connection({ wire: subject.wire, role: "client" });
      this.c = connection.c;
      return connection;
    });
    const channel: Channel = {
      open: (events) =>
        tapped.open({
          ...events,
          onFrame: (text) => {
            if (text.startsWith("{")) this.#stderrBytes ??= this.server?.stderrBytes();
            events.onFrame(text);
          },
          onClose: (reason) => {
            this.hasEnded = true;
            events.onClose(reason);
          },
        }),
      send: (text) => tapped.send(this.#tamper?.(text, undefined) ?? text),
      close: () => tapped.close(),
    };
    return [{ channel }, options];
  }

  #tampered(inner: Fetch): Fetch {
    return (url, init) => {
      if (this.#tamper === undefined || typeof init.body !== "string") return inner(url, init);
      const headers = new Headers(init.headers ?? {});
      const body = this.#tamper(init.body, headers);
      return inner(url, { ...init, headers: Object.fromEntries(headers), body });
    };
  }
}
