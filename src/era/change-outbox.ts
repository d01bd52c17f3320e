import { type Clock, unref } from "../call/clock.js";
import type { Params } from "../protocol/jsonrpc/message.js";
import { type Change, toNotification } from "../store/change-bus.js";

/** Writes a notification. Gives a promise where the wire is full. */
type Write = (method: string, params: Params) => void | Promise<void>;

/** A reader that takes nothing for so long, while more changes wait than may, does not read. */
const STALLED_MS = 1_000;

/**
 * Changes on their way to one client. While the wire is full, changes wait, equal ones once, so that no more wait than the
 * client watches. A burst of changes in one turn is no overflow: a reader is given time to take what was written.
 */
export class ChangeOutbox {
  readonly #write: Write;
  readonly #clock: Clock;
  readonly #most: number;
  readonly #onOverflow: () => void;
  readonly #waiting = new Map<string, Change>();
  #stalled: unknown;
  #full = false;

  /** `onOverflow` is called when more than `most` changes wait for a reader that does not read. */
  constructor(write: Write, clock: Clock, most: number, onOverflow: () => void) {
    this.#write = write;
    this.#clock = clock;
    this.#most = most;
    this.#onOverflow = onOverflow;
  }

  add(change: Change): void {
    if (!this.#full) return this.#sendChange(change);
    this.#waiting.set(change.kind === "resource" ? change.uri : ` ${change.kind}`, change);
    if (this.#waiting.size <= this.#most || this.#stalled !== undefined) return;
    this.#stalled = this.#clock.schedule(this.#onOverflow, STALLED_MS);
    unref(this.#stalled);
  }

  /** Hands over all that waits, whether or not the wire has room. */
  flush(): void {
    for (const change of this.#take()) this.#sendChange(change);
  }

  /** Drops what waits. */
  close(): void {
    this.#take();
  }

  /** Sends what does not wait for its turn. */
  send(method: string, params: Params): void | Promise<void> {
    const written = this.#write(method, params);
    if (written === undefined || this.#full) return written;
    this.#full = true;
    const onRoom = () => {
      this.#full = false;
      for (const change of this.#take()) this.add(change);
    };
    return written.then(onRoom, onRoom);
  }

  #take(): Change[] {
    const changes = [...this.#waiting.values()];
    this.#waiting.clear();
    if (this.#stalled !== undefined) this.#clock.cancel(this.#stalled);
    this.#stalled = undefined;
    return changes;
  }

  #sendChange(change: Change): void {
    const { method, params } = toNotification(change);
    this.send(method, params);
  }
}
