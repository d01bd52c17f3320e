import type { AbortSwitch } from "../call/abort-switch.js";
import { inflate } from "./inflate.js";
import type { ByteSource, OnChunk, Reply, ReplyBody } from "./reply.js";

/** Names and values in turn, as they came. */
type RawHeaders = readonly { readonly length: number; toString(encoding: "latin1"): string }[];

/** How many bytes wait for whoever is about to read them, before the server has to. */
const MAX_WAITING = 65_536;

/**
 * A response as node's dispatcher tells of it, callback by callback. It resolves with itself once its head is there, and is the
 * source of its own body. The switch ends it at any time.
 */
export class DirectReply implements Reply, ByteSource {
  status = 0;
  body: ReplyBody = this;
  readonly #life: AbortSwitch;
  readonly #resolve: (reply: Reply) => void;
  readonly #reject: (reason: unknown) => void;
  readonly #onAbort = (reason: unknown) => this.#fail(reason);
  #headers: RawHeaders = [];
  #abort: (() => void) | undefined;
  #resume: () => void = () => {};
  #end: { readonly reason: unknown } | "complete" | undefined;
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #reader: Reader | undefined;

  constructor(
    readonly url: string,
    life: AbortSwitch,
    resolve: (reply: Reply) => void,
    reject: (reason: unknown) => void,
  ) {
    this.#life = life;
    this.#resolve = resolve;
    this.#reject = reject;
    life.onAbort(this.#onAbort);
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  get headers(): this {
    return this;
  }

  get bodyUsed(): boolean {
    return this.body instanceof ReadableStream ? this.body.locked : this.#reader !== undefined;
  }

  /** A header by its name in lower case. */
  get(name: string): string | null {
    let found: string | null = null;
    for (let i = 0; i + 1 < this.#headers.length; i += 2) {
      const key = this.#headers[i];
      if (key?.length !== name.length || key.toString("latin1").toLowerCase() !== name) continue;
      const value = String(this.#headers[i + 1]?.toString("latin1"));
      found = found === null ? value : `${found}, ${value}`;
    }
    return found;
  }

  pump(onChunk: OnChunk): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#reader = { onChunk, resolve, reject };
      for (const chunk of this.#waiting) this.#hand(chunk);
      this.#waiting = [];
      if (this.#end !== undefined) this.#settle();
      else if (this.#waitingBytes > MAX_WAITING) this.#resume();
    });
  }

  async cancel(reason?: unknown): Promise<void> {
    this.#fail(reason);
  }

  onConnect(abort: () => void): void {
    this.#abort = abort;
    if (this.#end !== undefined) abort();
  }

  onHeaders(status: number, headers: RawHeaders, resume: () => void): boolean {
    if (status < 200 || this.#end !== undefined) return true;
    this.status = status;
    this.#headers = headers;
    this.#resume = resume;
    this.body = inflate(this, this.get("content-encoding"));
    this.#resolve(this);
    return true;
  }

  onData(chunk: Uint8Array): boolean {
    if (this.#end !== undefined) return true;
    if (this.#reader !== undefined) {
      this.#hand(chunk);
      return true;
    }
    this.#waiting.push(chunk);
    this.#waitingBytes += chunk.byteLength;
    return this.#waitingBytes <= MAX_WAITING;
  }

  onComplete(): void {
    if (this.#end !== undefined) return;
    this.#close("complete");
  }

  onError(error: unknown): void {
    this.#fail(error);
  }

  onUpgrade(): void {
    this.#fail(new Error("the server wants another protocol"));
  }

  /** Hands a chunk over; a listener that fails or has enough ends the response. */
  #hand(chunk: Uint8Array): void {
    const { onChunk, resolve } = this.#reader as Reader;
    if (this.#end !== undefined && this.#end !== "complete") return;
    try {
      if (onChunk(chunk)) return;
      resolve();
      this.#fail(undefined);
    } catch (error) {
      this.#fail(error);
    }
  }

  #fail(reason: unknown): void {
    if (this.#end !== undefined && this.#end !== "complete") return;
    const isRunning = this.#end === undefined;
    this.#close({ reason });
    if (this.status === 0) this.#reject(reason);
    if (isRunning) this.#abort?.();
  }

  #close(end: { readonly reason: unknown } | "complete"): void {
    this.#end = end;
    this.#life.offAbort(this.#onAbort);
    this.#settle();
  }

  #settle(): void {
    if (this.#end === "complete") this.#reader?.resolve();
    else this.#reader?.reject(this.#end?.reason);
  }
}

interface Reader {
  readonly onChunk: OnChunk;
  readonly resolve: () => void;
  readonly reject: (reason: unknown) => void;
}
