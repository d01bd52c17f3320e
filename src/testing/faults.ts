import { type Clock, systemClock } from "../call/clock.js";
import { ConnectionError } from "../protocol/errors.js";
import type { Channel, ChannelEvents } from "../protocol/jsonrpc/channel.js";
import { assertOptions, type Known } from "../protocol/known-options.js";

/**
 * Treatment of a frame. `hold` keeps the frame back until the next one has passed, so that the two swap places.
 * `delayMs` delays the frame while later ones may pass.
 */
export type Fate = "pass" | "drop" | "duplicate" | "hold" | { readonly delayMs: number };

/** Faults of one direction. */
export interface Faults {
  /**
   * Number of bytes after which the channel is cut, each frame counted with its line end. A frame that is cut in two is
   * lost.
   */
  readonly cutAt?: number | undefined;
  /** Chooses the treatment of each frame by its text and its index. Without it every frame passes. */
  readonly fate?: ((frame: string, index: number) => Fate) | undefined;
}

/** Channel with faults. It can be cut and stalled at any time. */
export interface FaultyChannel extends Channel {
  /** Cuts the channel now. Both sides lose the connection and all frames in transit. */
  cut(reason?: Error): void;
  /** Stops one direction: its frames wait. */
  stall(direction: Direction): void;
  /** Releases the frames that wait or are held in one direction, and lets later ones pass. */
  flow(direction: Direction): void;
}

export type Direction = "send" | "receive";

export interface FaultOptions {
  /** Faults of the frames that the owner of the channel sends. */
  readonly send?: Faults | undefined;
  /** Faults of the frames that the owner of the channel receives. */
  readonly receive?: Faults | undefined;
  /** Called with each fault and its direction, for `recording.add({ k: "fault", what })`. A cut has no direction. */
  readonly onFault?: ((what: string, direction: Direction | undefined) => void) | undefined;
  /** Clock for `delayMs`. */
  readonly clock?: Clock | undefined;
}

const FAULTS: Known<Faults> = { cutAt: "limit", fate: "function" };
const OPTIONS: Known<FaultOptions> = { send: FAULTS, receive: FAULTS, onFault: "function", clock: "object" };

/** Wraps a channel with faults, to test how a client or a server handles them. */
export function withFaults(channel: Channel, options: FaultOptions): FaultyChannel {
  assertOptions({ withFaults }, options, OPTIONS);
  return new FaultyChannelImpl(channel, options);
}

class FaultyChannelImpl implements FaultyChannel {
  readonly #inner: Channel;
  readonly #lanes: Readonly<Record<Direction, Lane>>;
  readonly #onFault: FaultOptions["onFault"];
  #events: ChannelEvents | undefined;
  #cut: Error | undefined;

  constructor(inner: Channel, options: FaultOptions) {
    const { clock = systemClock, onFault } = options;
    const laneOf = (direction: Direction, deliver: (frame: string) => void) =>
      new Lane(options[direction] ?? {}, {
        clock,
        deliver,
        cut: () => this.cut(),
        tell: (what) => onFault?.(what, direction),
      });
    this.#inner = inner;
    this.#onFault = onFault;
    this.#lanes = {
      send: laneOf("send", (frame) => void this.#forward(frame)),
      receive: laneOf("receive", (frame) => this.#events?.onFrame(frame)),
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

  /** Resolves for a frame that is lost later, because a real sender cannot know of the loss either. */
  send(text: string): void | Promise<void> {
    if (this.#events !== undefined && this.#cut === undefined) return this.#lanes.send.take(text);
    const state = this.#cut === undefined ? "not open" : "cut";
    const message = `The channel is ${state}: the frame was not sent`;
    return Promise.reject(new ConnectionError(message, { delivery: "not_sent", cause: this.#cut }));
  }

  close(): Promise<void> {
    this.#lanes.send.flow();
    return this.#inner.close();
  }

  cut(reason: Error = new ConnectionError("The channel was cut", { delivery: "sent" })): void {
    if (this.#cut !== undefined) return;
    this.#cut = reason;
    this.#onFault?.("cut", undefined);
    // Lets the `send` of the last frame return before the close is reported.
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
      // The peer is gone. `onClose` of the channel reports that.
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

/** What a lane does with frames and faults. */
interface LaneEnds {
  readonly clock: Clock;
  readonly deliver: (frame: string) => void;
  readonly cut: () => void;
  readonly tell: (what: string) => void;
}

/** One direction of the channel. */
class Lane {
  readonly #faults: Faults;
  readonly #ends: LaneEnds;
  readonly #timers = new Set<unknown>();
  #waiting: string[] | undefined;
  #held: string | undefined;
  #index = 0;
  #bytes = 0;
  #open = true;

  constructor(faults: Faults, ends: LaneEnds) {
    this.#faults = faults;
    this.#ends = ends;
  }

  take(frame: string): void {
    if (!this.#open) return;
    if (this.#waiting !== undefined) this.#waiting.push(frame);
    else this.#meetFate(frame, this.#faults.fate?.(frame, this.#index++) ?? "pass");
  }

  stall(): void {
    if (this.#waiting !== undefined) return;
    this.#waiting = [];
    this.#ends.tell("stall");
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
    for (const timer of this.#timers) this.#ends.clock.cancel(timer);
    this.#timers.clear();
  }

  #meetFate(frame: string, fate: Fate): void {
    if (fate !== "pass") this.#ends.tell(typeof fate === "object" ? "delay" : fate);
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
    const timer = this.#ends.clock.schedule(() => {
      this.#timers.delete(timer);
      this.#pass(frame);
    }, ms);
    this.#timers.add(timer);
  }

  #pass(frame: string): void {
    if (!this.#open) return;
    const { cutAt = Number.POSITIVE_INFINITY } = this.#faults;
    this.#bytes += new TextEncoder().encode(frame).length + 1;
    if (this.#bytes <= cutAt) this.#ends.deliver(frame);
    if (this.#bytes < cutAt) return;
    this.#open = false;
    this.#ends.cut();
  }
}
