import type { CallLifetime } from "../../../call/lifetime.js";
import { ConnectionError, toError } from "../../../protocol/errors.js";
import { fromErrorObject } from "../../../protocol/jsonrpc/errors.js";
import type { RpcNotification, RpcResponse } from "../../../protocol/jsonrpc/message.js";
import type { SubscriptionFilter } from "../../../protocol/types/index.js";
import { isWantedBy, toChange } from "../../../store/change-bus.js";
import type { Subscription, WatchEvents } from "../../client-era.js";

/** One listen request of this client, from its acknowledgment to its end. */
export class ListenSubscription implements Subscription {
  readonly acknowledged: Promise<void>;
  readonly #events: WatchEvents;
  readonly #life: CallLifetime;
  #state: "opening" | "open" | "over" = "opening";
  #honoured: SubscriptionFilter = {};
  #resolve: () => void = () => {};
  #reject: (reason: unknown) => void = () => {};

  constructor(events: WatchEvents, life: CallLifetime) {
    this.#events = events;
    this.#life = life;
    this.acknowledged = new Promise((resolve, reject) => {
      this.#resolve = resolve;
      this.#reject = reject;
    });
  }

  /** What was acknowledged, also when it is over. */
  get honoured(): SubscriptionFilter {
    return this.#honoured;
  }

  receive(notification: RpcNotification): void {
    if (notification.method === "notifications/subscriptions/acknowledged") return this.#onAcknowledged(notification);
    const change = toChange(notification.method, notification.params);
    if (this.#state === "open" && change !== undefined && isWantedBy(this.#honoured, change)) {
      this.#events.onChange(change);
    }
  }

  /** The server's last word. */
  answered(response: RpcResponse): void {
    if ("error" in response) this.#end("lost", fromErrorObject(response.error));
    else this.#end("graceful", undefined);
  }

  failed(reason: unknown): void {
    this.#end("lost", toError(reason));
  }

  /** The server dropped the subscription without a result. */
  cancelledByServer(): void {
    this.#end("graceful", undefined);
    this.#life.abort(new ConnectionError("The server ended the subscription"));
  }

  close(): void {
    this.#state = "over";
    this.#life.abort(new ConnectionError("The subscription was closed"));
  }

  #onAcknowledged(notification: RpcNotification): void {
    if (this.#state !== "opening") return;
    this.#state = "open";
    this.#honoured = (notification.params?.notifications ?? {}) as SubscriptionFilter;
    this.#resolve();
  }

  #end(how: "graceful" | "lost", reason: Error | undefined): void {
    const before = this.#state;
    this.#state = "over";
    if (before === "opening") this.#reject(this.#life.aborted ? this.#life.reason : (reason ?? notAcknowledged()));
    else if (before === "open") this.#events.onEnd(how, reason);
  }
}

function notAcknowledged(): ConnectionError {
  return new ConnectionError("The server ended the subscription before acknowledging it", { delivery: "answer_lost" });
}
