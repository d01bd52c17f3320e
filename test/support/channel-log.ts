import type { Channel, ChannelEvents } from "#src/protocol/jsonrpc/channel.js";

/** Records what a channel tells its owner, and lets a test wait for it. */
export class ChannelLog implements ChannelEvents {
  readonly frames: string[] = [];
  readonly problems: Error[] = [];
  readonly closes: (Error | undefined)[] = [];
  /** Settles with the reason when the channel has closed. */
  readonly closed: Promise<Error | undefined>;
  #close: (reason: Error | undefined) => void = () => {};
  #waiting: { readonly count: number; readonly resolve: () => void }[] = [];

  constructor() {
    this.closed = new Promise((resolve) => {
      this.#close = resolve;
    });
  }

  static async open(channel: Channel): Promise<ChannelLog> {
    const log = new ChannelLog();
    await channel.open(log);
    return log;
  }

  onFrame(text: string): void {
    this.frames.push(text);
    for (const waiter of this.#waiting) if (this.frames.length >= waiter.count) waiter.resolve();
  }

  onProblem(problem: Error): void {
    this.problems.push(problem);
  }

  onClose(reason: Error | undefined): void {
    this.closes.push(reason);
    this.#close(reason);
  }

  /** Resolves with the frames when there are that many. */
  async received(count: number): Promise<string[]> {
    if (this.frames.length < count) {
      await new Promise<void>((resolve) => {
        this.#waiting.push({ count, resolve });
      });
    }
    return this.frames;
  }
}
