import { pause } from "../call/abortable.js";
import { type Backoff, backoffMs } from "../call/backoff.js";
import type { Clock } from "../call/clock.js";
import type { Records } from "./cluster.js";

/** Delays between attempts to store something. */
const RETRY: Backoff = { delayMs: 100, maxDelayMs: 2_000 };
/** Characters of the record by which an engine shows that it has room. They cannot be compressed much. */
const PROBE_CHARS = 65_536;
/** Life of that record, if it cannot be deleted. */
const PROBE_MS = 1_000;

export interface ShortageOptions {
  readonly clock: Clock;
  readonly node: string;
  readonly records: Pick<Records, "put" | "delete">;
  /** Fires when the cluster closes. */
  readonly closing: AbortSignal;
  /** Called when the engine can store again. Leases may have ended meanwhile, and messages may not have been sent. */
  readonly onOver: () => void;
}

/**
 * State of an engine that can be reached and cannot store anything, since it is full or read-only. Begins with an operation
 * that fails for this reason. Ends when a record can be stored.
 */
export class Shortage {
  readonly #options: ShortageOptions;
  #isOn = false;

  constructor(options: ShortageOptions) {
    this.#options = options;
  }

  get isOn(): boolean {
    return this.#isOn;
  }

  /** Notes that the engine could not store something. */
  readonly note = (): void => {
    if (this.#isOn || this.#options.closing.aborted) return;
    this.#isOn = true;
    void this.#end();
  };

  async #end(): Promise<void> {
    const { clock, closing, onOver } = this.#options;
    for (let failures = 0; !closing.aborted; failures++) {
      await pause(clock, backoffMs(failures, RETRY), closing);
      if (closing.aborted || !(await this.#hasRoom())) continue;
      this.#isOn = false;
      return onOver();
    }
  }

  async #hasRoom(): Promise<boolean> {
    const { node, records } = this.#options;
    const key = `probe/${node}`;
    try {
      await records.put(key, incompressible(PROBE_CHARS), { ttlMs: PROBE_MS });
      await records.delete(key);
      return true;
    } catch {
      return false;
    }
  }
}

function incompressible(chars: number): string {
  let text = "";
  while (text.length < chars) text += crypto.randomUUID();
  return text;
}
