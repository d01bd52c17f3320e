import type { Call, ServerHost } from "../era/server-era.js";
import type { RpcNotification } from "../protocol/jsonrpc/message.js";
import { Context } from "./context.js";
import type { CustomMethod } from "./definitions/custom-method.js";
import { parseParams } from "./definitions/parse-params.js";
import type { Registry } from "./definitions/registry.js";
import { NotificationQueue } from "./notification-queue.js";

type ReceivingHost = ServerHost & { readonly registry: Registry };

const queues = new WeakMap<ServerHost, NotificationQueue>();

/** Hands a notification to whom the author named for it. */
export function receive(host: ReceivingHost, notification: RpcNotification, aside: (method: string) => Call): void {
  const { method, params } = notification;
  const { notifications, otherNotifications: other } = host.registry;
  const own = notifications.get(method);
  const queue = queues.get(host) ?? new NotificationQueue();
  queues.set(host, queue);
  const onError = (error: unknown) => host.report(error, { where: "notification", method });
  if (own !== undefined)
    queue.deliver(
      () => parseParams(own, params),
      (given) => runAside(host, own, aside(own.name), given),
      onError,
    );
  // That a client is ready is for who asks for it by name.
  else if (other !== undefined && method !== "notifications/initialized")
    queue.deliver(() => notification, other as (params: unknown) => unknown, onError);
}

/** Runs the handler of a notification: it may ask and tell as a call can. */
async function runAside(host: ServerHost, own: CustomMethod, call: Call, params: unknown): Promise<void> {
  try {
    await call.era.settle(call, host, async (asker) => {
      await own.handler(params as never, new Context(call, asker, host));
      return {};
    });
  } finally {
    call.close();
  }
}
