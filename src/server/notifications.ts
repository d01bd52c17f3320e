import type { Call, ServerRuntime } from "../era/server-era.js";
import type { RpcNotification } from "../protocol/jsonrpc/message.js";
import type { Admission } from "./admission.js";
import { Context } from "./context.js";
import type { CustomMethod } from "./definitions/custom-method.js";
import type { Registry } from "./definitions/registry.js";
import { parseParams } from "./definitions/run-custom.js";

type NotificationRuntime = ServerRuntime & { readonly registry: Registry; readonly admission: Admission };

/** Creates the function that passes the notifications of a connection to their handlers. */
export function createReceiver(
  runtime: NotificationRuntime,
  notificationCall: (method: string) => Call,
  principal: string | undefined,
): (notification: RpcNotification) => void {
  const { maxWaitingNotifications: most } = runtime.limits;
  const queue = new NotificationQueue(runtime.admission, principal, most, () => {
    const problem = `notifications were dropped: ${most} are unfinished (limits.maxWaitingNotifications)`;
    runtime.report(new Error(problem), { where: "notification" }, "warn");
  });
  return (notification) => {
    const { method, params } = notification;
    const { notifications, otherNotifications: other } = runtime.registry;
    const own = notifications.get(method);
    const onError = (error: unknown) => runtime.report(error, { where: "notification", method });
    if (own !== undefined)
      queue.deliver(
        () => parseParams(own, params),
        (given) => runHandler(runtime, own, notificationCall(own.name), given),
        onError,
      );
    // `notifications/initialized` ends the handshake, so it does not go to a handler without a name.
    else if (other !== undefined && method !== "notifications/initialized")
      queue.deliver(() => notification, other as (params: unknown) => unknown, onError);
  };
}

/** Runs the handler of a notification. It may send notifications and requests like a call. */
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

/**
 * Passes notifications to their handlers in the order of arrival, synchronously unless a check is asynchronous. Drops
 * notifications while `most` of them are unfinished, or while the server is at its own limit. Calls `onDropped` for the
 * first that exceeds `most`, and again only after all have finished.
 */
class NotificationQueue {
  readonly #admission: Admission;
  readonly #principal: string | undefined;
  readonly #most: number;
  readonly #onDropped: () => void;
  #last: Promise<void> | undefined;
  /** Number of notifications that wait or whose handler runs. */
  #underWay = 0;
  #drops = false;

  constructor(admission: Admission, principal: string | undefined, most: number, onDropped: () => void) {
    this.#admission = admission;
    this.#principal = principal;
    this.#most = most;
    this.#onDropped = onDropped;
  }

  /**
   * Parses and handles a notification. The next one waits for `parse` but not for `handle`. Errors of both go to
   * `onError`.
   */
  deliver(parse: () => unknown, handle: (params: unknown) => unknown, onError: (error: unknown) => void): void {
    if (this.#underWay >= this.#most) return this.#drop();
    if (!this.#admission.enterNotification(this.#principal)) return;
    this.#underWay++;
    try {
      const parsed = parse();
      if (this.#last === undefined && !(parsed instanceof Promise)) this.#run(handle, parsed, onError);
      else this.#enqueue(parsed, handle, onError);
    } catch (error) {
      this.#fail(error, onError);
    }
  }

  #enqueue(parsed: unknown, handle: (params: unknown) => unknown, onError: (error: unknown) => void): void {
    const settled = Promise.resolve(parsed).then(
      (params) => () => this.#run(handle, params, onError),
      (error: unknown) => () => this.#fail(error, onError),
    );
    const delivered: Promise<void> = Promise.resolve(this.#last).then(async () => {
      (await settled)();
      if (this.#last === delivered) this.#last = undefined;
    });
    this.#last = delivered;
  }

  #run(handle: (params: unknown) => unknown, params: unknown, onError: (error: unknown) => void): void {
    try {
      const handled = handle(params);
      if (!(handled instanceof Promise)) return this.#done();
      handled.then(
        () => this.#done(),
        (error: unknown) => this.#fail(error, onError),
      );
    } catch (error) {
      this.#fail(error, onError);
    }
  }

  #fail(error: unknown, onError: (error: unknown) => void): void {
    this.#done();
    onError(error);
  }

  #done(): void {
    this.#admission.leaveNotification(this.#principal);
    this.#underWay--;
    if (this.#underWay === 0) this.#drops = false;
  }

  #drop(): void {
    if (this.#drops) return;
    this.#drops = true;
    this.#onDropped();
  }
}
