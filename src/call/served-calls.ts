import { findByEither } from "../protocol/jsonrpc/inflight-table.js";
import type { RequestId } from "../protocol/jsonrpc/message.js";
import { isRequestId } from "../protocol/jsonrpc/parse.js";
import { SmallMap } from "../protocol/jsonrpc/small-map.js";
import type { AbortSwitch } from "./abort-switch.js";

/** A call being served, as far as the connection is concerned. */
export interface Served {
  readonly id: RequestId;
  readonly end: AbortSwitch;
}

/** The calls that one connection is being served right now, so that the peer can cancel them by id. */
export class ServedCalls<C extends Served> {
  readonly #running = new SmallMap<RequestId, C>();
  /** Those whose id a newer call took over: out of reach for a cancellation, not for the end of the connection. */
  readonly #shadowed = new Set<C>();

  get size(): number {
    return this.#running.size + this.#shadowed.size;
  }

  /** A peer that reuses an id in flight replaces the entry; each call removes only itself. */
  add(call: C): void {
    const older = this.#running.get(call.id);
    if (older === undefined) return this.#running.add(call.id, call);
    this.#shadowed.add(older);
    this.#running.set(call.id, call);
  }

  remove(call: C): void {
    if (this.#running.get(call.id) === call) this.#running.delete(call.id);
    else this.#shadowed.delete(call);
  }

  /** The call with exactly this id, or else with this id in its other spelling. */
  find(id: unknown): C | undefined {
    return isRequestId(id) ? findByEither(this.#running, id) : undefined;
  }

  abortAll(reason: unknown): void {
    for (const { end } of [...this.#running.values(), ...this.#shadowed]) end.abort(reason);
  }
}
