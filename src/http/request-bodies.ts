import { type Clock, systemClock } from "../call/clock.js";
import { BodiesFull, type BodyFailure, BodyTimeout, BodyTooLarge } from "./body-failure.js";
import type { OpenBodies } from "./exchange.js";
import { KeepAlive, type Quiet } from "./sse/keep-alive.js";

/** Limits of {@link RequestBodies}. */
export interface RequestBodiesLimits {
  readonly maxBodiesBytes: number;
  readonly bodyTimeoutMs: number;
  readonly maxBodyMs: number;
}

const UNLIMITED: RequestBodiesLimits = {
  maxBodiesBytes: Number.POSITIVE_INFINITY,
  bodyTimeoutMs: Number.POSITIVE_INFINITY,
  maxBodyMs: Number.POSITIVE_INFINITY,
};
/** Shared, since the decoder keeps no state between complete texts. Removes a byte order mark. */
const decoder = new TextDecoder("utf-8", { fatal: true });

/**
 * Request bodies that a server is receiving. A body counts with the bytes that have arrived. A declared length does not
 * count, so that slow clients cannot reserve the memory of others. A body is refused if its next bytes exceed the
 * limit.
 */
export class RequestBodies implements OpenBodies {
  /** Number of bodies being received. */
  open = 0;
  /** Number of bytes that wait for the rest of their bodies. */
  bytes = 0;
  readonly limits: RequestBodiesLimits;
  readonly clock: Clock;
  readonly #pauseMs: number;
  readonly #totalMs: number;
  /** Time that a body is given from its `spokeAt`. */
  readonly #intervalMs: number;
  /** Bodies that wait for bytes. */
  readonly #waiting: KeepAlive<IncomingBody>;
  #onNone: (() => void)[] = [];
  /** Number of requests whose bodies are read at the end of this turn. */
  #arriving = 0;

  constructor(limits = UNLIMITED, clock: Clock = systemClock) {
    this.limits = limits;
    this.clock = clock;
    this.#pauseMs = limits.bodyTimeoutMs || Number.POSITIVE_INFINITY;
    this.#totalMs = limits.maxBodyMs || Number.POSITIVE_INFINITY;
    this.#intervalMs = Math.min(this.#pauseMs, this.#totalMs);
    this.#waiting = new KeepAlive(clock, this.#intervalMs);
  }

  /** Records that the rest of a request is read at the end of this turn. */
  arrive(): void {
    this.#arriving++;
  }

  /** Records that it was read, or is awaited. */
  arrived(): void {
    this.#arriving--;
    this.#tellIfNone();
  }

  /** Begins to wait for a body, also for its first bytes. */
  expect(body: IncomingBody): void {
    this.open++;
    body.beganAt = this.clock.now();
    this.#renew(body);
    this.#waiting.add(body);
  }

  /** Counts a body with this number of bytes. Returns an error if the limit is exceeded. */
  count(body: IncomingBody, bytes: number): BodiesFull | undefined {
    const { maxBodiesBytes } = this.limits;
    const more = bytes - body.counted;
    if (this.bytes + more > maxBodiesBytes) return new BodiesFull(maxBodiesBytes);
    this.bytes += more;
    body.counted = bytes;
    this.#renew(body);
    return undefined;
  }

  /** Gives a body the time until its next bytes, or what is left of its time in total. */
  #renew(body: IncomingBody): void {
    const now = this.clock.now();
    const leftMs = body.beganAt + this.#totalMs - now;
    body.isLate = leftMs <= this.#pauseMs;
    body.spokeAt = now + Math.min(this.#pauseMs, leftMs) - this.#intervalMs;
  }

  /** Resolves when no body is being received. Returns undefined if there is none now. */
  idle(): Promise<void> | undefined {
    return this.open + this.#arriving === 0 ? undefined : new Promise((resolve) => this.#onNone.push(resolve));
  }

  #tellIfNone(): void {
    if (this.open + this.#arriving === 0) for (const resolve of this.#onNone.splice(0)) resolve();
  }

  forget(body: IncomingBody): void {
    this.open--;
    this.#tellIfNone();
    this.bytes -= body.counted;
    this.#waiting.delete(body);
    // Most bodies arrive at once. For them the timer is left to lapse, so that not each of them starts one.
    if (body.counted > 0 && this.#waiting.size === 0) this.#waiting.stop();
  }
}

/**
 * Request body that is being received. `declared` is its Content-Length, or NaN. `onFailure` is called if no bytes arrive
 * for `bodyTimeoutMs`, or if the body has not arrived within `maxBodyMs`.
 */
export class IncomingBody implements Quiet {
  /** Time from which the body is given the interval of its timer. */
  spokeAt = 0;
  beganAt = 0;
  /** True if its time in total ends before the time until its next bytes. */
  isLate = false;
  /** Bytes of this body that are counted in the total. */
  counted = 0;
  readonly #onFailure: (failure: BodyFailure) => void;
  readonly #bodies: RequestBodies;
  readonly #limit: number;
  readonly #declared: number;
  /** First piece itself, or a copy of all pieces with room for more. */
  #bytes: Uint8Array | undefined;
  #size = 0;
  #open = true;

  constructor(bodies: RequestBodies, limit: number, declared: number, onFailure: (failure: BodyFailure) => void) {
    this.#bodies = bodies;
    this.#limit = limit;
    this.#declared = declared;
    this.#onFailure = onFailure;
    bodies.expect(this);
  }

  /** Adds a piece. Returns an error if the body is refused. A piece with the whole declared length is not counted. */
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

  /** Returns the whole body, or undefined if it is not UTF-8. */
  text(): string | undefined {
    return this.#bytes === undefined ? "" : decodeBody(this.#bytes.subarray(0, this.#size));
  }

  /** Releases the body. Returns false if it was already released. */
  close(): boolean {
    if (!this.#open) return false;
    this.#open = false;
    this.#bodies.forget(this);
    this.#bytes = undefined;
    return true;
  }

  /** Fails the body, because its time is over. */
  onQuiet(): void {
    this.#onFailure(new BodyTimeout(this.#bodies.limits, this.isLate ? "maxBodyMs" : "bodyTimeoutMs"));
  }

  /** Copies a piece into a buffer that doubles. A list of tiny pieces would use far more memory than their bytes. */
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

/** Returns a body as text, or undefined if it is not UTF-8. */
export function decodeBody(bytes: Uint8Array): string | undefined {
  try {
    return decoder.decode(bytes);
  } catch {
    return undefined;
  }
}
