import { SseReader } from "../../http/sse/reader.js";
import type { Channel } from "../../protocol/jsonrpc/channel.js";
import { createChannelPair } from "../../protocol/jsonrpc/memory-channel.js";
import type { RecordedHttp } from "../../recording/conversation.js";
import { RECORDING_LIMITS } from "../../recording/limits.js";
import type { AnyMessage } from "../../recording/messages.js";
import type { IssuedValues } from "./issued.js";
import { messagesIn } from "./texts.js";

/** Receives what the live server sends. */
export interface Receiver {
  message(message: AnyMessage): void;
  /** The server sends nothing more for the requests of an exchange, or, without one, for any. */
  ended(exchange: RecordedHttp | undefined): void;
}

/** Way to a live server. */
export interface Link {
  send(message: AnyMessage): Promise<void>;
  close(): Promise<void>;
}

export type LocalServer = { accept(channel: Channel): Promise<{ close(): Promise<void> }> };
export type LiveFetch = (url: URL, init: RequestInit) => Promise<Response>;

/** Opens a channel to the live server. */
export async function openChannelLink(
  target: LocalServer | { readonly channel: Channel },
  receiver: Receiver,
): Promise<Link> {
  const channel = await channelTo(target);
  await channel.open({
    onFrame: (text) => {
      for (const message of messagesIn(text)) receiver.message(message);
    },
    onProblem: () => {},
    onClose: () => receiver.ended(undefined),
  });
  return { send: async (message) => await channel.send(JSON.stringify(message)), close: () => channel.close() };
}

async function channelTo(target: LocalServer | { readonly channel: Channel }): Promise<Channel> {
  if ("channel" in target) return target.channel;
  const [ours, theirs] = createChannelPair();
  await target.accept(theirs);
  return ours;
}

/** Headers that the live connection sets itself. */
const OWN_HEADERS: ReadonlySet<string> = new Set(["accept-encoding", "connection", "content-length", "host", "origin"]);

/** Sends recorded exchanges to a live server. */
export class HttpLink {
  readonly #url: URL;
  readonly #fetch: LiveFetch;
  readonly #headers: { readonly [name: string]: string };
  readonly #issued: IssuedValues;
  readonly #receiver: Receiver;
  readonly #running = new Map<RecordedHttp, AbortController>();

  constructor(
    url: URL,
    fetch: LiveFetch,
    headers: { readonly [name: string]: string },
    issued: IssuedValues,
    receiver: Receiver,
  ) {
    this.#url = url;
    this.#fetch = fetch;
    this.#headers = headers;
    this.#issued = issued;
    this.#receiver = receiver;
  }

  /** Sends the request of an exchange. Resolves with the response's head; its messages go to the receiver. */
  async send(exchange: RecordedHttp, body: string | undefined): Promise<void> {
    const aborter = new AbortController();
    this.#running.set(exchange, aborter);
    const { method } = exchange;
    const init = {
      method,
      headers: this.#headersOf(exchange),
      signal: aborter.signal,
      ...(body !== undefined && { body }),
    };
    try {
      const response = await this.#fetch(this.#url, init);
      const session = exchange.response?.headers["mcp-session-id"];
      this.#issued.learn(session, response.headers.get("mcp-session-id"));
      void this.#read(exchange, response);
    } catch {
      this.#end(exchange);
    }
  }

  /** Ends an exchange before its response is complete. */
  abort(exchange: RecordedHttp): void {
    this.#running.get(exchange)?.abort();
  }

  close(): void {
    for (const aborter of this.#running.values()) aborter.abort();
  }

  async #read(exchange: RecordedHttp, response: Response): Promise<void> {
    const take = (text: string) => {
      for (const message of messagesIn(text)) this.#receiver.message(message);
    };
    try {
      if (response.headers.get("content-type")?.startsWith("text/event-stream") !== true) take(await response.text());
      else await this.#readEvents(exchange, response, take);
    } catch {
      // The stream was cut, or ended by `abort`.
    }
    this.#end(exchange);
  }

  async #readEvents(exchange: RecordedHttp, { body }: Response, take: (text: string) => void): Promise<void> {
    const ids = exchange.steps.flatMap(({ eventId }) => eventId ?? []);
    const sse = new SseReader(
      ({ data, id }) => {
        if (id !== undefined && data !== "") this.#issued.learn(ids.shift(), id);
        take(data);
      },
      { maxEventSize: RECORDING_LIMITS.maxLineBytes },
    );
    const reader = (body as ReadableStream<Uint8Array>).getReader();
    for (let next = await reader.read(); !next.done; next = await reader.read()) sse.push(next.value);
  }

  #end(exchange: RecordedHttp): void {
    this.#running.delete(exchange);
    this.#receiver.ended(exchange);
  }

  /** Returns the headers of a request. Replaced values that the live server has not given are left out. */
  #headersOf({ headers }: RecordedHttp): { readonly [name: string]: string } {
    const own = Object.entries(headers)
      .filter(([name]) => !OWN_HEADERS.has(name))
      .map(([name, value]) => [name, this.#issued.text(value)] as const)
      .filter(([, value]) => !/^<[a-z]+:/.test(value));
    return { ...Object.fromEntries(own), ...this.#headers };
  }
}
