import type { Channel } from "bowline/client";
import { createChannelPair, type RecordedMessage } from "bowline/testing";

type Answer =
  | { readonly result: object }
  | { readonly error: { readonly code: number; readonly message?: string; readonly data?: unknown } };

/** The server's end of a channel, played by the test. What no reply is set for waits for the test. */
export class ServerScript {
  /** The client's end, for `connect({ channel })`. */
  readonly channel: Channel;
  readonly received: RecordedMessage[] = [];
  /** Resolves when the client has gone. */
  readonly closed: Promise<void>;
  readonly #ours: Channel;
  readonly #replies = new Map<string, (request: RecordedMessage) => Answer | undefined>();
  readonly #waiting: { readonly method: string | undefined; readonly found: (message: RecordedMessage) => void }[] = [];
  #unseen: RecordedMessage[] = [];

  constructor([ours, theirs]: [Channel, Channel] = createChannelPair()) {
    this.#ours = ours;
    this.channel = theirs;
    this.closed = new Promise((resolve) => {
      void ours.open({ onFrame: (text) => this.#take(text), onProblem: () => {}, onClose: () => resolve() });
    });
  }

  /** Answers every request of a method; with undefined it stays unanswered. */
  on(method: string, reply: Answer | ((request: RecordedMessage) => Answer | undefined)): this {
    this.#replies.set(method, typeof reply === "function" ? reply : () => reply);
    return this;
  }

  /** Plays a server of the era without handshakes. */
  modern(capabilities: object = { tools: {} }, more: object = {}): this {
    const result = {
      resultType: "complete",
      supportedVersions: [MODERN],
      capabilities,
      ttlMs: 0,
      cacheScope: "private",
    };
    return this.on("server/discover", { result: { ...result, ...more } });
  }

  /** Plays a server of the era of handshakes. */
  legacy(version?: string, capabilities: object = { tools: {} }): this {
    return this.on("server/discover", { error: { code: -32601 } }).on("initialize", ({ params }) => ({
      result: {
        protocolVersion: version ?? params?.protocolVersion,
        capabilities,
        serverInfo: { name: "script", version: "1" },
      },
    }));
  }

  /** The next message of a method that no `next` has seen yet; without a method, the next answer. */
  next(method: string | undefined): Promise<RecordedMessage> {
    const at = this.#unseen.findIndex((message) => message.method === method);
    if (at >= 0) return Promise.resolve(this.#unseen.splice(at, 1)[0] as RecordedMessage);
    return new Promise((found) => this.#waiting.push({ method, found }));
  }

  all(method: string): RecordedMessage[] {
    return this.received.filter((message) => message.method === method);
  }

  get methods(): (string | undefined)[] {
    return this.received.map(({ method }) => method);
  }

  result(request: RecordedMessage, result: object): void {
    this.send({ id: request.id, result });
  }

  error(request: RecordedMessage, code: number, message = "no", data?: unknown): void {
    this.send({ id: request.id, error: { code, message, ...(data === undefined ? undefined : { data }) } });
  }

  notify(method: string, params?: object): void {
    this.send({ method, params });
  }

  send(message: object): void {
    this.raw(JSON.stringify({ jsonrpc: "2.0", ...message }));
  }

  raw(text: string): void {
    void this.#ours.send(text);
  }

  close(): Promise<void> {
    return this.#ours.close();
  }

  #take(text: string): void {
    const message = JSON.parse(text) as RecordedMessage;
    this.received.push(message);
    const reply = message.id === undefined ? undefined : this.#replies.get(message.method ?? "")?.(message);
    if (reply !== undefined && "result" in reply) this.result(message, reply.result);
    else if (reply !== undefined) this.error(message, reply.error.code, reply.error.message, reply.error.data);
    const at = this.#waiting.findIndex(({ method }) => method === message.method);
    if (at < 0) this.#unseen.push(message);
    else this.#waiting.splice(at, 1)[0]?.found(message);
  }
}

export const MODERN = "2026-07-28";
export const LEGACY = "2025-11-25";
export const LEGACY_VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const;
