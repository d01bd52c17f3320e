import { type Clock, systemClock } from "../call/clock.js";
import { BodiesFull, type BodyFailure, BodyTimeout, BodyTooLarge } from "./body-failure.js";
import { KeepAlive, type Quiet } from "./sse/keep-alive.js";

export interface RequestBodiesLimits {
  readonly maxBodiesBytes: number;
  readonly bodyTimeoutMs: number;
}

const UNLIMITED: RequestBodiesLimits = {
  maxBodiesBytes: Number.POSITIVE_INFINITY,
  bodyTimeoutMs: Number.POSITIVE_INFINITY,
};
/** Shared: a decoder keeps nothing between whole texts. Takes a byte order mark away. */
const decoder = new TextDecoder("utf-8", { fatal: true });

/**
 * The request bodies that are under way to a server. Each costs the bytes that have come: a length that is only announced
 * costs nothing, so that slow senders cannot reserve the room of others. The body whose next bytes have no room is refused.
 */
export class RequestBodies {
  /** Bodies that are under way. */
  open = 0;
  /** Bytes that wait for the rest of their bodies. */
  bytes = 0;
  readonly limits: RequestBodiesLimits;
  readonly clock: Clock;
  /** Those that wait for more. */
  readonly #waiting: KeepAlive<IncomingBody>;
  #onNone: (() => void)[] = [];

  constructor(limits = UNLIMITED, clock: Clock = systemClock) {
    this.limits = limits;
    this.clock = clock;
    this.#waiting = new KeepAlive(clock, limits.bodyTimeoutMs);
  }

  /** Counts a body with so many bytes, or tells that there is no room. */
  count(body: IncomingBody, bytes: number): BodiesFull | undefined {
    const { maxBodiesBytes } = this.limits;
    const more = bytes - body.counted;
    if (this.bytes + more > maxBodiesBytes) return new BodiesFull(maxBodiesBytes);
    if (body.counted === 0) this.#waiting.add(body);
    this.bytes += more;
    body.counted = bytes;
    body.spokeAt = this.clock.now();
    return undefined;
  }

  /** Resolves when no body is under way. */
  idle(): Promise<void> | undefined {
    return this.open === 0 ? undefined : new Promise((resolve) => this.#onNone.push(resolve));
  }

  forget(body: IncomingBody): void {
    if (--this.open === 0) for (const resolve of this.#onNone.splice(0)) resolve();
    this.bytes -= body.counted;
    if (body.counted === 0) return;
    this.#waiting.delete(body);
    if (this.#waiting.size === 0) this.#waiting.stop();
  }
}

/** One request body as it comes. `declared` is its announced length, NaN without one; `onFailure` hears when it stops coming. */
export class IncomingBody implements Quiet {
  /** When bytes came last. */
  spokeAt = 0;
  /** The bytes that are counted among those of all bodies. */
  counted = 0;
  readonly #onFailure: (failure: BodyFailure) => void;
  readonly #bodies: RequestBodies;
  readonly #limit: number;
  readonly #declared: number;
  /** The first piece itself, or a copy of all with room for more. */
  #bytes: Uint8Array | undefined;
  #size = 0;
  #open = true;

  constructor(bodies: RequestBodies, limit: number, declared: number, onFailure: (failure: BodyFailure) => void) {
    this.#bodies = bodies;
    this.#limit = limit;
    this.#declared = declared;
    this.#onFailure = onFailure;
    bodies.open++;
  }

  /** Takes a piece, or tells why the body cannot be had. A body that comes in one piece is not counted. */
  add(piece: Uint8Array): BodyFailure | undefined {
    const size = this.#size + piece.byteLength;
    if (size > this.#limit) return new BodyTooLarge(this.#limit);
    const isWhole = this.#size === 0 && (size === this.#declared || size === 0);
    if (!isWhole) {
      const full = this.#bodies.count(this, size);
      if (full !== undefined) return full;
    }
    this.#append(piece, size);
    return undefined;
  }

  /** The whole body; undefined if it is not UTF-8. */
  text(): string | undefined {
    try {
      return this.#bytes === undefined ? "" : decoder.decode(this.#bytes.subarray(0, this.#size));
    } catch {
      return undefined;
    }
  }

  /** Gives back its room. False if it has. */
  close(): boolean {
    if (!this.#open) return false;
    this.#open = false;
    this.#bodies.forget(this);
    this.#bytes = undefined;
    return true;
  }

  /** Nothing has come for long. */
  onQuiet(): void {
    this.#onFailure(new BodyTimeout(this.#bodies.limits.bodyTimeoutMs));
  }

  /** Copies into a buffer that doubles: a list of pieces would cost far more than its bytes where each piece is tiny. */
  #append(piece: Uint8Array, size: number): void {
    const old = this.#bytes;
    if (old === undefined) this.#bytes = piece;
    else {
      if (size > old.byteLength) {
        this.#bytes = new Uint8Array(Math.min(size * 2, this.#limit));
        this.#bytes.set(old.subarray(0, this.#size));
      }
      this.#bytes?.set(piece, this.#size);
    }
    this.#size = size;
  }
}
