import type { Params } from "../../jsonrpc/message.js";
import type { SubscriptionFilter } from "../../schema/types.js";
import { isWantedBy, toNotification } from "../../store/change-bus.js";
import type { Call } from "../call.js";
import type { Result, ServerHost } from "../era.js";
import { honouredFilter } from "../honoured-filter.js";
import { SUBSCRIPTION_KEY } from "./envelope.js";

/**
 * Serves one subscription: acknowledges what it will honour, passes on matching changes, and ends when the client cancels
 * or the server closes. The order is the contract: nothing is sent before the acknowledgment.
 */
export function listen(call: Call, host: ServerHost): Promise<Result> {
  const filter = honouredFilter((call.params.notifications ?? {}) as SubscriptionFilter, host.capabilities);
  const tag = { [SUBSCRIPTION_KEY]: call.id };
  const send = (method: string, params: Params) => call.notify(method, { ...params, _meta: tag });
  const uris = filter.resourceSubscriptions ?? [];

  return new Promise((resolve) => {
    const stopListening = host.changes.subscribe((change) => {
      if (!isWantedBy(filter, change)) return;
      const { method, params } = toNotification(change);
      send(method, params);
    });
    const stopClosing = host.onClosing(() => finish());
    for (const uri of uris) host.retain(uri);
    const release = () => {
      stopListening();
      stopClosing();
      call.end.offAbort(release);
      for (const uri of uris) host.release(uri);
      resolve({ _meta: tag });
    };
    const finish = () => {
      if (call.wire.shared) {
        call.afterAnswer = () => call.wire.notify(undefined, "notifications/cancelled", { requestId: call.id });
      }
      release();
    };
    call.end.onAbort(release);
    send("notifications/subscriptions/acknowledged", { notifications: filter });
    if (Object.keys(filter).length === 0) finish();
  });
}
