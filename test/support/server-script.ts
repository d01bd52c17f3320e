import type { TestContext } from "node:test";
import { type Channel, type Client, type ClientOptions, connect } from "bowline/client";
import { createChannelPair, type RecordedMessage, WireRecorder } from "bowline/testing";
import type { RecordedClient, World } from "./each-wire.js";
import type { Wire } from "./verifies.js";

export const MODERN = "2026-07-28";
export const LEGACY = "2025-11-25";
export const LEGACY_VERSIONS = ["2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"] as const;

type Body = { readonly [key: string]: unknown };

type Answer =
  | { readonly result: object }
  | { readonly error: { readonly code: number; readonly message?: string; readonly data?: unknown } };

/** Server on a channel, written by the test. Requests without a reply set by `on` wait for the test. */
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

/** Response of a `RawServer`: a result, or an error made by `rawError`. */
export type RawAnswer = Body | RawError;
export type RawHandler = (params: Body, id: string | number) => RawAnswer | Promise<RawAnswer>;

class RawError {
  constructor(
    readonly code: number,
    readonly message: string,
    readonly data?: unknown,
  ) {}
}

export function rawError(code: number, message: string, data?: unknown): RawError {
  return new RawError(code, message, data);
}

export interface RawServerOptions {
  readonly era: "modern" | "legacy";
  /** For the handshake of the older era. */
  readonly version?: string;
  readonly capabilities?: object;
  readonly name?: string;
  /** Changes a frame before it is sent. */
  readonly rewrite?: (frame: string) => string;
  readonly handlers: { readonly [method: string]: RawHandler };
}

/** Server on a channel that responds by a table of methods. It validates nothing and adds nothing. */
export class RawServer {
  readonly #options: RawServerOptions;
  #send: (text: string) => void = () => {};

  constructor(options: RawServerOptions) {
    this.#options = options;
  }

