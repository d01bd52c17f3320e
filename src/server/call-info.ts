import type { Interceptor } from "../call/interceptor.js";
import type { Call, ClientDescription, HandlerResult, Result } from "../era/server-era.js";
import { PreparedResult } from "../era/server-era.js";
import type { AuthInfo } from "../http/auth-info.js";
import { DefinitionError } from "../protocol/errors.js";
import type { Params } from "../protocol/jsonrpc/message.js";
import type { RequestId } from "../protocol/types/index.js";

/** Call as interceptors and extensions see it. It is read-only. `next` takes it as it is. */
export interface CallInfo {
  /** JSON-RPC id of the request. */
  readonly id: RequestId;
  /** Method of the request, such as `tools/call`. */
  readonly method: string;
  /** Params as the client sent them, with `_meta`. `params.name` is the name of a tool or prompt. */
  readonly params: Params;
  /** Protocol version, capabilities and self-reported identity of the client. */
  readonly client: ClientDescription;
  /** What the authorization gate knows of the caller. Undefined without a gate. */
  readonly auth: AuthInfo | undefined;
  /** Identifier of the caller from the authorization gate. */
  readonly principal: string | undefined;
  /** Aborts when the call is cancelled, its connection ends, or the server shuts down. Created when it is read. */
  readonly signal: AbortSignal;
  /** Id of the session. Legacy HTTP only. */
  readonly sessionId: string | undefined;
  /** Path and query of the HTTP request. Undefined on other transports. */
  readonly url: string | undefined;
  /** Address of the connection, if it is known and public. */
  readonly remote: string | undefined;
  /** Returns a header of the HTTP request. The name is case-insensitive. Returns undefined on other transports. */
  header(name: string): string | undefined;
}

/** Names the call of a view, also for another copy of this package. */
const CALL = Symbol.for("bowline.call");

/**
 * View of a call. The call itself is a private member: it would otherwise be open to changes that its era does not expect.
 * One view per call is created, and only if there are interceptors.
 */
class CallView implements CallInfo {
  readonly #call: Call;

  constructor(call: Call) {
    this.#call = call;
  }

  get [CALL](): Call {
    return this.#call;
  }

  get id(): RequestId {
    return this.#call.id;
  }

  get method(): string {
    return this.#call.method;
  }

  get params(): Params {
    return this.#call.params;
  }

  get client(): ClientDescription {
    return this.#call.client;
  }

  get auth(): AuthInfo | undefined {
    return this.#call.origin.auth;
  }

  get principal(): string | undefined {
    return this.#call.origin.principal;
  }

  get signal(): AbortSignal {
    return this.#call.end.signal;
  }

  get sessionId(): string | undefined {
    return this.#call.origin.sessionId;
  }

  get url(): string | undefined {
    return this.#call.origin.url;
  }

  get remote(): string | undefined {
    return this.#call.origin.remote;
  }

  header(name: string): string | undefined {
    return this.#call.origin.header?.(name.toLowerCase());
  }
}

/** Returns the view of a call that code of others gets. */
export function infoOf(call: Call): CallInfo {
  return new CallView(call);
}

/** Returns the call of a view, for the extensions of the SDK. Throws if the object is not one of {@link infoOf}. */
export function callOf(info: CallInfo): Call {
  const call = (info as Partial<CallView> | undefined)?.[CALL];
  if (call !== undefined) return call;
  throw new DefinitionError("next: pass on the call that the interceptor was given");
}

/** Creates an interceptor that works on calls themselves, for the extensions of the SDK. */
export function interceptCalls(
  around: (call: Call, next: (call: Call) => Promise<Result>) => Promise<Result>,
): Interceptor<CallInfo, Result> {
  return (info, next) => {
    const call = callOf(info);
    return around(call, (other) => next(other === call ? info : infoOf(other)));
  };
}

/** Returns a result as interceptors see it. */
export function toPlain(result: HandlerResult): Result {
  return result instanceof PreparedResult ? result.result : result;
}
