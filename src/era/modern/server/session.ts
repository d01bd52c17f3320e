import type { MaybePromise } from "../../../call/maybe-promise.js";
import type { Params, RpcNotification, RpcRequest } from "../../../protocol/jsonrpc/message.js";
import { notificationProblem } from "../../request-shapes.js";
import { ServedCall } from "../../served-call.js";
import type { Call, CallOrigin, EraSession, ServerEra, ServerRuntime, ServerWire } from "../../server-era.js";
import { hasEnvelope, readEnvelope, unsupportedVersion } from "../envelope.js";
import { modernNotifications, REMOVED_NOTIFICATIONS } from "../methods.js";
import { assertServed, type Serving, toCall } from "./decode.js";

/** Nothing is kept between requests; the session only knows the way back. */
export class ModernSession implements EraSession {
  readonly #serving: Serving;
  readonly #wire: ServerWire;

  constructor(era: ServerEra, runtime: ServerRuntime, wire: ServerWire) {
    this.#serving = { era, runtime, session: this };
    this.#wire = wire;
  }

  decode(request: RpcRequest, origin: CallOrigin): Call {
    const { method, params } = request;
    if (method === "initialize" && !hasEnvelope(params)) throw refuseHandshake(params, this.#serving.runtime);
    const envelope = readEnvelope(params);
    assertServed(this.#serving, envelope.version);
    return toCall(this.#serving, request, envelope, this.#wire, origin);
  }

  receive(notification: RpcNotification): MaybePromise<void> {
    const { runtime } = this.#serving;
    if (REMOVED_NOTIFICATIONS.has(notification.method)) return;
    const problem = notificationProblem(modernNotifications, notification);
    if (problem === undefined) return runtime.receive(notification, (method) => this.#aside(method));
    runtime.report(problem, { where: "notification", method: notification.method });
  }

  /** Nothing can be sent but in answer to a request. */
  #aside(method: string): Call {
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

  acceptsBatch(): boolean {
    return false;
  }

  cancellable(): boolean {
    return true;
  }

  close(): void {}
}

/** A client that opens with a handshake learns which versions there are. */
export function refuseHandshake(
  params: Params | undefined,
  { versions }: ServerRuntime,
): ReturnType<typeof unsupportedVersion> {
  const requested = params?.protocolVersion;
  return unsupportedVersion(typeof requested === "string" ? requested : undefined, versions);
}
