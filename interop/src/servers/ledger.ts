import { existsSync, watch, writeFileSync } from "node:fs";
import { join } from "node:path";

/**
 * Notes events of calls as files in a folder, under a key that the client chooses. Another call, also of another process,
 * waits for them: some gateways start a process for each request.
 */
class Ledger {
  readonly #folder = process.argv[3];

  constructor() {
    if (this.#folder !== undefined) writeFileSync(join(this.#folder, `process ${process.pid}`), "");
  }

  note(key: string, what: string): void {
    writeFileSync(this.#fileOf(key, what), "");
  }

  async seen(key: string, what: string): Promise<string> {
    const file = this.#fileOf(key, what);
    await new Promise<void>((resolve, reject) => {
      const late = setTimeout(() => end(() => reject(new Error(`not ${what} within 5 s`))), 5000);
      const watcher = watch(join(file, ".."), () => existsSync(file) && end(resolve));
      const end = (settle: () => void) => {
        clearTimeout(late);
        watcher.close();
        settle();
      };
      if (existsSync(file)) end(resolve);
    });
    return what;
  }

  /** Waits until the signal fires, and notes it. */
  async untilCancelled(key: string, signal: AbortSignal): Promise<void> {
    this.note(key, "started");
    if (!signal.aborted) await new Promise((resolve) => signal.addEventListener("abort", resolve, { once: true }));
    this.note(key, "cancelled");
  }

  #fileOf(key: string, what: string): string {
    if (this.#folder === undefined) throw new Error("this server was started without a folder");
    return join(this.#folder, `${key} ${what}`);
  }
}

export const ledger = new Ledger();
