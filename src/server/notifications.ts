import type { Call, ServerRuntime } from "../era/server-era.js";
import type { RpcNotification } from "../protocol/jsonrpc/message.js";
import { Context } from "./context.js";
import type { CustomMethod } from "./definitions/custom-method.js";
import type { Registry } from "./definitions/registry.js";
import { parseParams } from "./definitions/run-custom.js";

type NotificationRuntime = ServerRuntime & { readonly registry: Registry; readonly notifications: NotificationQueue };

/** Hands a notification to whom the author named for it. */
export function receive(
  runtime: NotificationRuntime,
  notification: RpcNotification,
  notificationCall: (method: string) => Call,
): void {
  const { method, params } = notification;
  const { notifications, otherNotifications: other } = runtime.registry;
  const own = notifications.get(method);
  const queue = runtime.notifications;
  const onError = (error: unknown) => runtime.report(error, { where: "notification", method });
  if (own !== undefined)
    queue.deliver(
      () => parseParams(own, params),
      (given) => runHandler(runtime, own, notificationCall(own.name), given),
      onError,
    );
  // That a client is ready is for who asks for it by name.
  else if (other !== undefined && method !== "notifications/initialized")
    queue.deliver(() => notification, other as (params: unknown) => unknown, onError);
}

/** Runs the handler of a notification: it may ask and tell as a call can. */
async function runHandler(runtime: ServerRuntime, own: CustomMethod, call: Call, params: unknown): Promise<void> {
  try {
    await call.era.runHandler(call, runtime, async (asker) => {
      await own.handler(params as never, new Context(call, asker, runtime));
      return {};
    });
  } finally {
    call.close();
  }
}

/** Hands notifications to their handlers in the order in which they came: at once, unless a check has to be waited for. */
export class NotificationQueue {
  #last: Promise<void> | undefined;

  /** `parse` may throw, and may return a promise; `handle` is not waited for. What either throws goes to `onError`. */
  deliver(parse: () => unknown, handle: (params: unknown) => unknown, onError: (error: unknown) => void): void {
    try {
      const parsed = parse();
      if (this.#last === undefined && !(parsed instanceof Promise)) return run(handle, parsed, onError);
      this.#enqueue(parsed, handle, onError);
    } catch (error) {
      onError(error);
    }
  }

  #enqueue(parsed: unknown, handle: (params: unknown) => unknown, onError: (error: unknown) => void): void {
    const settled = Promise.resolve(parsed).then(
      (params) => () => run(handle, params, onError),
      (error: unknown) => () => onError(error),
    );
    const delivered: Promise<void> = Promise.resolve(this.#last).then(async () => {
      (await settled)();
      if (this.#last === delivered) this.#last = undefined;
    });
    this.#last = delivered;
  }
}

function run(handle: (params: unknown) => unknown, params: unknown, onError: (error: unknown) => void): void {
  try {
    const handled = handle(params);
    if (handled instanceof Promise) handled.catch(onError);
  } catch (error) {
    onError(error);
  }
}
