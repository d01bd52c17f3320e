import type { RequestId } from "../jsonrpc/message.js";
import { isRequestId } from "../jsonrpc/parse.js";
import { idTwin } from "../jsonrpc/request-id.js";
import type { AbortSwitch } from "./abort-switch.js";

/** The calls that one connection is being served right now, so that the peer can cancel them by id. */
export class ServedCalls {
  readonly #running = new Map<RequestId, AbortSwitch>();
  /** Those whose id a newer call took over: out of reach for a cancellation, not for the end of the connection. */
  readonly #shadowed = new Set<AbortSwitch>();

  get size(): number {
    return this.#running.size + this.#shadowed.size;
  }

  /** A peer that reuses an id in flight replaces the entry; each call removes only itself. */
  add(id: RequestId, end: AbortSwitch): void {
    const older = this.#running.get(id);
    if (older !== undefined) this.#shadowed.add(older);
    this.#running.set(id, end);
  }

  remove(id: RequestId, end: AbortSwitch): void {
    if (this.#running.get(id) === end) this.#running.delete(id);
    else this.#shadowed.delete(end);
  }

  /** Ends the call with exactly this id, or else with this id in its other spelling. Tells whether there was one. */
  cancel(id: unknown, reason: unknown): boolean {
    if (!isRequestId(id)) return false;
    const twin = idTwin(id);
    const end = this.#running.get(id) ?? (twin === undefined ? undefined : this.#running.get(twin));
    return end?.abort(reason) ?? false;
  }

  abortAll(reason: unknown): void {
    for (const end of [...this.#running.values(), ...this.#shadowed]) end.abort(reason);
  }
}
