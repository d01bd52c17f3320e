import { type Clock, unref } from "../call/clock.js";
import type { Params } from "../protocol/jsonrpc/message.js";
import { type Change, toNotification } from "../store/change-bus.js";

/** Writes a notification. If the write buffer is full, returns a promise that settles when there is room again. */
type Write = (method: string, params: Params) => void | Promise<void>;

/** Milliseconds that a client with too many waiting changes has to read again before its subscription is dropped. */
const STALLED_MS = 1_000;

/**
 * Queue of change notifications for one client. While the write buffer is full, changes wait. Equal changes are merged,
 * so that no more wait than the client subscribed to. A burst of changes in one turn is not an overflow: the client has
 * time to read.
 */
export class ChangeOutbox {
  readonly #write: Write;
  readonly #clock: Clock;
  readonly #most: number;
  readonly #onOverflow: () => void;
  readonly #waiting = new Map<string, Change>();
  #stalled: unknown;
  #full = false;

  /** `onOverflow` is called when more than `most` changes wait and the client does not read. */
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

  /** Writes all waiting changes, even if the write buffer is full. */
  flush(): void {
    for (const change of this.#take()) this.#sendChange(change);
  }

  /** Discards all waiting changes. */
  close(): void {
    this.#take();
  }

  /** Writes a notification at once, ahead of waiting changes. */
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
