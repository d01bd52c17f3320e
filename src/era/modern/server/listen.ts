// The legacy era has no file of this name: `subscribe.ts` serves subscriptions there, and the session sends changes.

import { timeLeft } from "../../../call/clock.js";
import { andThen, type MaybePromise } from "../../../call/maybe-promise.js";
import { ConnectionError } from "../../../protocol/errors.js";
import { INVALID_PARAMS } from "../../../protocol/jsonrpc/errors.js";
import type { Params } from "../../../protocol/jsonrpc/message.js";
import type { SubscriptionFilter } from "../../../protocol/types/index.js";
import { type Change, isWantedBy } from "../../../store/change-bus.js";
import { honouredFilter } from "../../capabilities.js";
import { ChangeOutbox } from "../../change-outbox.js";
import {
  assertMayOpen,
  assertWithin,
  countOpen,
  existing,
  ownerOf,
  retain,
  type SubscriptionOwner,
  release as stopWatching,
} from "../../open-subscriptions.js";
import type { Call, Result, ServerRuntime } from "../../server-era.js";
import { SUBSCRIPTION_KEY } from "../envelope.js";

/**
 * Serves a subscription. Acknowledges the honoured filter, then sends matching changes. It ends when the client cancels
 * or does not read, the server closes, or the lifetime of the subscription or of the authorization ends. It ends at
 * once if the honoured filter is empty.
 */
export function listen(call: Call, runtime: ServerRuntime): MaybePromise<Result> {
  const { limits } = runtime;
  const asked = call.params.notifications as SubscriptionFilter;
  const uris = [...new Set(asked.resourceSubscriptions)];
  const owner = ownerOf(runtime, call.origin, call.session ?? call, call.session === undefined);
  assertMayOpen(runtime, owner, uris.length || 1, uris);
  // The request is kept as long as its subscription, so its size without the URIs is limited.
  const rest = JSON.stringify({ ...call.params, notifications: { ...asked, resourceSubscriptions: undefined } });
  assertWithin(limits, "maxClientChars", rest.length, INVALID_PARAMS, "characters beside the URIs");
  const { resourceSubscriptions: wanted = [], ...honoured } = honouredFilter(asked, runtime.capabilities);
  return andThen(existing(runtime, call, wanted), (found) => {
    call.end.throwIfAborted();
    const filter = { ...honoured, ...(found.length > 0 && { resourceSubscriptions: found }), ...call.topics?.honoured };
    const count = found.length || 1;
    // Others may have subscribed while the resources were looked up.
    assertMayOpen(runtime, owner, count, []);
    return open(call, runtime, { filter, owner, count });
  });
}

interface Subscription {
  /** Honoured filter. */
  readonly filter: SubscriptionFilter;
  readonly owner: SubscriptionOwner;
  /** Number of subscriptions that it counts as. */
  readonly count: number;
}

function open(call: Call, runtime: ServerRuntime, { filter, owner, count }: Subscription): Promise<Result> {
  const { limits } = runtime;
  const tag = { [SUBSCRIPTION_KEY]: call.id };
  const uris = new Set(filter.resourceSubscriptions);

  return new Promise((resolve) => {
    const release = () => {
      stopListening();
      try {
        stopTopics?.();
      } catch (error) {
        runtime.report(error, { where: "topic", method: call.method, id: call.id });
      }
      outbox.close();
      runtime.clock.cancel(old);
      stopClosing();
      call.end.offAbort(release);
      for (const uri of uris) stopWatching(runtime, uri);
      countOpen(runtime, owner, -count);
      resolve({ _meta: tag });
    };
    const finish = () => {
      outbox.flush();
      if (call.wire.shared) {
        call.afterAnswer = () => call.wire.notify(undefined, "notifications/cancelled", { requestId: call.id });
      }
      release();
    };
    const write = (method: string, params: Params) =>
      call.notify(method, { ...params, _meta: { ...(params._meta as Params | undefined), ...tag } });
    const outbox = new ChangeOutbox(write, runtime.clock, limits.maxWaitingChanges, () => giveUp(call));
    outbox.send("notifications/subscriptions/acknowledged", { notifications: filter });
    // Only `start` may throw. Nothing has to be released yet.
    const stopTopics = call.topics?.start((method, params) => outbox.send(method, params as Params));
    countOpen(runtime, owner, count);
    const onChange = (change: Change) => {
      if (change.kind !== "resource") isWantedBy(filter, change) && outbox.add(change);
      else if (uris.has(change.uri)) runtime.ifSeen(call, change.uri, () => outbox.add(change));
    };
    const stopListening = runtime.changes.subscribe(onChange);
    const stopClosing = runtime.onClosing(finish);
    const lifeMs = timeLeft(runtime.clock, call.origin.endsAt, limits.maxSubscriptionMs);
    const old = lifeMs === undefined ? undefined : runtime.clock.schedule(finish, lifeMs);
    for (const uri of uris) retain(runtime, uri);
    call.end.onAbort(release);
    if (!call.end.aborted && Object.keys(filter).length === 0) finish();
  });
}

/**
 * Drops a subscription whose client does not read. The client learns from the missing result that changes were lost.
 */
function giveUp(call: Call): void {
  call.end.abort(new ConnectionError("The client does not read its stream"));
  if (call.wire.shared) call.wire.notify(undefined, "notifications/cancelled", { requestId: call.id });
}
