import type { TestContext } from "node:test";
import type { Channel, Server } from "bowline/server";
import type { RecordedMessage } from "bowline/testing";
import type { World } from "./each-wire.js";

export type Message = { readonly [key: string]: unknown };

/** Client written by the test, on any wire. Sends any message. */
export interface RawClient {
  /** All that came from the server. */
  readonly heard: RecordedMessage[];
  /** Writes a message as it is, `jsonrpc` added. */
  send(message: Message, headers?: Record<string, string>): void;
  /** Writes a request and waits for its answer; an error that names no request counts, over HTTP. */
  ask(message: Message, headers?: Record<string, string>): Promise<RecordedMessage>;
  /** Gives up on a request in the way of the wire. */
  abandon(id: string | number): void;
  until(fits: (heard: readonly RecordedMessage[]) => boolean): Promise<void>;
  /** Resolves when a whole round trip has passed, so that anything sent before would have been heard. */
  settled(): Promise<void>;
  close(): Promise<void>;
}

const VERSION_KEY = "io.modelcontextprotocol/protocolVersion";
const CAPABILITIES_KEY = "io.modelcontextprotocol/clientCapabilities";

/** The envelope of a request, with changes; a member set to undefined is left out. */
export function envelope(more: Message = {}): Message {
  return { [VERSION_KEY]: "2026-07-28", [CAPABILITIES_KEY]: {}, ...more };
}

/** A request with its envelope. */
export function enveloped(id: string | number, method: string, params: Message = {}, meta: Message = {}): Message {
  return { id, method, params: { ...params, _meta: envelope(meta) } };
}

export function initialize(id: string | number, protocolVersion = "2025-11-25", more: Message = {}): Message {
  const params = { protocolVersion, capabilities: {}, clientInfo: { name: "raw", version: "1" }, ...more };
  return { id, method: "initialize", params };
}

export async function rawClient(world: World, server: Server, t: TestContext): Promise<RawClient> {
  const client =
    world.transport === "memory" || world.transport === "stdio"
      ? new RawChannelClient(await world.channel(server), world.era)
      : new RawHttpClient(await poster(world, server as unknown as Server, t), world.era);
  t.after(() => client.close());
  return client;
}

abstract class Heard {
  readonly heard: RecordedMessage[] = [];
  readonly #watchers = new Set<() => void>();
  #probes = 0;
  constructor(readonly era: World["era"]) {}

  abstract send(message: Message, headers?: Record<string, string>): void;

  async ask(message: Message, headers?: Record<string, string>): Promise<RecordedMessage> {
    const before = this.heard.length;
    const isAnswer = (heard: RecordedMessage) =>
      heard.method === undefined && (heard.id === message.id || heard.id === undefined || heard.id === null);
    this.send(message, headers);
    await this.until(() => this.heard.slice(before).some(isAnswer));
    return this.heard.slice(before).find(isAnswer) as RecordedMessage;
  }

  until(fits: (heard: readonly RecordedMessage[]) => boolean): Promise<void> {
    if (fits(this.heard)) return Promise.resolve();
    return new Promise((resolve) => {
      const look = () => {
        if (!fits(this.heard)) return;
        this.#watchers.delete(look);
        resolve();
      };
      this.#watchers.add(look);
    });
  }

  async settled(): Promise<void> {
    const id = `settle-${++this.#probes}`;
    await this.ask(this.era === "modern" ? enveloped(id, "server/discover") : { id, method: "ping" });
    await new Promise((resolve) => setImmediate(resolve));
    this.heard.splice(
      this.heard.findIndex((message) => message.id === id),
      1,
    );
  }

