import type { Clock } from "../../../call/clock.js";
import { CallLifetime } from "../../../call/lifetime.js";
import { ConnectionError, toError } from "../../../protocol/errors.js";
import { fromErrorObject } from "../../../protocol/jsonrpc/errors.js";
import { idKey } from "../../../protocol/jsonrpc/inflight-table.js";
import type { Params, RequestId, RpcNotification, RpcResponse } from "../../../protocol/jsonrpc/message.js";
import { isRequestId } from "../../../protocol/jsonrpc/parse.js";
import type { SubscriptionFilter } from "../../../protocol/types/index.js";
import { isWantedBy, toChange } from "../../../store/change-bus.js";
import type { Subscription, WatchEvents } from "../../client-era.js";
import type { ClientTransport } from "../../transport.js";
import { SUBSCRIPTION_KEY } from "../envelope.js";

/** The subscriptions of a connection, each by the id of its listen request. */
export class ListenSubscriptions {
  readonly #transport: ClientTransport;
  readonly #clock: Clock;
  readonly #open = new Map<RequestId, ListenSubscription>();

  constructor(transport: ClientTransport, clock: Clock) {
    this.#transport = transport;
    this.#clock = clock;
  }

  /** Sends a listen request with these params. Resolves when the server has acknowledged it. */
  async listen(params: Params, events: WatchEvents, opening: CallLifetime): Promise<Subscription> {
    opening.throwIfAborted();
    const life = new CallLifetime("subscriptions/listen", {}, this.#clock);
    const subscription = new ListenSubscription(params.notifications as SubscriptionFilter, events, life);
    let id: RequestId | undefined;
    const giveUp = (reason: unknown) => life.abort(reason);
    opening.onAbort(giveUp);
    const onId = (used: RequestId) => {
      id = used;
      this.#open.set(idKey(used), subscription);
    };
    this.#transport
      .request({ method: "subscriptions/listen", params, cancellable: true, waitsTurn: false, onId }, life)
      .then(
        (response) => subscription.answered(response),
        (error: unknown) => subscription.failed(error),
      )
      .finally(() => {
        if (id !== undefined) this.#open.delete(idKey(id));
        life.close();
      });
    try {
      await subscription.acknowledged;
    } finally {
      opening.offAbort(giveUp);
    }
    return subscription;
  }

  /** Hands a notification to the subscription that it names, if it names one. */
  receive(notification: RpcNotification): void {
    const id = (notification.params?._meta as Params | undefined)?.[SUBSCRIPTION_KEY];
    if (isRequestId(id)) this.#open.get(idKey(id))?.receive(notification);
  }

  /** The server cancels a listen request. */
  cancel(id: unknown): void {
    if (isRequestId(id)) this.#open.get(idKey(id))?.cancelledByServer();
  }
}

/** One listen request of this client, from its acknowledgment to its end. */
class ListenSubscription implements Subscription {
  readonly acknowledged: Promise<void>;
  /** Nothing else is heard of, whatever the server acknowledges. */
  readonly #wanted: SubscriptionFilter;
  readonly #events: WatchEvents;
  readonly #life: CallLifetime;
  #state: "opening" | "open" | "over" = "opening";
  #honoured: SubscriptionFilter = {};
  #resolve: () => void = () => {};
  #reject: (reason: unknown) => void = () => {};

  constructor(wanted: SubscriptionFilter, events: WatchEvents, life: CallLifetime) {
    this.#wanted = wanted;
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
    const { resourceSubscriptions, ...lists } = (notification.params?.notifications ?? {}) as SubscriptionFilter;
    const wanted = new Set(this.#wanted.resourceSubscriptions);
    this.#honoured =
      resourceSubscriptions === undefined
        ? lists
        : { ...lists, resourceSubscriptions: resourceSubscriptions.filter((uri) => wanted.has(uri)) };
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
