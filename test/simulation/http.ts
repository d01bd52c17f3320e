import type { HttpExchange, HttpHeaders, HttpStream } from "#src/http/exchange.js";
import type { Dice } from "./dice.js";
import type { SimProcess } from "./process.js";
import type { Scheduler } from "./scheduler.js";

export interface SimRequest {
  readonly method: "POST" | "GET" | "DELETE";
  readonly headers: { readonly [name: string]: string };
  readonly body?: string;
  readonly principal: string;
}

export interface Head {
  readonly status: number;
  readonly headers: HttpHeaders;
}

/** Chances of the network between clients and nodes. */
export interface Network {
  readonly scheduler: Scheduler;
  readonly dice: Dice;
  /** Percent of requests and parts of responses that take long. */
  slow: number;
}

function delayOf({ dice, slow }: Network): number {
  return slow > 0 && dice.chance(slow) ? dice.between(1, 400) : dice.between(0.2, 3);
}

/**
 * HTTP request of a client on its way to a node, with the response. The client sees the parts of the response in order,
 * and later than the node writes them. A connection that breaks loses the parts under way.
 */
export class Flight implements HttpExchange {
  readonly method: string;
  readonly url = "/mcp";
  readonly principal: string;
  /** Status and headers. Undefined if the connection broke before them. */
  readonly head: Promise<Head | undefined>;
  /** Tells how the connection has ended for the client. */
  readonly over: Promise<"ended" | "broken">;
  /** Called with each part of the body. */
  onText: (text: string) => void = () => {};
  answered = false;
  /** Status and headers, after they have arrived. */
  response: Head | undefined;

  readonly #network: Network;
  readonly #process: SimProcess;
  readonly #request: SimRequest;
  readonly #goneListeners: (() => void)[] = [];
  #begin: (head: Head | undefined) => void = () => {};
  #finish: (how: "ended" | "broken") => void = () => {};
  /** Time at which the last part arrives at the client. */
  #lastAt = 0;
  /** Parts of the response on their way, in order. */
  readonly #parts: (() => void)[] = [];
  #isComplete = false;
  #isGone = false;
  /** True after the connection has ended for the client. */
  isOver = false;

  constructor(network: Network, process: SimProcess, request: SimRequest, serve: (exchange: HttpExchange) => void) {
    this.#network = network;
    this.#process = process;
    this.#request = request;
    this.method = request.method;
    this.principal = request.principal;
    this.head = new Promise((resolve) => {
      this.#begin = resolve;
    });
    this.over = new Promise((resolve) => {
      this.#finish = resolve;
    });
    const arrive = () => {
      if (process.hasCrashed) return this.#end("broken");
      process.enter(() => {
        if (!this.#isGone) serve(this);
      });
    };
    network.scheduler.schedule(arrive, delayOf(network));
  }

  header(name: string): string | undefined {
    return name === "host" ? "localhost" : this.#request.headers[name];
  }

  async text(): Promise<string> {
    return this.#request.body ?? "";
  }

  read(_limit: number, onText: (text: string) => void): void {
    onText(this.#request.body ?? "");
  }

  onGone(listener: () => void): void {
    if (this.#isGone) queueMicrotask(listener);
    else if (!this.#isComplete) this.#goneListeners.push(listener);
  }

  reply(status: number, headers: HttpHeaders, body?: string): void {
    const stream = this.stream(status, headers);
    if (body !== undefined) stream.write(body);
    stream.end();
  }

  stream(status: number, headers: HttpHeaders): HttpStream {
    if (!this.#isGone && this.answered) throw new Error(`the exchange was answered twice, then with ${status}`);
    this.answered = true;
    this.#send(() => {
      this.response = { status, headers };
      this.#begin(this.response);
    });
    return {
      write: (text) => {
        this.#send(() => this.onText(text));
        return true;
      },
      onDrain: (listener) => queueMicrotask(listener),
      end: () => this.#complete("ended"),
      destroy: () => this.#complete("broken"),
    };
  }

  /** Breaks the connection. The node learns it after a while, as if the network had failed, or never. */
  break(learnedMs: number): void {
    if (this.isOver) return;
    this.#end("broken");
    this.#network.scheduler.schedule(() => this.#process.enter(() => this.#leave()), learnedMs);
  }

  /** Breaks the connection since the process of the node has crashed. Parts under way may arrive. */
  lose(): void {
    this.#isGone = true;
    const { scheduler, dice } = this.#network;
    if (dice.chance(50)) this.#end("broken");
    else scheduler.schedule(() => this.#end("broken"), Math.max(0, this.#lastAt - scheduler.now()));
  }

  #leave(): void {
    if (this.#isComplete || this.#isGone) return;
    this.#isGone = true;
    this.answered = true;
    for (const listener of this.#goneListeners.splice(0)) listener();
  }

  #complete(how: "ended" | "broken"): void {
    if (this.#isComplete) return;
    this.#send(() => this.#end(how));
    this.#isComplete = true;
    this.#goneListeners.length = 0;
  }

  #send(deliver: () => void): void {
    if (this.#isGone || this.#isComplete) return;
    const { scheduler } = this.#network;
    const now = scheduler.now();
    this.#lastAt = Math.max(this.#lastAt, now + delayOf(this.#network));
    // Times are rounded, so that parts with the same time could change places.
    this.#parts.push(deliver);
    const arrive = () => {
      const next = this.#parts.shift();
      if (!this.isOver) next?.();
    };
    scheduler.schedule(arrive, this.#lastAt - now);
  }

  #end(how: "ended" | "broken"): void {
    if (this.isOver) return;
    this.isOver = true;
    this.#begin(undefined);
    this.#finish(how);
  }
}

/** Event of a stream. */
export interface SseEvent {
  readonly id: string | undefined;
  readonly data: string;
}

/** Reads the events of a stream part by part. */
export class EventReader {
  readonly #onEvent: (event: SseEvent) => void;
  #rest = "";

  constructor(onEvent: (event: SseEvent) => void) {
    this.#onEvent = onEvent;
  }

  push(text: string): void {
    const blocks = (this.#rest + text).split("\n\n");
    this.#rest = blocks.pop() ?? "";
    for (const block of blocks) this.#read(block);
  }

  #read(block: string): void {
    let id: string | undefined;
    let data: string | undefined;
    for (const line of block.split("\n")) {
      if (line.startsWith("id:")) id = line.slice(3).trim();
      else if (line.startsWith("data:")) data = line.slice(5).trimStart();
    }
    if (id !== undefined || data !== undefined) this.#onEvent({ id, data: data ?? "" });
  }
}
