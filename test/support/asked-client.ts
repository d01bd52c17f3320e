import type { Server, ToolTypes } from "bowline/server";
import type { RecordedMessage } from "bowline/testing";
import type { Channel } from "#src/protocol/jsonrpc/channel.js";
import type { World } from "./each-wire.js";

type Body = { readonly [key: string]: unknown };

export interface AskedClientOptions {
  readonly version?: string;
  readonly capabilities?: Body;
  /** Answers a question of the server: a result, or `{ error }` in the era where that can be said. */
  readonly answer?: (method: string, params: Body | undefined) => Body | Promise<Body> | undefined;
}

/** A client played by the test: writes frames by hand and answers questions in the way of its era. */
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
  static async open<Tools extends ToolTypes>(
    world: World,
    server: Server<Tools>,
    options: AskedClientOptions = {},
  ): Promise<AskedClient> {
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

  /** One request and its answer, as it came. */
  async request(method: string, params: Body = {}, meta: Body = {}): Promise<RecordedMessage> {
    const id = this.#nextId++;
    const answer = new Promise<RecordedMessage>((resolve) => this.#waiting.set(id, resolve));
    const _meta = this.era === "modern" ? { ...this.#envelope(), ...meta } : meta;
    this.send({ id, method, params: Object.keys(_meta).length === 0 ? params : { ...params, _meta } });
    return answer;
  }

  /** One request to its end: questions are answered on the way, at most `rounds` times. */
  async call(method: string, params: Body = {}, rounds = 8): Promise<RecordedMessage> {
    let sent = params;
    for (let round = 0; ; round++) {
      const response = await this.request(method, sent);
      const { resultType, inputRequests, requestState } = response.result ?? {};
      if (resultType !== "input_required" || round === rounds) return response;
      const inputResponses: Record<string, unknown> = {};
      for (const [key, asked] of Object.entries((inputRequests ?? {}) as Record<string, Body>)) {
        inputResponses[key] = await this.#options.answer?.(asked.method as string, asked.params as Body);
      }
      sent = { ...params, inputResponses, ...(requestState === undefined ? undefined : { requestState }) };
    }
  }

  /** Every question that came, whichever way. */
  get questions(): { readonly method: string; readonly params?: Body }[] {
    return this.received.flatMap(({ id, method, params, result }) => {
      if (method !== undefined) return id === undefined ? [] : [{ method, ...(params && { params }) }];
      return Object.values((result?.inputRequests ?? {}) as Record<string, { method: string; params?: Body }>);
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

  send(message: Body): void {
    void this.#channel.send(JSON.stringify({ jsonrpc: "2.0", ...message }));
  }

  close(): Promise<void> {
    return this.#channel.close();
  }

  #envelope(): Body {
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