  protected take(text: string): void {
    this.heard.push(JSON.parse(text));
    for (const look of [...this.#watchers]) look();
  }
}

class RawChannelClient extends Heard implements RawClient {
  readonly #channel: Channel;
  constructor(channel: Channel, era: World["era"]) {
    super(era);
    this.#channel = channel;
    void channel.open({ onFrame: (text) => this.take(text), onProblem: () => {}, onClose: () => {} });
  }

  send(message: Message): void {
    void this.#channel.send(JSON.stringify({ jsonrpc: "2.0", ...message }));
  }

  abandon(id: string | number): void {
    this.send({ method: "notifications/cancelled", params: { requestId: id } });
  }

  close(): Promise<void> {
    return this.#channel.close();
  }
}

type Post = (init: RequestInit) => Promise<Response>;

async function poster(world: World, server: Server, t: TestContext): Promise<Post> {
  t.after(() => server.close());
  if (world.transport === "fetch") return (init) => server.fetch(new Request("http://localhost/mcp", init));
  const url = await world.listen(server);
  return (init) => fetch(url, init);
}

class RawHttpClient extends Heard implements RawClient {
  readonly #post: Post;
  readonly #open = new Map<unknown, AbortController>();
  #session: string | undefined;
  #version: string | undefined;

  constructor(post: Post, era: World["era"]) {
    super(era);
    this.#post = post;
  }

  send(message: Message, headers: Record<string, string> = {}): void {
    const abort = new AbortController();
    this.#open.set(message.id, abort);
    this.#exchange(message, headers, abort.signal)
      .catch(() => {})
      .finally(() => this.#open.delete(message.id));
  }

  abandon(id: string | number): void {
    this.#open.get(id)?.abort();
  }

  async close(): Promise<void> {
    for (const abort of this.#open.values()) abort.abort();
  }

  async #exchange(message: Message, headers: Record<string, string>, signal: AbortSignal): Promise<void> {
    const response = await this.#post({
      method: "POST",
      headers: {
        "content-type": "application/json",
        accept: "application/json, text/event-stream",
        ...this.#headersOf(message),
        ...headers,
      },
      body: JSON.stringify({ jsonrpc: "2.0", ...message }),
      signal,
    });
    this.#session = response.headers.get("mcp-session-id") ?? this.#session;
    if (response.headers.get("content-type")?.startsWith("text/event-stream") !== true) {
      const text = await response.text();
      if (text !== "") this.#hear(text);
      return;
    }
    let buffered = "";
    const decoder = new TextDecoder();
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      buffered += decoder.decode(chunk, { stream: true });
      const lines = buffered.split("\n");
      buffered = lines.pop() ?? "";
      for (const line of lines) if (line.startsWith("data: ") && line.length > 6) this.#hear(line.slice(6));
    }
  }

  #hear(text: string): void {
    const { result } = JSON.parse(text);
    if (typeof result?.protocolVersion === "string") this.#version = result.protocolVersion;
    this.take(text);
  }

  #headersOf(message: Message): Record<string, string> {
    const params = message.params as Message | undefined;
    const version = (params?._meta as Message | undefined)?.[VERSION_KEY];
    const name = params?.name ?? params?.uri;
    if (typeof version === "string") {
      return {
        "mcp-protocol-version": version,
        "mcp-method": String(message.method),
        ...(typeof name === "string" && String(message.method) !== "completion/complete" && { "mcp-name": name }),
      };
    }
    return {
      ...(this.#session !== undefined && { "mcp-session-id": this.#session }),
      ...(this.#version !== undefined && { "mcp-protocol-version": this.#version }),
    };
  }
}

export interface AskedClientOptions {
  readonly version?: string;
  readonly capabilities?: Message;
  /** Answers a question of the server: a result, or `{ error }` in the era where that can be said. */
  readonly answer?: (method: string, params: Message | undefined) => Message | Promise<Message> | undefined;
}

/** Client on a channel, written by the test, that answers questions in the way of its era. */
export class AskedClient {
  readonly received: RecordedMessage[] = [];
  readonly era: World["era"];
  readonly #options: AskedClientOptions;
  readonly #channel: Channel;
  readonly #waiting = new Map<unknown, (message: RecordedMessage) => void>();
  readonly #watchers = new Set<() => void>();
  #nextId = 1;

