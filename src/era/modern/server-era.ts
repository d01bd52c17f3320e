import type { Params, RpcMessage, RpcRequest } from "../../jsonrpc/message.js";
import { Call, type CallOrigin, type ServerWire } from "../call.js";
import type { BuiltinHandler, EraSession, HeaderReader, ServerEra, ServerHost } from "../era.js";
import { STATELESS_VERSIONS } from "../versions.js";
import { discover } from "./discover.js";
import { encodeError, encodeResult } from "./encode.js";
import { hasEnvelope, readEnvelope } from "./envelope.js";
import { settleInRounds } from "./input.js";
import { listen } from "./listen.js";
import { modernMethods } from "./methods.js";
import { createModernBinding } from "./server-http.js";

const versions: readonly string[] = STATELESS_VERSIONS;

const builtins: ReadonlyMap<string, BuiltinHandler> = new Map<string, BuiltinHandler>([
  ["server/discover", discover],
  ["subscriptions/listen", listen],
]);

/** The era in which each request stands for itself. */
export const modernServer: ServerEra = {
  name: "modern",
  versions,
  methods: modernMethods,
  builtins,
  claims: (message: RpcMessage, header?: HeaderReader) =>
    ("params" in message && hasEnvelope(message.params)) || versions.includes(header?.("mcp-protocol-version") ?? ""),
  attach: (host, wire) => new ModernSession(host, wire),
  encode: encodeResult,
  encodeError,
  settle: settleInRounds,
  http: (host, options) => createModernBinding(modernServer, host, options),
};

/** Nothing is kept between requests; the session only knows the way back. */
class ModernSession implements EraSession {
  constructor(
    readonly host: ServerHost,
    readonly wire: ServerWire,
  ) {}

  decode(request: RpcRequest, origin: CallOrigin): Call {
    const served = this.host.versions.filter((version) => versions.includes(version));
    const envelope = readEnvelope(request.params, served, this.host.versions);
    return new Call({
      era: modernServer,
      session: this,
      id: request.id,
      method: request.method,
      params: request.params as Params,
      client: envelope,
      wire: this.wire,
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
