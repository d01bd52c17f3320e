import { once } from "node:events";
import {
  type AddressInfo,
  connect as connectSocket,
  createServer,
  type Server as NetServer,
  type Socket,
} from "node:net";
import type { ClientOptions } from "bowline/client";
import { gate } from "./gate.js";

type Fetch = NonNullable<ClientOptions["fetch"]>;

/** Answers the request that was held back. */
export type Reply = (status: number, headers: Record<string, string>, body: string) => void;

/** What can be done to the way between a client and its server. */
export interface FaultLine {
  /** Loses all that is under way; nothing passes from now on. */
  cut(): void;
  /** Cuts in the middle of the next call of a tool. */
  cutRequest(): void;
  /** Cuts in the middle of whatever the server says next. */
  cutAnswer(): void;
}

/** A line of HTTP, where somebody in between may answer in the server's place. */
export interface HttpLine extends FaultLine {
  /** Holds the next call of a tool back, or passes it on and holds its answer back. Resolves when it has come. */
  hold(how: "held back" | "passed on"): Promise<Reply>;
}

type Mode =
  | { readonly name: "pass" | "cut request" | "cut answer" }
  | { readonly name: "hold"; readonly passes: boolean };

/** A proxy of TCP in front of a server. */
export class TcpLine implements HttpLine {
  readonly #server: NetServer;
  readonly #pairs = new Map<Socket, Socket>();
  readonly #upstream: number;
  #mode: Mode = { name: "pass" };
  #held = gate();
  #reply: Reply = () => {};

  private constructor(upstream: number) {
    this.#upstream = upstream;
    this.#server = createServer((socket) => this.#join(socket));
  }

  static async open(port: number): Promise<TcpLine> {
    const line = new TcpLine(port);
    line.#server.listen(0, "127.0.0.1");
    await once(line.#server, "listening");
    return line;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  cut(): void {
    this.#server.close();
    for (const [near, far] of this.#pairs) {
      near.resetAndDestroy();
      far.destroy();
    }
    this.#pairs.clear();
  }

  cutRequest(): void {
    this.#mode = { name: "cut request" };
  }

  cutAnswer(): void {
    this.#mode = { name: "cut answer" };
  }

  async hold(how: "held back" | "passed on"): Promise<Reply> {
    this.#mode = { name: "hold", passes: how === "passed on" };
    await this.#held.opened;
    return this.#reply;
  }

  #join(near: Socket): void {
    const far = connectSocket(this.#upstream, "127.0.0.1");
    let isHeld = false;
    let passes = true;
    this.#pairs.set(near, far);
    for (const socket of [near, far]) socket.on("error", () => {});
    near.on("close", () => far.destroy());
    far.on("close", () => near.destroy());
    near.on("data", (chunk: Buffer) => {
      const isCall = chunk.includes("tools/call");
      if (isCall && this.#mode.name === "cut request") {
        far.write(chunk.subarray(0, chunk.length / 2), () => this.cut());
        return;
      }
      if (isCall && this.#mode.name === "hold") {
        isHeld = true;
        passes = this.#mode.passes;
        this.#mode = { name: "pass" };
        this.#reply = (status, headers, body) => {
          const lines = Object.entries({ ...headers, "content-length": String(Buffer.byteLength(body)) });
          const head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join("");
          near.write(`HTTP/1.1 ${status} Some\r\n${head}\r\n${body}`);
        };
        this.#held.open();
      }
      if (passes) far.write(chunk);
    });
    far.on("data", (chunk: Buffer) => {
      if (isHeld) return;
      if (this.#mode.name !== "cut answer") return void near.write(chunk);
      const head = chunk.indexOf("\r\n\r\n");
      const some = chunk.subarray(0, head === -1 ? chunk.length / 2 : head + 6);
      near.write(some, () => setImmediate(() => this.cut()));
    });
  }
}

const failed = (code: string) => new TypeError("fetch failed", { cause: Object.assign(new Error(code), { code }) });

/** The same around a `fetch`. */
export class FetchLine implements HttpLine {
  readonly #inner: (request: Request) => Promise<Response>;
  readonly #cut = new AbortController();
  readonly #lost: Promise<never>;
  #mode: Mode = { name: "pass" };
  #held = gate();
  #reply: Reply = () => {};

  constructor(inner: (request: Request) => Promise<Response>) {
    this.#inner = inner;
    this.#lost = new Promise((_, reject) => {
      this.#cut.signal.addEventListener("abort", () => reject(failed("ECONNRESET")));
    });
    this.#lost.catch(() => {});
  }

  cut(): void {
    this.#cut.abort();
  }

  cutRequest(): void {
    this.#mode = { name: "cut request" };
  }

  cutAnswer(): void {
    this.#mode = { name: "cut answer" };
  }

  async hold(how: "held back" | "passed on"): Promise<Reply> {
    this.#mode = { name: "hold", passes: how === "passed on" };
    await this.#held.opened;
    return this.#reply;
  }

  readonly fetch: Fetch = async (url, init) => {
    if (this.#cut.signal.aborted) throw failed("ECONNREFUSED");
    const signal = AbortSignal.any([this.#cut.signal, ...(init.signal ? [init.signal] : [])]);
    const mode = String(init.body).includes("tools/call") ? this.#mode : undefined;
    if (mode?.name === "cut request") {
      this.cut();
      throw failed("ECONNRESET");
    }
    const send = () => this.#inner(new Request(url, { ...init, signal }));
    if (mode?.name === "hold") {
      this.#mode = { name: "pass" };
      if (mode.passes) void send();
      return await new Promise<Response>((resolve) => {
        this.#reply = (status, headers, body) => resolve(new Response(body, { status, headers }));
        this.#held.open();
      });
    }
    const given = new Promise<never>((_, reject) => {
      init.signal?.addEventListener("abort", () => reject(init.signal?.reason), { once: true });
    });
    const response = await Promise.race([send(), this.#lost, given]);
    const { status, headers } = response;
    return new Response(response.body === null ? null : this.#through(response.body), { status, headers });
  };

  #through(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
    const reader = body.getReader();
    return new ReadableStream({
      pull: async (controller) => {
        const { done, value } = await Promise.race([this.#lost, reader.read()]);
        if (done) return controller.close();
        const cuts = this.#mode.name === "cut answer";
        controller.enqueue(cuts ? value.subarray(0, 6) : value);
        if (cuts) this.cut();
      },
      cancel: (reason) => void reader.cancel(reason).catch(() => {}),
    });
  }
}
