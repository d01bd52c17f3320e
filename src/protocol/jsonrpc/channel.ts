/** What a channel tells its owner. Frames are whole JSON texts, without a delimiter. */
export interface ChannelEvents {
  /** One frame from the other side. */
  onFrame(text: string): void;
  /** The channel survived something it could not deliver (an invalid or oversized line). */
  onProblem(problem: Error): void;
  /** The channel is gone; no event follows. `reason` is undefined after an orderly end. */
  onClose(reason: Error | undefined): void;
}

/**
 * A pipe of JSON-RPC frames between two sides: all that a custom transport has to be.
 *
 * Frames arrive in the order in which they were sent. Nothing is delivered before `open`.
 */
export interface Channel {
  /** Starts delivery. Called once. */
  open(events: ChannelEvents): void | Promise<void>;
  /**
   * Writes one frame. Returns nothing when the frame was taken at once, or a promise that settles when the channel can
   * take more (backpressure) and rejects when the frame could not be written. Anything else counts as nothing.
   */
  send(text: string): void | Promise<void>;
  /** Ends the channel after what was sent has been written. Idempotent; `onClose` follows. */
  close(): Promise<void>;
}
