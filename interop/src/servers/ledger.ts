import { EventEmitter, once } from "node:events";

/** What became of calls, by a key of the client's: it asks by another call, and is answered when it has happened. */
class Ledger {
  readonly #seen = new Set<string>();
  readonly #events = new EventEmitter().setMaxListeners(0);

  note(key: string, what: string): void {
    this.#seen.add(`${key} ${what}`);
    this.#events.emit(`${key} ${what}`);
  }

  async seen(key: string, what: string): Promise<string> {
    const entry = `${key} ${what}`;
    if (!this.#seen.has(entry)) await once(this.#events, entry, { signal: AbortSignal.timeout(5000) });
    return what;
  }

  /** Runs until the signal fires; that is noted. */
  async untilCancelled(key: string, signal: AbortSignal): Promise<void> {
    this.note(key, "started");
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    this.note(key, "cancelled");
  }
}

/** One for the process: a server made anew for each request still sees what happened before. */
export const ledger = new Ledger();
