import { PassThrough } from "node:stream";
import { createStdioServerChannel } from "bowline/node";
import type { Channel } from "bowline/server";
import type { RecordedMessage } from "bowline/testing";
import type { World } from "./each-wire.js";
import { modernRequest } from "./modern-request.js";

export type { TestContext } from "node:test";
export type Era = World["era"];

/**
 * The far end of a pipe, in bytes: what a test writes arrives as it is, and what the SDK writes can be read line by line.
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

  constructor(options: { readonly maxLineBytes?: number } = {}) {
    this.near = createStdioServerChannel({ input: this.#toSdk, output: this.#fromSdk, ...options });
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
export function speaking(era: Era): { readonly version: string } {
  return { version: era === "modern" ? "2026-07-28" : "2025-11-25" };
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
