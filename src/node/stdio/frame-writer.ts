import type { Writable } from "node:stream";
import { ConnectionError } from "../../protocol/errors.js";
import { toLine } from "../../protocol/jsonrpc/lines.js";

/** Signature of `Writable.write` that the writer uses. */
export type WriteLine = (line: string, written: (error?: Error | null) => void) => boolean;

interface Waiter {
  readonly promise: Promise<void>;
  resolve(): void;
  reject(reason: Error): void;
}

/**
 * Maximum size and maximum delay of lines that are gathered. The delay is measured by the time of day: Node takes a millisecond
 * to load `performance`, and a clock that is set only writes lines sooner, or at the end of the turn.
 */
const MOST_AT_ONCE = 16 * 1024;
const LONGEST_WAIT_MS = 1;

/**
 * Writes frames as lines to a byte stream, in order, with backpressure. The first frame of a turn of the event loop is
 * written at once. Frames that follow shortly are gathered and written together, since each write to a pipe is a system
 * call. Frames of a handler that runs long without a pause are still written meanwhile.
 */
export class FrameWriter {
  readonly #stream: Writable;
  readonly #write: WriteLine;
  readonly #onBroken: (cause: Error) => void;
  /** Lines that wait for the end of this turn. */
  #gathered = "";
  /** True if lines were written in this turn. `#wroteAt` is the time of the last write. */
  #inTurn = false;
  #wroteAt = 0;
  /** Number of writes that the stream has not completed. */
  #pending = 0;
  #room: Waiter | undefined;
  #idle: Waiter | undefined;
  #shut = false;

  /**
   * `onBroken` is called at most once, if the stream fails or closes before `detach`. Callers that wait for room are
   * rejected at `detach`, when the owner has had time to determine the cause.
   */
  constructor(stream: Writable, onBroken: (cause: Error) => void, write?: WriteLine) {
    this.#stream = stream;
    this.#onBroken = onBroken;
    this.#write = write ?? ((line, written) => stream.write(line, written));
    stream.on("drain", this.#onDrain).on("error", this.#onError).on("close", this.#onStreamClose);
  }

  /** Sends a frame, as `Channel.send` does. The caller may ignore the promise, even if it rejects. */
  send(text: string): void | Promise<void> {
    if (this.#shut)
      return refusal(new ConnectionError("The channel is closed: the frame was not sent", { delivery: "not_sent" }));
    this.#gathered += toLine(text);
    if (!this.#inTurn) {
      this.#inTurn = true;
      process.nextTick(this.#onTurnOver);
      this.flush();
    } else if (this.#gathered.length >= MOST_AT_ONCE || Date.now() - this.#wroteAt > LONGEST_WAIT_MS) {
      this.flush();
    }
    return this.#room?.promise;
  }

  /** Approximate number of bytes that wait to be written, since the peer does not read fast enough. */
  get waitingBytes(): number {
    return this.#stream.writableLength + this.#gathered.length;
  }

  /** Writes the gathered lines now. */
  flush(): void {
    if (this.#gathered === "") return;
    const lines = this.#gathered;
    this.#gathered = "";
    this.#wroteAt = Date.now();
    this.#pending++;
    if (!this.#write(lines, this.#onWritten)) this.#room ??= createWaiter();
  }

  /** Refuses further frames. Frames that were accepted are still written. */
  shut(): void {
    this.flush();
    this.#shut = true;
  }

  /** Resolves when all accepted frames have been written, or cannot be written any more. */
  flushed(): Promise<void> {
    this.flush();
    if (this.#pending === 0) return Promise.resolve();
    this.#idle ??= createWaiter();
    return this.#idle.promise;
  }

  /** Detaches from the stream. Frames that were not written are lost, and callers that wait learn the reason. */
  detach(reason?: Error): void {
    this.#abandonStream();
    this.#room?.reject(
      reason ?? new ConnectionError("The channel closed before the frame was written", { delivery: "sent" }),
    );
    this.#room = undefined;
  }

  readonly #onTurnOver = (): void => {
    this.#inTurn = false;
    this.flush();
  };

  readonly #onWritten = (error?: Error | null): void => {
    if (this.#pending > 0) this.#pending--;
    if (error || this.#pending > 0) return;
    this.#idle?.resolve();
    this.#idle = undefined;
  };

  readonly #onDrain = (): void => {
    this.#room?.resolve();
    this.#room = undefined;
  };

  readonly #onError = (cause: Error): void => {
    this.#abandonStream();
    // A broken stream may report the same failure again for data that is still queued.
    this.#stream.on("error", ignore);
    this.#onBroken(cause);
  };

  readonly #onStreamClose = (): void => {
    this.#abandonStream();
    this.#onBroken(new Error("The stream was closed"));
  };

  #abandonStream(): void {
    this.#stream.off("drain", this.#onDrain).off("error", this.#onError).off("close", this.#onStreamClose);
    this.#shut = true;
    this.#gathered = "";
    this.#pending = 0;
    this.#idle?.resolve();
    this.#idle = undefined;
  }
}

/** Returns a rejected promise that may stay unhandled. */
export function refusal(reason: Error | Promise<Error>): Promise<never> {
  const refused = Promise.resolve(reason).then((error) => Promise.reject(error));
  refused.catch(ignore);
  return refused;
}

/**
 * Creates the error for a peer that has stopped reading or reads too slowly. The limit bounds the data that waits for
 * it.
 */
export function tooFarBehind(side: "client" | "server", waiting: number, most: number): ConnectionError {
  const message = `The ${side} has not read ${waiting} bytes, more than the limit of ${most}; raise maxBehindBytes`;
  return new ConnectionError(message, { delivery: "not_sent" });
}

function createWaiter(): Waiter {
  let settle: Omit<Waiter, "promise"> | undefined;
  const promise = new Promise<void>((resolve, reject) => {
    settle = { resolve, reject };
  });
  promise.catch(ignore);
  return { promise, ...settle! };
}

function ignore(): void {}
