/** Events of a channel. A frame is a complete JSON text without a delimiter. */
export interface ChannelEvents {
  /** Receives a frame from the peer. */
  onFrame(text: string): void;
  /** Reports input that could not be delivered, such as an invalid line. The channel stays open. */
  onProblem(problem: Error): void;
  /** Reports that the channel has ended. No event follows. `reason` is undefined after an orderly end. */
  onClose(reason: Error | undefined): void;
}

/**
 * Bidirectional pipe of JSON-RPC frames. A custom transport implements this interface.
 *
 * Frames arrive in the order in which they were sent. No frame is delivered before `open`.
 */
export interface Channel {
  /** Starts delivery. Called once. */
  open(events: ChannelEvents): void | Promise<void>;
  /**
   * Writes a frame. Returns undefined if the frame was accepted at once. Otherwise returns a promise that resolves when
   * the channel can accept more (backpressure), and rejects if the frame could not be written. Any other return value
   * is treated as undefined.
   */
  send(text: string): void | Promise<void>;
  /** Flushes the frames already passed to `send`, then ends the channel. Idempotent. `onClose` follows. */
  close(): Promise<void>;
}
