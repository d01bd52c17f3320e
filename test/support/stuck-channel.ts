import type { Channel, ChannelEvents } from "bowline/client";

/** A channel whose writes can be held up: what is sent meanwhile is written, in order, when it moves again. */
export class StuckChannel implements Channel {
  readonly #inner: Channel;
  #held: { readonly text: string; readonly done: () => void }[] | undefined;

  constructor(inner: Channel) {
    this.#inner = inner;
  }

  /** How many frames wait. */
  get waiting(): number {
    return this.#held?.length ?? 0;
  }

  stick(): void {
    this.#held ??= [];
  }

  release(): void {
    const held = this.#held ?? [];
    this.#held = undefined;
    for (const { text, done } of held) {
      this.#inner.send(text);
      done();
    }
  }

  open(events: ChannelEvents): void | Promise<void> {
    return this.#inner.open(events);
  }

  send(text: string): void | Promise<void> {
    const held = this.#held;
    if (held === undefined) return this.#inner.send(text);
    return new Promise((done) => held.push({ text, done }));
  }

  close(): Promise<void> {
    return this.#inner.close();
  }
}
