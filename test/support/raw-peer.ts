import { PassThrough } from "node:stream";
import type { TestContext } from "node:test";
import { type Channel, type ClientOptions, connect } from "bowline/client";
import { createStdioServerChannel } from "bowline/node";
import type { Server } from "bowline/server";
import { createChannelPair, type RecordedMessage, WireRecorder } from "bowline/testing";
import { createPipePair, type RecordedClient, type World } from "./each-wire.js";
import { modernRequest } from "./modern-request.js";
import type { Wire } from "./verifies.js";

export type { TestContext } from "node:test";
export type Era = World["era"];

/** One end of a channel that the test writes and reads frame by frame. */
export class RawPeer {
  /** Everything that came, in order. */
  readonly texts: string[] = [];
  readonly messages: RecordedMessage[] = [];
  /** Settles when the channel has closed. */
  readonly closed: Promise<Error | undefined>;
  readonly #channel: Channel;
  #unseen: RecordedMessage[] = [];
  #waiting: { readonly fits: (message: RecordedMessage) => boolean; readonly found: (m: RecordedMessage) => void }[] =
    [];
  #onClose: (reason: Error | undefined) => void = () => {};

  private constructor(channel: Channel) {
    this.#channel = channel;
    this.closed = new Promise((resolve) => {
      this.#onClose = resolve;
    });
  }

  static async open(channel: Channel): Promise<RawPeer> {
    const peer = new RawPeer(channel);
    await channel.open({
      onFrame: (text) => peer.#take(text),
      onProblem: () => {},
      onClose: (reason) => peer.#onClose(reason),
    });
    return peer;
  }

  /** Writes a message; a string goes out as it is. */
  send(message: unknown): void {
    this.#channel.send(
      typeof message === "string" ? message : JSON.stringify({ jsonrpc: "2.0", ...(message as object) }),
    );
  }

  /** The next message that fits, from those not taken yet. */
  take(fits: (message: RecordedMessage) => boolean): Promise<RecordedMessage> {
    const at = this.#unseen.findIndex(fits);
    if (at >= 0) return Promise.resolve(this.#unseen.splice(at, 1)[0] as RecordedMessage);
    return new Promise((found) => this.#waiting.push({ fits, found }));
  }

  /** The next request or notification of a method. */
  asked(method: string): Promise<RecordedMessage> {
    return this.take((message) => message.method === method);
  }

  /** The next answer to exactly this id; undefined for one without an id. */
  answerTo(id: unknown): Promise<RecordedMessage> {
    return this.take((message) => message.method === undefined && message.id === id);
  }

  /** All answers so far, by exact id. */
  answersTo(id: unknown): RecordedMessage[] {
    return this.messages.filter((message) => message.method === undefined && message.id === id);
  }

  close(): Promise<void> {
    return this.#channel.close();
  }

  #take(text: string): void {
    const message = JSON.parse(text) as RecordedMessage;
    this.texts.push(text);
    this.messages.push(message);
    const at = this.#waiting.findIndex(({ fits }) => fits(message));
    if (at < 0) this.#unseen.push(message);
    else this.#waiting.splice(at, 1)[0]?.found(message);
  }
}

export const MODERN_VERSION = "2026-07-28";
const LEGACY_VERSION = "2025-11-25";

export interface RawClientOptions {
  readonly version?: string;
  readonly capabilities?: object;
}

/** Client on a channel, written by the test, that chooses its ids. In the legacy era the handshake is done. */
export class RawClient {
  #barriers = 0;

  private constructor(
    readonly peer: RawPeer,
    readonly era: World["era"],
    readonly capabilities: object,
  ) {}

  static async open(world: World, server: Server, options: RawClientOptions = {}): Promise<RawClient> {
    const peer = await RawPeer.open(await world.channel(server));
    const { version = LEGACY_VERSION, capabilities = {} } = options;
    const client = new RawClient(peer, world.era, capabilities);
    if (world.era === "legacy") {
      const params = { protocolVersion: version, capabilities, clientInfo: { name: "raw", version: "1" } };
      peer.send({ id: "handshake", method: "initialize", params });
      await peer.answerTo("handshake");
      peer.send({ method: "notifications/initialized" });
    }
    return client;
  }

