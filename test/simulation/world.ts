import type { Dice } from "./dice.js";
import type { History, SessionRecord } from "./history.js";
import { EventReader, Flight, type Head, type Network, type SseEvent } from "./http.js";
import type { SimNode } from "./node.js";
import type { Scheduler } from "./scheduler.js";

export interface Outgoing {
  readonly method: "POST" | "GET" | "DELETE";
  readonly principal: string;
  readonly session?: string | undefined;
  readonly lastEventId?: string | undefined;
  readonly message?: object | undefined;
  readonly headers?: { readonly [name: string]: string };
  readonly onEvent?: (event: SseEvent) => void;
}

/** Interval in which a node, or all of them, could not work as usual. */
interface Trouble {
  readonly node: string | undefined;
  readonly from: number;
  to: number;
}

/** Everything that the parts of a run share. */
export class World {
  readonly nodes: SimNode[] = [];
  readonly #troubles: Trouble[] = [];
  /** Percent of connections that break. */
  cuts = 0;
  /** True after the clients have been told to finish. */
  isClosing = false;
  /** True after the last check. Nothing waits any more. */
  isOver = false;

  constructor(
    readonly scheduler: Scheduler,
    readonly dice: Dice,
    readonly network: Network,
    readonly history: History,
    readonly isResumable: boolean,
  ) {}

  now(): number {
    return this.scheduler.now();
  }

  sleep(ms: number): Promise<void> {
    return this.scheduler.sleep(ms);
  }

  /** Begins a trouble of a node or, without one, of all. Returns a function that ends it. */
  trouble(node?: string): () => void {
    const trouble: Trouble = { node, from: this.now(), to: Number.POSITIVE_INFINITY };
    this.#troubles.push(trouble);
    return () => {
      trouble.to = this.now();
    };
  }

  /** True if a node, or, without a name, any node, was in trouble after a time. */
  wasTroubled(since: number, node?: string): boolean {
    return this.#troubles.some(
      (trouble) => trouble.to >= since && (node === undefined || trouble.node === undefined || trouble.node === node),
    );
  }

  /** Sends a request to some node. Returns undefined if no connection could be made. */
  async send(outgoing: Outgoing, node = this.dice.pick(this.nodes)): Promise<Flight | undefined> {
    const { method, principal, session, lastEventId, message, onEvent, headers: more } = outgoing;
    if (!node.isReachable) {
      await this.sleep(this.dice.between(0.2, 2));
      return undefined;
    }
    const headers = {
      accept: "application/json, text/event-stream",
      ...(method === "POST" && { "content-type": "application/json" }),
      ...(session !== undefined && { "mcp-session-id": session }),
      ...(lastEventId !== undefined && { "last-event-id": lastEventId }),
      ...more,
    };
    const body = message === undefined ? undefined : JSON.stringify({ jsonrpc: "2.0", ...message });
    const request = { method, headers, principal, ...(body !== undefined && { body }) };
    const flight = new Flight(this.network, node.process, request, (exchange) => node.server.handle(exchange));
    this.history.note(`${principal} ${method} ${session ?? ""} ${lastEventId ?? ""} ${body ?? ""} to ${node.name}`);
    this.#read(flight, onEvent);
    node.flights.add(flight);
    flight.over.then((how) => {
      node.flights.delete(flight);
      this.history.note(`${principal} ${method} ${session ?? ""} ${how} by ${node.name}, ${flight.response?.status}`);
    });
    if (this.dice.chance(this.cuts)) this.#cutLater(flight);
    return flight;
  }

  /** Repeats a request that may be repeated, until there is a response other than 503. */
  async insist(
    outgoing: Outgoing | (() => Outgoing),
    isWanted: () => boolean,
  ): Promise<{ flight: Flight; head: Head } | undefined> {
    while (isWanted() && !this.isOver) {
      const flight = await this.send(typeof outgoing === "function" ? outgoing() : outgoing);
      if (flight !== undefined) {
        const head = await this.#headOf(flight);
        if (head !== undefined && head.status !== 503) return { flight, head };
      }
      await this.sleep(this.dice.between(50, 700));
    }
    return undefined;
  }

  /** True if a session that a client did not end may have ended. */
  mayHaveEnded({ endedAt, isEnding, isLeft }: SessionRecord): boolean {
    return endedAt !== undefined || isEnding || isLeft;
  }

  /** Waits for the head, and gives up after some seconds. */
  async #headOf(flight: Flight): Promise<Head | undefined> {
    const timer = this.scheduler.schedule(() => {
      if (flight.response === undefined) flight.break(1);
    }, 5_000);
    const head = await flight.head;
    this.scheduler.cancel(timer);
    return head;
  }

  #read(flight: Flight, onEvent: ((event: SseEvent) => void) | undefined): void {
    const reader = new EventReader((event) => {
      this.history.note(`${flight.principal} gets ${event.id ?? ""} ${event.data}`);
      onEvent?.(event);
    });
    let body = "";
    flight.onText = (text) => {
      if (flight.response?.headers["content-type"] === "text/event-stream") return reader.push(text);
      body += text;
    };
    flight.over.then((how) => {
      if (how === "ended" && body !== "" && flight.response?.status === 200) onEvent?.({ id: undefined, data: body });
    });
  }

  #cutLater(flight: Flight): void {
    const { dice } = this;
    const learnedMs = dice.chance(70) ? dice.between(0.2, 5) : dice.between(5, 3_000);
    const afterMs = dice.chance(50) ? dice.between(0.1, 10) : dice.between(1, 3_000);
    this.scheduler.schedule(() => {
      if (flight.isOver) return;
      this.history.count("cut connections");
      this.history.note("a connection of a client breaks");
      flight.break(learnedMs);
    }, afterMs);
  }
}
