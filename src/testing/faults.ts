import { type Clock, systemClock } from "../call/clock.js";
import { ConnectionError } from "../protocol/errors.js";
import type { Channel, ChannelEvents } from "../protocol/jsonrpc/channel.js";

/**
 * What becomes of a frame: `hold` keeps it back until the next one has passed, so that the two change places; `delayMs`
 * lets others pass it meanwhile.
 */
export type Fate = "pass" | "drop" | "duplicate" | "hold" | { readonly delayMs: number };

/** What goes wrong in one direction. */
export interface Faults {
  /** The wire is cut after so many bytes, each frame counted with its line end: a frame cut in two is lost. */
  readonly cutAt?: number;
  /** The fate of each frame, by its text and its place in the order. Every frame passes unless told otherwise. */
  readonly fate?: (frame: string, index: number) => Fate;
}

export interface FaultyChannel extends Channel {
  /** Cuts the wire now: both sides lose the connection, and what is under way. */
  cut(reason?: Error): void;
  /** Stops a direction: frames wait. */
  stall(direction: Direction): void;
  /** Lets what waits in a direction pass, in order, and all that follows. */
  flow(direction: Direction): void;
}

export type Direction = "send" | "receive";

export interface FaultOptions {
  /** What goes wrong with what the owner of the channel sends. */
  readonly send?: Faults;
  /** What goes wrong with what the owner of the channel receives. */
  readonly receive?: Faults;
  /** For delays. */
  readonly clock?: Clock;
}

/** A channel on which things go wrong as told: for tests of what a client or a server makes of it. */
export function withFaults(channel: Channel, options: FaultOptions): FaultyChannel {
  return new FaultyChannelImpl(channel, options);
}

class FaultyChannelImpl implements FaultyChannel {
  readonly #inner: Channel;
  readonly #lanes: Readonly<Record<Direction, Lane>>;
  #events: ChannelEvents | undefined;
  #cut: Error | undefined;

  constructor(inner: Channel, options: FaultOptions) {
    const clock = options.clock ?? systemClock;
    const cut = () => this.cut();
    this.#inner = inner;
    this.#lanes = {
      send: new Lane(options.send ?? {}, clock, (frame) => void this.#forward(frame), cut),
      receive: new Lane(options.receive ?? {}, clock, (frame) => this.#events?.onFrame(frame), cut),
    };
  }

  open(events: ChannelEvents): void | Promise<void> {
    this.#events = events;
    return this.#inner.open({
      onFrame: (text) => this.#lanes.receive.take(text),
      onProblem: (problem) => this.#events?.onProblem(problem),
      onClose: (reason) => this.#tellClosed(reason),
    });
  }

  /** A frame that is lost on the way was written all the same: the sender cannot know. */
  send(text: string): void | Promise<void> {
    if (this.#events !== undefined && this.#cut === undefined) return this.#lanes.send.take(text);
    const state = this.#cut === undefined ? "not open" : "cut";
    const message = `The wire is ${state}: the frame was not sent`;
    return Promise.reject(new ConnectionError(message, { delivery: "not_sent", cause: this.#cut }));
  }

  close(): Promise<void> {
    this.#lanes.send.flow();
    return this.#inner.close();
  }

  cut(reason: Error = new ConnectionError("The wire was cut", { delivery: "sent" })): void {
    if (this.#cut !== undefined) return;
    this.#cut = reason;
    // Whoever sent the last frame is done with it before it hears of the cut.
    queueMicrotask(() => {
      this.#tellClosed(reason);
      void this.#inner.close();
    });
  }

  stall(direction: Direction): void {
    this.#lanes[direction].stall();
  }

  flow(direction: Direction): void {
    this.#lanes[direction].flow();
  }

  async #forward(frame: string): Promise<void> {
    try {
      await this.#inner.send(frame);
    } catch {
      // The other side is gone, and the channel's end tells so.
    }
  }

  #tellClosed(reason: Error | undefined): void {
    const events = this.#events;
    this.#events = undefined;
    this.#lanes.send.shut();
    this.#lanes.receive.shut();
    events?.onClose(this.#cut ?? reason);
  }
}

/** One direction of the wire. */
class Lane {
  readonly #faults: Faults;
  readonly #clock: Clock;
  readonly #deliver: (frame: string) => void;
  readonly #cut: () => void;
  readonly #timers = new Set<unknown>();
  #waiting: string[] | undefined;
  #held: string | undefined;
  #index = 0;
  #bytes = 0;
  #open = true;

  constructor(faults: Faults, clock: Clock, deliver: (frame: string) => void, cut: () => void) {
    this.#faults = faults;
    this.#clock = clock;
    this.#deliver = deliver;
    this.#cut = cut;
  }

  take(frame: string): void {
    if (!this.#open) return;
    if (this.#waiting !== undefined) this.#waiting.push(frame);
    else this.#meetFate(frame, this.#faults.fate?.(frame, this.#index++) ?? "pass");
  }

  stall(): void {
    this.#waiting ??= [];
  }

  flow(): void {
    const waiting = this.#waiting ?? [];
    this.#waiting = undefined;
    for (const frame of waiting) this.take(frame);
    this.#releaseHeld();
  }

  shut(): void {
    this.#open = false;
    this.#waiting = undefined;
    this.#held = undefined;
    for (const timer of this.#timers) this.#clock.cancel(timer);
    this.#timers.clear();
  }

  #meetFate(frame: string, fate: Fate): void {
    if (fate === "drop") return;
    if (fate === "hold") {
      this.#releaseHeld();
      this.#held = frame;
      return;
    }
    if (typeof fate === "object") return this.#delay(frame, fate.delayMs);
    this.#pass(frame);
    if (fate === "duplicate") this.#pass(frame);
    this.#releaseHeld();
  }

  #releaseHeld(): void {
    const held = this.#held;
    this.#held = undefined;
    if (held !== undefined) this.#pass(held);
  }

  #delay(frame: string, ms: number): void {
    const timer = this.#clock.schedule(() => {
      this.#timers.delete(timer);
      this.#pass(frame);
    }, ms);
    this.#timers.add(timer);
  }

  #pass(frame: string): void {
    if (!this.#open) return;
    const { cutAt = Number.POSITIVE_INFINITY } = this.#faults;
    this.#bytes += new TextEncoder().encode(frame).length + 1;
    if (this.#bytes <= cutAt) this.#deliver(frame);
    if (this.#bytes < cutAt) return;
    this.#open = false;
    this.#cut();
  }
}
