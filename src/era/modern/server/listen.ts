// Legacy has no twin of this name: there `subscribe.ts` serves subscriptions, and the session sends changes.

import { timeLeft } from "../../../call/clock.js";
import { ConnectionError } from "../../../protocol/errors.js";
import { INTERNAL_ERROR, Refusal } from "../../../protocol/jsonrpc/errors.js";
import type { SubscriptionFilter } from "../../../protocol/types/index.js";
import { type Change, isWantedBy, toNotification } from "../../../store/change-bus.js";
import { honouredFilter } from "../../capabilities.js";
import { retain, release as stopWatching } from "../../resource-watchers.js";
import type { Call, Result, ServerRuntime } from "../../server-era.js";
import { SUBSCRIPTION_KEY } from "../envelope.js";

/**
 * Serves one subscription: acknowledges what it will honour, passes on matching changes, and ends when the client cancels
 * or the server closes. The order is the contract: nothing is sent before the acknowledgment.
 */
export function listen(call: Call, runtime: ServerRuntime): Promise<Result> {
  const { subscriptions } = runtime;
  const { maxSubscriptions, maxWaitingChanges, maxSubscriptionMs } = runtime.limits;
  if (subscriptions.open >= maxSubscriptions) {
    throw new Refusal(INTERNAL_ERROR, `Too many subscriptions: this server keeps ${maxSubscriptions} at a time`);
  }
  const filter: SubscriptionFilter = {
    ...honouredFilter((call.params.notifications ?? {}) as SubscriptionFilter, runtime.capabilities),
    ...call.topics?.honoured,
  };
  const tag = { [SUBSCRIPTION_KEY]: call.id };
  const uris = filter.resourceSubscriptions ?? [];

  return new Promise((resolve) => {
    const release = () => {
      stopListening();
      try {
        stopTopics?.();
      } catch (error) {
        runtime.report(error, { where: "topic", method: call.method, id: call.id });
      }
      runtime.clock.cancel(old);
      stopClosing();
      call.end.offAbort(release);
      for (const uri of uris) stopWatching(runtime, uri);
      subscriptions.open--;
      resolve({ _meta: tag });
    };
    const finish = () => {
      outbox.flush();
      if (call.wire.shared) {
        call.afterAnswer = () => call.wire.notify(undefined, "notifications/cancelled", { requestId: call.id });
      }
      release();
    };
    const outbox = new Outbox(call, tag, maxWaitingChanges, () => giveUp(call));
    outbox.acknowledge(filter);
    // The only one here that may throw: nothing is held yet.
    const stopTopics = call.topics?.start((method, params) => outbox.send(method, params));
    subscriptions.open++;
    const onChange = (change: Change) => {
      if (!isWantedBy(filter, change)) return;
      if (change.kind === "resource") runtime.ifSeen(call, change.uri, () => outbox.add(change));
      else outbox.add(change);
    };
    const stopListening = runtime.changes.subscribe(onChange);
    const stopClosing = runtime.onClosing(finish);
    const lifeMs = timeLeft(runtime.clock, call.origin.endsAt, maxSubscriptionMs);
    const old = lifeMs === undefined ? undefined : runtime.clock.schedule(finish, lifeMs);
    for (const uri of uris) retain(runtime, uri);
    call.end.onAbort(release);
    if (!call.end.aborted && Object.keys(filter).length === 0) finish();
  });
}

/** The client is too far behind to be waited for: it learns that changes were lost by the missing result. */
function giveUp(call: Call): void {
  call.end.abort(new ConnectionError("the client does not read its subscription"));
  if (call.wire.shared) call.wire.notify(undefined, "notifications/cancelled", { requestId: call.id });
}

/** What is on its way to one subscriber. While the wire is full, changes wait, equal ones once. */
class Outbox {
  readonly #call: Call;
  readonly #tag: object;
  readonly #most: number;
  readonly #onOverflow: () => void;
  readonly #waiting = new Map<string, Change>();
  #full = false;

  constructor(call: Call, tag: object, most: number, onOverflow: () => void) {
    this.#call = call;
    this.#tag = tag;
    this.#most = most;
    this.#onOverflow = onOverflow;
  }

  acknowledge(filter: SubscriptionFilter): void {
    this.send("notifications/subscriptions/acknowledged", { notifications: filter });
  }

  add(change: Change): void {
    if (!this.#full) return this.#sendChange(change);
    this.#waiting.set(change.kind === "resource" ? change.uri : ` ${change.kind}`, change);
    if (this.#waiting.size > this.#most) this.#onOverflow();
  }

  /** Hands over what waits, whether or not the wire has room. */
  flush(): void {
    for (const change of this.#take()) this.#sendChange(change);
  }

  #take(): Change[] {
    const changes = [...this.#waiting.values()];
    this.#waiting.clear();
    return changes;
  }

  #sendChange(change: Change): void {
    const { method, params } = toNotification(change);
    this.send(method, params);
  }

  /** A promise where the wire is full. */
  send(method: string, params: object): void | Promise<void> {
    const written = this.#call.notify(method, { ...params, _meta: this.#tag });
    if (written === undefined || this.#full) return written;
    this.#full = true;
    const onRoom = () => {
      this.#full = false;
      for (const change of this.#take()) this.add(change);
    };
    return written.then(onRoom, onRoom);
  }
}
