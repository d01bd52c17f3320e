// The modern era has no such file: HTTP+SSE is the transport of 2024-11-05.

import { AbortSwitch } from "../../../call/abort-switch.js";
import { pause } from "../../../call/abortable.js";
import type { CallLifetime } from "../../../call/lifetime.js";
import { fetchFailed } from "../../../http/client/failures.js";
import { discard, type Reply } from "../../../http/client/send.js";
import { isEventStream } from "../../../http/headers.js";
import { readSse, type SseEvent, SseReader } from "../../../http/sse/reader.js";
import { ConnectionError, notConnected, ProtocolError } from "../../../protocol/errors.js";
import type { Channel, ChannelEvents } from "../../../protocol/jsonrpc/channel.js";
import { quoted } from "../../../protocol/text.js";
import { ChannelTransport } from "../../channel-transport.js";
import { describe } from "../../http-call.js";
import { drop, HttpWire, wrongContentType } from "../../http-transport.js";
import type { ClientTransport, HttpTarget } from "../../transport.js";

const STREAM = "The server's stream";

/** Opens the HTTP+SSE transport of 2024-11-05. Rejects if the server does not support it at this URL. */
export async function openSseTransport(target: HttpTarget, lifetime: CallLifetime): Promise<ClientTransport> {
  const channel = new SseClientChannel(target, lifetime);
  const transport = new ChannelTransport(channel);
  const giveUp = () => void channel.close();
  lifetime.onAbort(giveUp);
  try {
    await transport.open();
    return transport;
  } catch (error) {
    throw lifetime.aborted ? lifetime.reason : error;
  } finally {
    lifetime.offAbort(giveUp);
  }
}

/**
 * Channel over HTTP+SSE: a stream of the server's messages, and POSTs to the URL in its first event. A lost stream ends
 * the channel and is not reopened.
 */
class SseClientChannel implements Channel {
  readonly #target: HttpTarget;
  /** Lifetime of connecting. */
  readonly #lifetime: CallLifetime;
  readonly #wire: HttpWire;
  readonly #stream = new AbortSwitch();
  #poster: HttpWire | undefined;
  #events: ChannelEvents | undefined;
  #closed = false;

  constructor(target: HttpTarget, lifetime: CallLifetime) {
    this.#target = target;
    this.#lifetime = lifetime;
    this.#wire = new HttpWire(target);
  }

  async open(events: ChannelEvents): Promise<void> {
    this.#events = events;
    const response = await this.#get();
    const base = response.url === "" ? this.#target.url : new URL(response.url);
    const named = new AbortController();
    let problem: Error | undefined;
    const reader = new SseReader(
      (event) => {
        if (event.event !== "endpoint" || this.#poster !== undefined) return this.#take(event);
        problem = this.#adopt(event.data, base);
        named.abort();
      },
      { maxEventSize: this.#target.limits.maxMessageBytes },
    );
    const read = this.#read(response, reader).finally(() => named.abort());
    const { sseEndpointMs } = this.#target.limits;
    await pause(this.#target.clock, sseEndpointMs, named.signal);
    if (this.#poster === undefined) {
      const isOver = named.signal.aborted;
      if (problem === undefined && isOver) problem = await read;
      await this.close();
      await read;
      const when = isOver ? "before its end" : `within ${sseEndpointMs} ms (limits.sseEndpointMs)`;
      throw problem ?? new ProtocolError(`${STREAM}: no endpoint event arrived ${when}`);
    }
    if (this.#closed) throw notConnected();
  }

  async send(text: string): Promise<void> {
    if (this.#closed || this.#poster === undefined) throw notConnected();
    await this.#poster.deliver("POST of a message", this.#wire.headers.post, text, new AbortSwitch());
  }

  async close(): Promise<void> {
    drop(this.#stream);
    this.#poster?.end();
    this.#end(undefined);
  }

  async #get(): Promise<Reply> {
    let response: Reply;
    try {
      response = await this.#wire.send("GET", this.#wire.headers.get, null, this.#stream, this.#lifetime);
    } catch (error) {
      throw fetchFailed(STREAM, error);
    }
    if (!response.ok) throw await this.#wire.refusedBy(response, STREAM, this.#stream);
    const type = response.headers.get("content-type");
    if (isEventStream(type)) return response;
    discard(response);
    throw wrongContentType(STREAM, type);
  }

  /** Adopts the URL for POSTs. Another origin is refused, since it would receive messages for this server. */
  #adopt(address: string, base: URL): Error | undefined {
    if (!URL.canParse(address, base)) {
      return new ProtocolError(`${STREAM}: the endpoint event must contain a valid URL, got ${quoted(address, 100)}`);
    }
    const url = new URL(address, base);
    const { origin } = this.#target.url;
    if (url.origin !== origin) {
      return new ProtocolError(`${STREAM}: the endpoint event must name a URL of ${origin}, got ${url.origin}`);
    }
    this.#poster = new HttpWire({ ...this.#target, url, server: this.#target.url });
    return undefined;
  }

  #take({ event, data }: SseEvent): void {
    if (event === "message" && data !== "") this.#events?.onFrame(data);
  }

  /** Reads the stream until its end, which ends the channel. Returns the error if the stream broke. Never rejects. */
  async #read(response: Reply, reader: SseReader): Promise<Error | undefined> {
    let broken: Error | undefined;
    try {
      if (response.body !== null) await readSse(response.body, reader, this.#stream);
    } catch (error) {
      broken = streamLost(describe(error));
    }
    this.#poster?.end();
    this.#end(broken ?? streamLost("the server ended it"));
    return broken;
  }

  #end(reason: Error | undefined): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#events?.onClose(reason);
  }
}

function streamLost(why: string): ConnectionError {
  return new ConnectionError(`${STREAM} was lost: ${why}`, { delivery: "sent" });
}
