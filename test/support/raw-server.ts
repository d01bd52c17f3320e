import type { TestContext } from "node:test";
import { type Channel, type ClientOptions, connect } from "bowline/client";
import { createChannelPair, WireRecorder } from "bowline/testing";
import type { RecordedClient } from "./each-wire.js";

type Params = { readonly [key: string]: unknown };

/** What a raw server answers with: a result, or an error by `rawError`. */
export type RawAnswer = Params | RawError;
export type RawHandler = (params: Params, id: string | number) => RawAnswer | Promise<RawAnswer>;

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
  /** The last word on what is written. */
  readonly rewrite?: (frame: string) => string;
  readonly handlers: { readonly [method: string]: RawHandler };
}

/** A server that is not the SDK's: it answers by table, checks nothing and adds nothing. */
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

  notify(method: string, params?: Params): void {
    this.#send(JSON.stringify({ jsonrpc: "2.0", method, ...(params === undefined ? undefined : { params }) }));
  }

  async #answer(text: string): Promise<void> {
    const { id, method, params = {} } = JSON.parse(text) as { id?: string | number; method: string; params?: Params };
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
