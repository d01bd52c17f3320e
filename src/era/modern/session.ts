import type { Params, RpcRequest } from "../../jsonrpc/message.js";
import { type Call, type CallOrigin, ServedCall, type ServerWire } from "../call.js";
import type { EraSession, ServerEra, ServerHost } from "../era.js";
import { type Envelope, readEnvelope, unsupportedVersion } from "./envelope.js";

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
      logLevel: () => envelope.logLevel,
    });
  }

  receive(): void {}

  acceptsBatch(): boolean {
    return false;
  }

  cancellable(): boolean {
    return true;
  }

  close(): void {}
}
