import { findByEither } from "../protocol/jsonrpc/inflight-table.js";
import type { RequestId } from "../protocol/jsonrpc/message.js";
import { isRequestId } from "../protocol/jsonrpc/parse.js";
import { SmallMap } from "../protocol/jsonrpc/small-map.js";
import type { AbortSwitch } from "./abort-switch.js";

/** Members of a call being served that its connection needs. */
export interface Served {
  readonly id: RequestId;
  readonly end: AbortSwitch;
}

/** Calls of one connection that are being served, so that the peer can cancel them by id. */
export class ServedCalls<C extends Served> {
  readonly #running = new SmallMap<RequestId, C>();
  /** Calls whose id a newer call reuses. They can no longer be cancelled by id, but end with the connection. */
  readonly #shadowed = new Set<C>();

  get size(): number {
    return this.#running.size + this.#shadowed.size;
  }

  /** Adds a call. A call that reuses an id in flight replaces the entry; each call removes only itself. */
  add(call: C): void {
    const older = this.#running.replace(call.id, call);
    if (older !== undefined) this.#shadowed.add(older);
  }

  remove(call: C): void {
    if (!this.#running.delete(call.id, call)) this.#shadowed.delete(call);
  }

  /** Returns the call with exactly this id, otherwise the call with its other spelling (`7` for `"7"`). */
  find(id: unknown): C | undefined {
    return isRequestId(id) ? findByEither(this.#running, id) : undefined;
  }

  abortAll(reason: unknown): void {
    for (const { end } of [...this.#running.values(), ...this.#shadowed]) end.abort(reason);
  }
}
