import type { TestContext } from "node:test";
import type { Server } from "bowline/server";
import type { RecordedMessage } from "bowline/testing";
import type { World } from "./each-wire.js";
import { initialize, type Message, type RawClient, rawClient } from "./raw-client.js";

export const RELATED = "io.modelcontextprotocol/related-task";

export interface AugmentedClientOptions {
  readonly version?: string;
  readonly capabilities?: Message;
  readonly headers?: Record<string, string>;
  /** Answers a question of the server: a result, or `{ error }`. */
  readonly answer?: (params: Message) => Message | undefined | Promise<Message | undefined>;
}

/** Client of 2025-11-25 written by the test, on any wire, that asks for tasks. */
export class AugmentedClient {
  readonly raw: RawClient;
  readonly #options: AugmentedClientOptions;
  #lastId = 0;
  #read = 0;

  private constructor(raw: RawClient, options: AugmentedClientOptions) {
    this.raw = raw;
    this.#options = options;
  }

  /** Shakes hands. Returns the client and the result of the handshake. */
  static async open(
    world: World,
    server: Server,
    t: TestContext,
    options: AugmentedClientOptions = {},
  ): Promise<{ readonly client: AugmentedClient; readonly welcome: Message }> {
    const client = new AugmentedClient(await rawClient(world, server, t), options);
    const { version, capabilities = {}, headers } = options;
    const { result } = await client.raw.ask(initialize(0, version, { capabilities }), headers);
    client.raw.send({ method: "notifications/initialized" }, headers);
    void client.#answerAll();
    return { client, welcome: result as Message };
  }

  /** Sends a request and returns the whole response. */
  ask(method: string, params: Message = {}): Promise<RecordedMessage> {
    return this.raw.ask({ id: ++this.#lastId, method, params }, this.#options.headers);
  }

  /** Sends a request and returns its result. */
  async result(method: string, params?: Message): Promise<Message> {
    const { result, error } = await this.ask(method, params);
    if (result === undefined) throw new Error(`${method}: ${JSON.stringify(error)}`);
    return result;
  }

  /** Sends a request and returns the code of its error. */
  async code(method: string, params?: Message): Promise<number | undefined> {
    return (await this.ask(method, params)).error?.code;
  }

  /** Creates a task and returns it. */
  async start(name: string, task: Message = {}, args: Message = {}): Promise<Message> {
    const result = await this.result("tools/call", { name, arguments: args, task });
    return result.task as Message;
  }

  /** Sends a request and does not wait. Returns its id. */
  send(method: string, params: Message): number {
    const id = ++this.#lastId;
    this.raw.send({ id, method, params }, this.#options.headers);
    return id;
  }

  /** Returns the messages of the server with this method. */
  heard(method: string): readonly RecordedMessage[] {
    return this.raw.heard.filter((message) => message.method === method);
  }

  async #answerAll(): Promise<void> {
    const { answer, headers } = this.#options;
    if (answer === undefined) return;
    const isQuestion = ({ id, method }: RecordedMessage) => id !== undefined && method !== undefined;
    for (;;) {
      await this.raw.until((heard) => heard.slice(this.#read).some(isQuestion));
      const questions = this.raw.heard.slice(this.#read).filter(isQuestion);
      this.#read = this.raw.heard.length;
      for (const { id, params } of questions) {
        const given = await answer(params as Message);
        if (given === undefined) continue;
        this.raw.send("error" in given ? { id, error: given.error } : { id, result: given }, headers);
      }
    }
  }
}
