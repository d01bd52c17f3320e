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
  /**
   * Params as the client sent them, with `_meta`. `params.name` is the name of a tool or prompt. It is a copy, made when it
   * is read and frozen at every depth: the handler gets the params of the client whatever an interceptor does.
   */
  readonly params: Params;
  /** Protocol version, capabilities and self-reported identity of the client, as a copy that is frozen like `params`. */
  readonly client: ClientDescription;
  /** What the authorization gate knows of the caller: the object of the gate itself. Undefined without a gate. */
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

/**
 * Converts calls to views and back. A server lends it to its extensions: one of another copy of the package could not open
 * the views of this copy.
 */
export interface CallViews {
  /** Returns the view of a call that code of others gets: the same one each time. */
  infoOf(call: Call): CallInfo;
  /** Returns the call of a view. Throws if the object is not one of `infoOf`. */
  callOf(info: CallInfo): Call;
}

/**
 * View of a call. The call itself is a private member: it would otherwise be open to changes that its era does not expect.
 * One view per call is created, and only if code of others gets it.
 */
class CallView implements CallInfo {
  readonly #call: Call;
  #params: Params | undefined;
  #client: ClientDescription | undefined;

  constructor(call: Call) {
    this.#call = call;
  }

  static callOf(info: CallInfo): Call {
    if (typeof info === "object" && info !== null && #call in info) return info.#call;
    throw new DefinitionError("next: pass on the call that the interceptor was given");
  }

  get id(): RequestId {
    return this.#call.id;
  }

  get method(): string {
    return this.#call.method;
  }

  get params(): Params {
    this.#params ??= frozenCopy(this.#call.params);
    return this.#params;
  }

  get client(): ClientDescription {
    this.#client ??= frozenCopy(this.#call.client);
    return this.#client;
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

/** Copies an object of JSON and freezes the copy at every depth. A client may nest deeper than functions can call each other. */
function frozenCopy<T extends object>(value: T): T {
  const copy = { ...value };
  const open: Record<string, unknown>[] = [copy as Record<string, unknown>];
  for (let part = open.pop(); part !== undefined; part = open.pop()) {
    for (const [key, inner] of Object.entries(part)) {
      if (typeof inner !== "object" || inner === null) continue;
      part[key] = Array.isArray(inner) ? [...inner] : { ...inner };
      open.push(part[key] as Record<string, unknown>);
    }
    Object.freeze(part);
  }
  return copy;
}

const views = new WeakMap<Call, CallView>();

/** Views of the calls of a server. */
export const callViews: CallViews = {
  infoOf(call) {
    const view = views.get(call) ?? new CallView(call);
    views.set(call, view);
    return view;
  },
  callOf: CallView.callOf,
};

/** Interceptor of calls themselves, as the extensions of the SDK are. */
export type CallInterceptor = Interceptor<Call, Result>;

export function assertInterceptor(where: string, interceptor: unknown): void {
  if (typeof interceptor !== "function")
    throw new DefinitionError(`${where}: an interceptor must be a function (call, next)`);
}

/** Returns an interceptor of calls that runs one of an author, who gets the view of the call. */
export function viewed({ infoOf, callOf }: CallViews, interceptor: Interceptor<CallInfo, Result>): CallInterceptor {
  return (call, next) => interceptor(infoOf(call), (info) => next(callOf(info)));
}

/** Returns a result as interceptors see it. */
export function toPlain(result: HandlerResult): Result {
  return result instanceof PreparedResult ? result.result : result;
}
