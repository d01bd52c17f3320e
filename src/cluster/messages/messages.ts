import type { ClusterFailure } from "../error.js";
import type { HostOperations } from "./host-operations.js";

export type OperationName = keyof HostOperations;

/** Operation that a process asks the host to carry out. It is answered under its id, which is above 0. */
export type HostCall = readonly [id: number, name: OperationName, args: readonly unknown[]];

/** Message to the host. An iteration gets a page of items for `open` and each `more`. */
export type ToHost =
  | HostCall
  | readonly ["open", iteration: number, name: "follow" | "openOf", args: readonly unknown[]]
  | readonly ["more", iteration: number]
  | readonly ["stop", iteration: number]
  | readonly ["leave"];

/** Message of the host. */
export type FromHost =
  | readonly ["value", id: number, value?: unknown]
  | readonly ["failed", id: number, failure: ClusterFailure, message: string]
  | readonly ["heard", topic: string, text: string, from: string]
  /** Messages of topics were dropped, since the process did not read. */
  | readonly ["gap"]
  /** A job may be ready. */
  | readonly ["jobs"]
  | readonly ["item", iteration: number, item: unknown]
  | readonly ["ended", iteration: number, failure?: ClusterFailure, message?: string];

/** Way to the other process. Its messages arrive in order, or not at all after its end. */
export interface MessageLink<Message> {
  /** Sends messages as one. `written` is called when more can be sent. */
  send(batch: readonly Message[], written: () => void): void;
  /** Runs a function after the events of this turn of the event loop. */
  later(run: () => void): void;
}

/** Messages that are sent together, once per turn of the event loop and only when the earlier ones are written. */
export class Outbox<Message> {
  readonly #link: MessageLink<Message>;
  #waiting: Message[] = [];
  #isPlanned = false;
  #isWriting = false;

  constructor(link: MessageLink<Message>) {
    this.#link = link;
  }

  /** Number of messages that are not sent yet. */
  get size(): number {
    return this.#waiting.length;
  }

  post(message: Message): void {
    this.#waiting.push(message);
    if (this.#isPlanned || this.#isWriting) return;
    this.#isPlanned = true;
    this.#link.later(() => {
      this.#isPlanned = false;
      this.flush();
    });
  }

  /** Sends the messages now, unless earlier ones are being written. */
  flush(): void {
    if (this.#isWriting || this.#waiting.length === 0) return;
    const batch = this.#waiting;
    this.#waiting = [];
    this.#isWriting = true;
    this.#link.send(batch, () => {
      this.#isWriting = false;
      this.flush();
    });
  }

  /** Removes messages that are not sent yet. Returns their number. */
  remove(fits: (message: Message) => boolean): number {
    const before = this.#waiting.length;
    this.#waiting = this.#waiting.filter((message) => !fits(message));
    return before - this.#waiting.length;
  }
}
