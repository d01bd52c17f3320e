import { type Clock, systemClock } from "../call/clock.js";
import { type Deadline, DeadlineQueue } from "../call/deadline-queue.js";
import { BodiesFull, type BodyFailure, BodyTimeout, BodyTooLarge } from "./body-failure.js";

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
  count = 0;
  /** Bytes that wait for the rest of their bodies. */
  bytes = 0;
  readonly #maxBytes: number;
  readonly deadlines: DeadlineQueue<IncomingBody>;

  constructor({ maxBodiesBytes, bodyTimeoutMs } = UNLIMITED, clock: Clock = systemClock) {
    this.#maxBytes = maxBodiesBytes;
    const onDue = (body: IncomingBody) => body.onFailure(new BodyTimeout(bodyTimeoutMs));
    this.deadlines = new DeadlineQueue(clock, bodyTimeoutMs, onDue, true);
  }

  /** Counts bytes in, or tells that there is no room. */
  take(bytes: number): BodiesFull | undefined {
    if (this.bytes + bytes > this.#maxBytes) return new BodiesFull(this.#maxBytes);
    this.bytes += bytes;
    return undefined;
  }
}

/** One request body as it comes. `declared` is its announced length, NaN without one. `onFailure` hears of one that stopped coming. */
export class IncomingBody {
  readonly onFailure: (failure: BodyFailure) => void;
  readonly #bodies: RequestBodies;
  readonly #limit: number;
  readonly #declared: number;
  /** The first piece itself, or a copy of all with room for more. */
  #bytes: Uint8Array | undefined;
  #size = 0;
  #counted = 0;
  #deadline: Deadline<IncomingBody> | undefined;
  #open = true;

  constructor(bodies: RequestBodies, limit: number, declared: number, onFailure: (failure: BodyFailure) => void) {
    this.#bodies = bodies;
    this.#limit = limit;
    this.#declared = declared;
    this.onFailure = onFailure;
    bodies.count++;
  }

  /** Takes a piece, or tells why the body cannot be had. A body that comes in one piece is not counted. */
  add(piece: Uint8Array): BodyFailure | undefined {
    const size = this.#size + piece.byteLength;
    if (size > this.#limit) return new BodyTooLarge(this.#limit);
    if (this.#size > 0 || size !== this.#declared) {
      const full = this.#bodies.take(size - this.#counted);
      if (full !== undefined) return full;
      this.#counted = size;
      this.#waitForMore();
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
    this.#bodies.count--;
    this.#bodies.bytes -= this.#counted;
    this.#deadline?.leave();
    this.#bytes = undefined;
    return true;
  }

  #waitForMore(): void {
    const { deadlines } = this.#bodies;
    if (this.#deadline === undefined) this.#deadline = deadlines.add(this);
    else deadlines.touch(this.#deadline);
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
