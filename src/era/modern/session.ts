import type { Params, RpcNotification, RpcRequest } from "../../jsonrpc/message.js";
import type { RpcError } from "../../schema/errors.js";
import type { LoggingLevel } from "../../schema/types.js";
import { notificationProblem } from "../check-notification.js";
import type { Call, CallOrigin, EraSession, ServerEra, ServerHost, ServerWire } from "../era.js";
import { ServedCall } from "../served-call.js";
import { type Envelope, hasEnvelope, readEnvelope, unsupportedVersion } from "./envelope.js";
import { modernNotifications, REMOVED_NOTIFICATIONS } from "./methods.js";

/** Nothing is kept between requests; the session only knows the way back. */
export class ModernSession implements EraSession {
  readonly #era: ServerEra;
  readonly #host: ServerHost;
  readonly #wire: ServerWire;

  constructor(era: ServerEra, host: ServerHost, wire: ServerWire) {
    this.#era = era;
    this.#host = host;
    this.#wire = wire;
  }

  decode(request: RpcRequest, origin: CallOrigin): Call {
    if (request.method === "initialize" && !hasEnvelope(request.params)) throw this.#refuseHandshake(request.params);
    const envelope = readEnvelope(request.params);
    this.assertServed(envelope.version);
    return this.admit(request, envelope, this.#wire, origin);
  }

  /** Throws the refusal that lists what is spoken here. */
  assertServed(version: string): void {
    const { versions } = this.#host;
    if (!this.#era.versions.includes(version) || !versions.includes(version))
      throw unsupportedVersion(version, versions);
  }

  /** The call that a request with this envelope is. */
  admit(request: RpcRequest, envelope: Envelope, wire: ServerWire, origin: CallOrigin): Call {
    return new ServedCall({
      era: this.#era,
      session: this,
      id: request.id,
      method: request.method,
      params: request.params as Params,
      client: envelope,
      wire,
      origin,
      progressToken: envelope.progressToken,
      logLevel: () => this.#logLevel(envelope),
    });
  }

  /** A client that opens with a handshake learns which versions there are. */
  #refuseHandshake(params: Params | undefined): RpcError {
    const requested = params?.protocolVersion;
    return unsupportedVersion(typeof requested === "string" ? requested : undefined, this.#host.versions);
  }

  /** A server that does not advertise log messages sends none, whoever asks. */
  #logLevel({ logLevel }: Envelope): LoggingLevel | undefined {
    return logLevel === undefined || this.#host.capabilities.logging === undefined ? undefined : logLevel;
  }

  receive(notification: RpcNotification): void {
    if (REMOVED_NOTIFICATIONS.has(notification.method)) return;
    const problem = notificationProblem(modernNotifications, notification);
    if (problem === undefined) this.#host.receive(notification, this);
    else this.#host.report(problem, { where: "notification", method: notification.method });
  }

  /** Nothing can be sent but in answer to a request. */
  aside(method: string): Call {
    return new ServedCall({
      era: this.#era,
      session: this,
      id: "",
      method,
      params: {},
      client: { version: this.#era.versions[0] ?? "", capabilities: {}, info: undefined },
      wire: { ...this.#wire, shared: this.#wire.shared, notify: () => {}, request: () => new Promise(() => {}) },
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
