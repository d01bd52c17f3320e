import { NO_BATCHES, type Refusal } from "../../../protocol/jsonrpc/errors.js";
import type { RpcNotification, RpcRequest } from "../../../protocol/jsonrpc/message.js";
import { notificationProblem } from "../../request-shapes.js";
import { ServedCall } from "../../served-call.js";
import type { Call, CallOrigin, EraSession, ServerEra, ServerRuntime, ServerWire } from "../../server-era.js";
import { modernNotifications, REMOVED_NOTIFICATIONS } from "../methods.js";
import { decode, type Serving } from "./decode.js";

/** Decodes the messages of one channel, or a single notification over HTTP. Nothing is kept between requests. */
export class ModernSession implements EraSession {
  running = 0;
  readonly #serving: Serving;
  readonly #wire: ServerWire;
  #receive: ((notification: RpcNotification) => void) | undefined;

  constructor(era: ServerEra, runtime: ServerRuntime, wire: ServerWire) {
    this.#serving = { era, runtime, session: this };
    this.#wire = wire;
  }

  decode(request: RpcRequest, origin: CallOrigin): Call | Refusal {
    return decode(this.#serving, request, this.#wire, origin);
  }

  receive(notification: RpcNotification): void {
    const { runtime } = this.#serving;
    if (REMOVED_NOTIFICATIONS.has(notification.method)) return;
    const problem = notificationProblem(modernNotifications, notification);
    if (problem !== undefined)
      return runtime.report(problem, { where: "notification", method: notification.method }, "warn");
    this.#receive ??= runtime.receiver((method) => this.#notificationCall(method), this.#wire.principal);
    this.#receive(notification);
  }

  /** Creates a call for a notification. It cannot send anything, since this era sends messages only for requests. */
  #notificationCall(method: string): Call {
    const { era } = this.#serving;
    return new ServedCall({
      era,
      session: this,
      id: "",
      method,
      params: {},
      client: { version: era.versions[0] ?? "", capabilities: {}, info: undefined },
      wire: { shared: this.#wire.shared, notify: () => {}, request: () => new Promise(() => {}) },
      origin: {},
      progressToken: undefined,
      logLevel: () => undefined,
    });
  }

  batchProblem(): string {
    return NO_BATCHES;
  }

  cancellable(): boolean {
    return true;
  }

  close(): void {}
}
