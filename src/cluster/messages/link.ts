import type { ClusterFailure } from "../error.js";
import type { Store, StoreLogs } from "../store.js";

type Operations = Omit<Store, "connect" | "isUp" | "close" | "logs" | "listenAgain"> & {
  readonly [Name in keyof StoreLogs as `logs.${Name}`]: StoreLogs[Name];
};

export type OperationName = keyof Operations;

/** Operation that a process asks the host to carry out, under an id. Its arguments and its result pass through JSON. */
export type HostCall<Name extends OperationName = OperationName> = readonly [
  id: number,
  name: Name,
  args: Parameters<Operations[Name]>,
];

export type ResultOf<Name extends OperationName> = Awaited<ReturnType<Operations[Name]>>;

/** Message to the host. */
export type ToHost = HostCall | readonly ["leave"];

/** Message of the host. */
export type FromHost =
  | readonly ["value", id: number, value?: unknown]
  | readonly ["failed", id: number, failure: ClusterFailure, message: string]
  | readonly ["text", text: string]
  /** Texts were dropped, since the process did not read. */
  | readonly ["missed"];

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