  private constructor(world: World, channel: Channel, options: AskedClientOptions) {
    this.era = world.era;
    this.#channel = channel;
    this.#options = options;
  }

  /** Opens a channel to the server; in the era of handshakes, shakes hands. */
  static async open(world: World, server: Server, options: AskedClientOptions = {}): Promise<AskedClient> {
    const client = new AskedClient(world, await world.channel(server), options);
    await client.#channel.open({
      onFrame: (text) => void client.#take(JSON.parse(text)),
      onProblem: () => {},
      onClose: () => {},
    });
    if (world.era === "legacy") {
      const { version = "2025-11-25", capabilities = {} } = options;
      const params = { protocolVersion: version, capabilities, clientInfo: { name: "raw", version: "1" } };
      await client.request("initialize", params);
      client.send({ method: "notifications/initialized" });
    }
    return client;
  }

  /** Sends a request and returns the whole response. */
  async request(method: string, params: Message = {}, meta: Message = {}): Promise<RecordedMessage> {
    const id = this.#nextId++;
    const answer = new Promise<RecordedMessage>((resolve) => this.#waiting.set(id, resolve));
    const _meta = this.era === "modern" ? { ...this.#envelope(), ...meta } : meta;
    this.send({ id, method, params: Object.keys(_meta).length === 0 ? params : { ...params, _meta } });
    return answer;
  }

  /** Sends a request and returns its result. Rejects for an error. */
  async result(method: string, params?: Message): Promise<Message> {
    const { result, error } = await this.request(method, params);
    if (result === undefined) throw new Error(`${method}: ${error?.message}`);
    return result;
  }

  /** Sends a request and answers questions until it has ended, at most `rounds` times. */
  async call(method: string, params: Message = {}, rounds = 8): Promise<RecordedMessage> {
    let sent = params;
    for (let round = 0; ; round++) {
      const response = await this.request(method, sent);
      const { resultType, inputRequests, requestState } = response.result ?? {};
      if (resultType !== "input_required" || round === rounds) return response;
      const inputResponses: Record<string, unknown> = {};
      for (const [key, asked] of Object.entries((inputRequests ?? {}) as Record<string, Message>)) {
        inputResponses[key] = await this.#options.answer?.(asked.method as string, asked.params as Message);
      }
      sent = { ...params, inputResponses, ...(requestState === undefined ? undefined : { requestState }) };
    }
  }

  /** Questions that the server asked, in either era. */
  get questions(): { readonly method: string; readonly params?: Message }[] {
    return this.received.flatMap(({ id, method, params, result }) => {
      if (method !== undefined) return id === undefined ? [] : [{ method, ...(params && { params }) }];
      return Object.values((result?.inputRequests ?? {}) as Record<string, { method: string; params?: Message }>);
    });
  }

  notifications(method: string): RecordedMessage[] {
    return this.received.filter((message) => message.method === method && message.id === undefined);
  }

  until(fits: () => boolean): Promise<void> {
    if (fits()) return Promise.resolve();
    return new Promise((resolve) => {
      const look = () => {
        if (!fits()) return;
        this.#watchers.delete(look);
        resolve();
      };
      this.#watchers.add(look);
    });
  }

  send(message: Message): void {
    void this.#channel.send(JSON.stringify({ jsonrpc: "2.0", ...message }));
  }

  close(): Promise<void> {
    return this.#channel.close();
  }

  #envelope(): Message {
    return {
      "io.modelcontextprotocol/protocolVersion": "2026-07-28",
      "io.modelcontextprotocol/clientCapabilities": this.#options.capabilities ?? {},
    };
  }

  async #take(message: RecordedMessage): Promise<void> {
    this.received.push(message);
    for (const look of [...this.#watchers]) look();
    if (message.method === undefined) return this.#waiting.get(message.id)?.(message);
    if (message.id === undefined) return;
    const answer = await this.#options.answer?.(message.method, message.params);
    if (answer === undefined) return;
    this.send("error" in answer ? { id: message.id, error: answer.error } : { id: message.id, result: answer });
  }
}
