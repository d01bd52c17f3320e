import type { Channel, ChannelEvents } from "./channel.js";

/**
 * Two ends of a pipe within one process. Frames are texts, so neither side can reach into the other's objects; they are
 * delivered in order, in a turn of their own.
 */
export function createChannelPair(): [Channel, Channel] {
  const left = new MemoryChannel();
  const right = new MemoryChannel();
  left.other = right;
  right.other = left;
  return [left, right];
}

class MemoryChannel implements Channel {
  other!: MemoryChannel;
  #events: ChannelEvents | undefined;
  #inbox: string[] = [];
  #draining = false;
  #closed = false;

  open(events: ChannelEvents): void {
    this.#events = events;
    if (this.#inbox.length > 0) this.#scheduleDrain();
    if (this.#closed) queueMicrotask(() => events.onClose(undefined));
  }

  send(text: string): void {
    if (this.#closed) throw new Error("the channel is closed");
    this.other.#take(text);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    const { other } = this;
    this.#end();
    // What was sent before is delivered before the other side hears of the end.
    await new Promise<void>((resolve) => queueMicrotask(resolve));
    other.#drain();
    other.#end();
  }

  #take(text: string): void {
    this.#inbox.push(text);
    if (this.#events !== undefined) this.#scheduleDrain();
  }

  #scheduleDrain(): void {
    if (this.#draining) return;
    this.#draining = true;
    queueMicrotask(() => this.#drain());
  }

  #drain(): void {
    this.#draining = false;
    if (this.#events === undefined || this.#closed) return;
    const frames = this.#inbox;
    this.#inbox = [];
    for (const frame of frames) this.#events.onFrame(frame);
  }

  #end(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#inbox = [];
    this.#events?.onClose(undefined);
  }
}
