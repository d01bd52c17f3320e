import type { AbortSwitch } from "../../call/abort-switch.js";
import type { ByteSource, OnChunk, Reply } from "../../http/client/send.js";

/** Names and values alternately, as received. */
type RawHeaders = readonly { readonly length: number; toString(encoding: "latin1"): string }[];
/** Headers by lower-case name. */
type HeaderTable = Readonly<Record<string, string | string[] | undefined>>;

/** Controller of a request in newer versions of undici. */
interface Controller {
  abort(reason: Error): void;
  pause(): void;
  resume(): void;
}

/** Listeners of a {@link DirectReply}. */
interface ReplyListeners {
  /** Called when the headers have arrived. */
  resolve(reply: DirectReply): void;
  /** Called if the response fails before. */
  reject(reason: unknown): void;
  /** Called once, when the response is complete or has failed. */
  onEnd(isComplete: boolean): void;
}

/** Number of bytes buffered before backpressure is applied to the socket. */
const MAX_WAITING = 65_536;

/**
 * Response that receives the callbacks of Node's dispatcher, those of undici 6 and of later versions. It resolves with
 * itself when the headers have arrived, and is the source of its own body. The switch ends it at any time.
 *
 * Callbacks run in the async context of the request that opened the connection. So they only store data, and `pump`
 * passes it on in the context of its caller.
 */
export class DirectReply implements Reply, ByteSource {
  status = 0;
  body: ByteSource = this;
  bodyUsed = false;
  readonly #life: AbortSwitch;
  readonly #unpack: (packed: ByteSource, encoding: string) => ByteSource;
  readonly #onAbort = (reason: unknown) => this.#fail(reason);
  readonly #onEnd: (isComplete: boolean) => void;
  #settle: Pick<ReplyListeners, "resolve" | "reject"> | undefined;
  #rawHeaders: RawHeaders = [];
  #headers: HeaderTable | undefined;
  #abort: (() => void) | undefined;
  #pause = () => {};
  #resume = () => {};
  #end: { readonly reason: unknown } | "complete" | undefined;
  #waiting: Uint8Array[] = [];
  #waitingBytes = 0;
  #isPaused = false;
  #wake = () => {};

  constructor(
    readonly url: string,
    life: AbortSwitch,
    unpack: (packed: ByteSource, encoding: string) => ByteSource,
    listeners: ReplyListeners,
  ) {
    this.#life = life;
    this.#unpack = unpack;
    this.#settle = listeners;
    this.#onEnd = listeners.onEnd;
    life.onAbort(this.#onAbort);
  }

  get ok(): boolean {
    return this.status >= 200 && this.status < 300;
  }

  get headers(): this {
    return this;
  }

  /** Returns a header by its lower-case name. */
  get(name: string): string | null {
    if (this.#headers !== undefined) {
      const value = Object.hasOwn(this.#headers, name) ? this.#headers[name] : undefined;
      return value === undefined ? null : String(Array.isArray(value) ? value.join(", ") : value);
    }
    let found: string | null = null;
    for (let i = 0; i + 1 < this.#rawHeaders.length; i += 2) {
      const key = this.#rawHeaders[i];
      if (key?.length !== name.length || key.toString("latin1").toLowerCase() !== name) continue;
      const value = String(this.#rawHeaders[i + 1]?.toString("latin1"));
      found = found === null ? value : `${found}, ${value}`;
    }
    return found;
  }

  /** Returns all headers. */
  toHeaders(): Headers {
    const all = new Headers();
    for (const [name, values] of Object.entries(this.#headers ?? {})) {
      for (const value of [values ?? []].flat()) all.append(name, value);
    }
    for (let i = 0; i + 1 < this.#rawHeaders.length; i += 2)
      all.append(String(this.#rawHeaders[i]?.toString("latin1")), String(this.#rawHeaders[i + 1]?.toString("latin1")));
    return all;
  }

  async pump(onChunk: OnChunk): Promise<void> {
    this.bodyUsed = true;
    try {
      for (;;) {
        for (let chunk = this.#waiting.shift(); chunk !== undefined; chunk = this.#waiting.shift()) {
          this.#waitingBytes -= chunk.byteLength;
          const more = onChunk(chunk);
          if (!(typeof more === "boolean" ? more : await more)) return this.#fail(undefined);
        }
        if (this.#end === "complete") return;
        if (this.#end !== undefined) throw this.#end.reason;
        await this.#nextEvent();
      }
    } catch (error) {
      this.#fail(error);
      throw error;
    }
  }

  async cancel(reason?: unknown): Promise<void> {
    this.#fail(reason);
  }

  onConnect(abort: () => void): void {
    this.#abort = abort;
    if (this.#end !== undefined) abort();
  }

  onHeaders(status: number, headers: RawHeaders, resume: () => void): boolean {
    this.#rawHeaders = headers;
    this.#resume = resume;
    this.#begin(status);
    return true;
  }

  onData(chunk: Uint8Array): boolean {
    return this.#take(chunk);
  }

  onComplete(): void {
    if (this.#close("complete")) this.#onEnd(true);
  }

  onError(error: unknown): void {
    this.#fail(error);
  }

  onUpgrade(): void {
    this.#fail(new Error("the server switched to another protocol (HTTP status 101), which is not supported"));
  }

  onRequestStart(controller: Controller): void {
    this.#pause = () => controller.pause();
    this.#resume = () => controller.resume();
    this.onConnect(() => controller.abort(new Error("the request was aborted")));
  }

  onResponseStart(_: Controller, status: number, headers: HeaderTable): void {
    this.#headers = headers;
    this.#begin(status);
  }

  onResponseData(_: Controller, chunk: Uint8Array): void {
    if (!this.#take(chunk)) this.#pause();
  }

  onResponseEnd(): void {
    this.onComplete();
  }

  onResponseError(_: Controller, error: unknown): void {
    this.onError(error);
  }

  onRequestUpgrade(): void {
    this.onUpgrade();
  }

  /** Waits for the next event. Data that arrives while the socket is resumed counts as an event. */
  #nextEvent(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve;
      if (!this.#isPaused) return;
      this.#isPaused = false;
      this.#resume();
    });
  }

  /** Processes the status and headers. Informational responses below 200 are skipped. */
  #begin(status: number): void {
    if (status < 200 || this.#end !== undefined) return;
    this.status = status;
    const encoding = this.get("content-encoding");
    if (encoding !== null) this.body = this.#unpack(this, encoding);
    this.#settle?.resolve(this);
    this.#settle = undefined;
  }

  /** Stores a chunk. Returns false if the buffer is full. */
  #take(chunk: Uint8Array): boolean {
    if (this.#end !== undefined) return true;
    this.#waiting.push(chunk);
    this.#waitingBytes += chunk.byteLength;
    this.#wake();
    this.#isPaused = this.#waitingBytes > MAX_WAITING;
    return !this.#isPaused;
  }

  /** Fails the response. Data that has not been read is dropped. */
  #fail(reason: unknown): void {
    this.#waiting = [];
    if (!this.#close({ reason })) return;
    this.#settle?.reject(reason);
    this.#settle = undefined;
    this.#abort?.();
    this.#onEnd(false);
  }

  #close(end: { readonly reason: unknown } | "complete"): boolean {
    if (this.#end !== undefined) return false;
    this.#end = end;
    this.#life.offAbort(this.#onAbort);
    this.#wake();
    return true;
  }
}