  /** Params as this era wants them. */
  params(own: object = {}, meta: object = {}): object {
    if (this.era === "legacy") return Object.keys(meta).length === 0 ? own : { ...own, _meta: meta };
    return {
      ...own,
      _meta: {
        "io.modelcontextprotocol/protocolVersion": MODERN_VERSION,
        "io.modelcontextprotocol/clientCapabilities": this.capabilities,
        ...meta,
      },
    };
  }

  send(id: unknown, method: string, own: object = {}, meta: object = {}): void {
    this.peer.send({ id, method, params: this.params(own, meta) });
  }

  notify(method: string, params?: object): void {
    this.peer.send(params === undefined ? { method } : { method, params });
  }

  request(id: unknown, method: string, own: object = {}, meta: object = {}): Promise<RecordedMessage> {
    const answer = this.peer.answerTo(id);
    this.send(id, method, own, meta);
    return answer;
  }

  /** When this is answered, everything sent before has been looked at. */
  async barrier(): Promise<void> {
    await this.request(`barrier-${++this.#barriers}`, "no/such/method");
  }
}

/** Server on a channel, written by the test, with a recorded client. */
export interface ScriptedServer {
  readonly era: World["era"];
  readonly peer: RawPeer;
  /** Connects; the opening exchange is answered. Frames are recorded as the client sees them. */
  connect(options?: ClientOptions): Promise<RecordedClient>;
}

const capabilities = { tools: {}, prompts: {}, resources: { subscribe: true }, completions: {}, logging: {} };

async function scripted(t: TestContext, era: World["era"], pair: () => [Channel, Channel]): Promise<ScriptedServer> {
  const [ours, theirs] = pair();
  const peer = await RawPeer.open(theirs);
  return {
    era,
    peer,
    async connect(options = {}) {
      const wire = new WireRecorder();
      const connecting = connect({ channel: wire.channel(ours) }, { era, ...options });
      const opening = await peer.asked(era === "modern" ? "server/discover" : "initialize");
      peer.send({
        id: opening.id,
        result:
          era === "modern"
            ? {
                resultType: "complete",
                supportedVersions: [MODERN_VERSION],
                capabilities,
                ttlMs: 0,
                cacheScope: "private",
              }
            : {
                protocolVersion: options.versions?.[0] ?? LEGACY_VERSION,
                capabilities,
                serverInfo: { name: "scripted", version: "1" },
              },
      });
      const client = await connecting;
      t.after(() => client.close());
      return Object.assign(client, { wire });
    },
  };
}

/** Scripted servers on channels, in both eras. */
export const scriptedServers: readonly Wire<ScriptedServer>[] = (["modern", "legacy"] as const).flatMap((era) => [
  { name: `${era}-memory`, open: (t: TestContext) => scripted(t, era, createChannelPair) },
  { name: `${era}-stdio`, open: (t: TestContext) => scripted(t, era, createPipePair) },
]);
export const scriptedModern = scriptedServers.filter(({ name }) => name.startsWith("modern"));
export const scriptedLegacy = scriptedServers.filter(({ name }) => name.startsWith("legacy"));

/** A result of `tools/call` that says this. */
export function toolText(text: string): object {
  return { resultType: "complete", content: [{ type: "text", text }] };
}

/** The token under which a request asks for progress. */
export function tokenOf(request: RecordedMessage): unknown {
  return (request.params?._meta as { progressToken?: unknown } | undefined)?.progressToken;
}

/**
 * One end of a pipe, in bytes. The test writes any bytes, and reads the SDK's output line by line.
 */
export class RawEnd {
  /** The SDK's end. */
  readonly near: Channel;
  readonly #toSdk = new PassThrough();
  readonly #fromSdk = new PassThrough();
  readonly #chunks: Buffer[] = [];
  readonly #waiting: (() => void)[] = [];
  readonly #lines: string[] = [];
  readonly #utf8 = new TextDecoder();
  #rest = "";
  #read = 0;
  #ended = false;

