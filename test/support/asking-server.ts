import type { TestContext } from "node:test";
import { type Client, type ClientOptions, connect } from "bowline/client";
import { createChannelPair, type RecordedMessage } from "bowline/testing";
import type { Channel } from "#src/protocol/jsonrpc/channel.js";
import type { World } from "./each-wire.js";
import type { Wire } from "./verifies.js";

type Body = { readonly [key: string]: unknown };

/** What became of a question: the client's answer, or how it refused (a code on the wire, or the failure of the call). */
export interface Reply {
  readonly answer?: Body;
  readonly code?: number;
  readonly message?: string;
  readonly failure?: unknown;
}

/** A server played by the test, with a real client. It can ask in the way of either era. */
export class AskingServer {
  readonly received: RecordedMessage[] = [];
  /** What is answered to each method; a function is called with the params. */
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

  /** Puts a question to the client. */
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

/** The same played server in both eras. */
export const askingServers: readonly Wire<AskingServer>[] = (["modern", "legacy"] as const).map((era) => ({
  name: `${era}-memory`,
  open: (t: TestContext) => new AskingServer(era, t),
}));
export const modernAsking = askingServers.slice(0, 1);
export const legacyAsking = askingServers.slice(1);