  /** The client's end of a channel to this server. */
  async open(): Promise<Channel> {
    const [ours, theirs] = createChannelPair();
    this.#send = (text) => void theirs.send(text);
    await theirs.open({ onFrame: (text) => void this.#answer(text), onProblem: () => {}, onClose: () => {} });
    return ours;
  }

  async connect(t: TestContext, options: ClientOptions = {}): Promise<RecordedClient> {
    const wire = new WireRecorder();
    const client = await connect({ channel: wire.channel(await this.open()) }, { era: this.#options.era, ...options });
    t.after(() => client.close());
    return Object.assign(client, { wire });
  }

  notify(method: string, params?: Body): void {
    this.#send(JSON.stringify({ jsonrpc: "2.0", method, ...(params === undefined ? undefined : { params }) }));
  }

  async #answer(text: string): Promise<void> {
    const { id, method, params = {} } = JSON.parse(text) as { id?: string | number; method: string; params?: Body };
    if (id === undefined) return;
    const handler = this.#options.handlers[method] ?? this.#greeting(method);
    const answer = handler === undefined ? rawError(-32601, "Method not found") : await handler(params, id);
    const member = answer instanceof RawError ? { error: { ...answer } } : { result: answer };
    const frame = JSON.stringify({ jsonrpc: "2.0", id, ...member });
    this.#send(this.#options.rewrite?.(frame) ?? frame);
  }

  #greeting(method: string): RawHandler | undefined {
    const { era, version = "2025-11-25", capabilities = { tools: {}, prompts: {}, resources: {} } } = this.#options;
    const serverInfo = { name: this.#options.name ?? "raw", version: "1" };
    if (era === "modern" && method === "server/discover") {
      const _meta = { "io.modelcontextprotocol/serverInfo": serverInfo };
      return () => ({ resultType: "complete", supportedVersions: ["2026-07-28"], capabilities, _meta });
    }
    if (era === "legacy" && method === "initialize")
      return () => ({ protocolVersion: version, capabilities, serverInfo });
    return undefined;
  }
}

/** Outcome of a question: the client's answer, or its refusal (a code on the wire, or the failure of the call). */
export interface Reply {
  readonly answer?: Body;
  readonly code?: number;
  readonly message?: string;
  readonly failure?: unknown;
}

/** Server on a channel, written by the test, that asks a real client questions in the way of either era. */
export class AskingServer {
  readonly received: RecordedMessage[] = [];
  /** Result of each method. A function is called with the params. */
  readonly results = new Map<string, Body | ((params: Body) => Body)>();
  capabilities: Body = { tools: {}, prompts: {}, resources: {}, completions: {}, logging: {} };
  version: string;
  readonly #t: TestContext;
  readonly #ours: Channel;
  readonly #theirs: Channel;
  readonly #replies = new Map<unknown, (reply: Reply) => void>();
  #question: Body | undefined;
  #answered: ((reply: Reply) => void) | undefined;
  #client: Client | undefined;
  #nextId = 1;

  constructor(
    readonly era: World["era"],
    t: TestContext,
  ) {
    this.#t = t;
    this.version = era === "modern" ? "2026-07-28" : "2025-11-25";
    [this.#ours, this.#theirs] = createChannelPair();
  }

  async connect(options: ClientOptions = {}): Promise<Client> {
    await this.#ours.open({ onFrame: (text) => this.#take(JSON.parse(text)), onProblem: () => {}, onClose: () => {} });
    this.#client = await connect({ channel: this.#theirs }, { era: this.era, ...options });
    this.#t.after(() => this.#client?.close());
    return this.#client;
  }

  /** Asks the client a question. */
  async ask(method: string, params?: Body): Promise<Reply> {
    const question = params === undefined ? { method } : { method, params };
    if (this.era === "legacy") {
      const id = `ask-${this.#nextId++}`;
      const reply = new Promise<Reply>((resolve) => this.#replies.set(id, resolve));
      this.send({ id, ...question });
      return reply;
    }
    this.#question = question;
    const answered = new Promise<Reply>((resolve) => {
      this.#answered = resolve;
    });
    const call = (this.#client as Client).request("tools/call", { name: "ask" });
    const failed = call.then(
      () => answered,
      (failure: Error): Reply => ({ failure, message: failure.message }),
    );
    return Promise.race([failed, answered]);
  }

  requests(method: string): RecordedMessage[] {
    return this.received.filter((message) => message.method === method);
  }

  notify(method: string, params?: Body): void {
    this.send({ method, ...(params === undefined ? undefined : { params }) });
  }

  send(message: Body): void {
    void this.#ours.send(JSON.stringify({ jsonrpc: "2.0", ...message }));
  }

  #take(message: RecordedMessage): void {
    this.received.push(message);
    if (message.method === undefined) {
      const { code, message: text } = message.error ?? {};
      const reply = message.result === undefined ? { code, message: text } : { answer: message.result };
      this.#replies.get(message.id)?.(reply as Reply);
    } else if (message.id !== undefined) {
      this.#serve(message);
    }
  }

  #serve({ id, method, params = {} }: RecordedMessage): void {
    const given = this.results.get(method as string);
    const result = given === undefined ? this.#usual(method as string, params) : given;
    const body = typeof result === "function" ? result(params) : result;
    if ("error" in body) this.send({ id, error: body.error });
    else this.send({ id, result: this.era === "modern" ? { resultType: "complete", ...body } : body });
  }

  #usual(method: string, params: Body): Body {
    if (method === "server/discover") {
      return { supportedVersions: [this.version], capabilities: this.capabilities, ttlMs: 0, cacheScope: "private" };
    }
    if (method === "initialize") {
      return {
        protocolVersion: this.version,
        capabilities: this.capabilities,
        serverInfo: { name: "raw", version: "1" },
      };
    }
    if (method !== "tools/call" || params.name !== "ask") return {};
    if (params.inputResponses === undefined) {
      return { resultType: "input_required", inputRequests: { q: this.#question }, requestState: "s" };
    }
    this.#answered?.({ answer: (params.inputResponses as Body).q as Body });
    return { content: [] };
  }
}

/** The server in both eras. */
export const askingServers: readonly Wire<AskingServer>[] = (["modern", "legacy"] as const).map((era) => ({
  name: `${era}-memory`,
  open: (t: TestContext) => new AskingServer(era, t),
}));
export const modernAsking = askingServers.slice(0, 1);
export const legacyAsking = askingServers.slice(1);