  constructor(limits: { readonly maxLineBytes?: number } = {}) {
    this.near = createStdioServerChannel({ input: this.#toSdk, output: this.#fromSdk, limits });
    this.#fromSdk.on("data", (chunk: Buffer) => {
      this.#chunks.push(chunk);
      const lines = (this.#rest + this.#utf8.decode(chunk, { stream: true })).split("\n");
      this.#rest = lines.pop() ?? "";
      this.#lines.push(...lines);
      this.#wake();
    });
    this.#fromSdk.on("close", () => {
      this.#ended = true;
      this.#wake();
    });
  }

  /** All that the SDK has written. */
  get written(): Buffer {
    return Buffer.concat(this.#chunks);
  }

  /** The lines that the SDK has written, as messages; throws for one that is none. */
  get messages(): RecordedMessage[] {
    return this.#lines.map((line) => JSON.parse(line) as RecordedMessage);
  }

  write(...parts: readonly (string | Uint8Array | object)[]): void {
    this.#toSdk.write(Buffer.concat(parts.map(toBytes)));
  }

  /** Ends what the SDK reads. */
  end(): void {
    this.#toSdk.end();
  }

  /** Breaks what the SDK reads. */
  break(cause: Error): void {
    this.#toSdk.destroy(cause);
  }

  /** The next message that the SDK writes. */
  async next(): Promise<RecordedMessage> {
    const place = this.#read++;
    while (this.#lines.length <= place) {
      if (this.#ended) throw new Error("The SDK has closed its output");
      await new Promise<void>((resolve) => this.#waiting.push(resolve));
    }
    return JSON.parse(this.#lines[place] ?? "") as RecordedMessage;
  }

  /** Reads on until a message fits. */
  async until(fits: (message: RecordedMessage) => boolean): Promise<RecordedMessage> {
    for (;;) {
      const message = await this.next();
      if (fits(message)) return message;
    }
  }

  /** As a client of that era: whatever has to be said before the first call. */
  async greetServer(era: Era, version = "2025-11-25"): Promise<void> {
    if (era === "modern") return;
    const clientInfo = { name: "raw", version: "1.0.0" };
    const params = { protocolVersion: version, capabilities: {}, clientInfo };
    this.write({ jsonrpc: "2.0", id: "greeting", method: "initialize", params });
    await this.until(({ id }) => id === "greeting");
    this.write({ jsonrpc: "2.0", method: "notifications/initialized" });
  }

  /** As a server of that era: answers whatever a client asks before its first call. */
  async greetClient(era: Era): Promise<void> {
    if (era === "modern") return;
    const { id } = await this.until(({ method }) => method === "initialize");
    const serverInfo = { name: "raw", version: "1.0.0" };
    this.write({ jsonrpc: "2.0", id, result: { protocolVersion: "2025-11-25", capabilities: {}, serverInfo } });
    await this.until(({ method }) => method === "notifications/initialized");
  }

  #wake(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

/** What makes a client speak this era without asking first. */
export function speaking(era: Era): { readonly versions: readonly ["2026-07-28" | "2025-11-25"] } {
  return { versions: [era === "modern" ? "2026-07-28" : "2025-11-25"] };
}

/** A request as a flawless client of that era writes it. */
export function requestOf(era: Era, id: string | number, method: string, params: Record<string, unknown> = {}): object {
  return era === "modern" ? modernRequest(method, { id, params }).body : { jsonrpc: "2.0", id, method, params };
}

export function callOf(era: Era, id: string | number, name: string, args: Record<string, unknown> = {}): object {
  return requestOf(era, id, "tools/call", { name, arguments: args });
}

/** A tool's answer as a flawless server of that era writes it. */
export function resultOf(era: Era, id: unknown, text: string): object {
  const result = { content: [{ type: "text", text }] };
  return { jsonrpc: "2.0", id, result: era === "modern" ? { ...result, resultType: "complete" } : result };
}

function toBytes(part: string | Uint8Array | object): Uint8Array {
  if (part instanceof Uint8Array) return part;
  return Buffer.from(typeof part === "string" ? part : `${JSON.stringify(part)}\n`);
}
