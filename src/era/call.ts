import { AbortSwitch } from "../call/abort-switch.js";
import type { CallScope } from "../call/scope.js";
import type { Params, RequestId, RpcResponse } from "../jsonrpc/message.js";
import type { ClientCapabilities, Implementation, LoggingLevel, ProgressToken } from "../schema/types.js";
import type { EraSession, ServerEra } from "./era.js";

/** What is known about the client that made a call. */
export interface ClientFacts {
  readonly version: string;
  readonly capabilities: ClientCapabilities;
  /** Self-reported: for display and logs, never for decisions. */
  readonly info: Implementation | undefined;
}

/** The way back to the client. */
export interface ServerWire {
  /** True where many calls share one pipe, so that ends must be spelled out. */
  readonly shared: boolean;
  /** Sends a notification; `call` is the call it belongs to, if any. */
  notify(call: Call | undefined, method: string, params: Params | undefined): void | Promise<void>;
  /** Sends a request to the client, where the era has such a thing. */
  request(call: Call | undefined, method: string, params: Params | undefined, scope: CallScope): Promise<RpcResponse>;
  /** Whether `detach` can do anything for this call, or without one for what belongs to no call. */
  detachable?(call: Call | undefined): boolean;
  /**
   * Closes the connection that carries what is sent for this call, or what belongs to no call. The call goes on, and the
   * client, told to come back after `retryMs`, receives the rest then.
   */
  detach?(call: Call | undefined, retryMs?: number): void;
}

/** What came along with a request outside its JSON. */
export interface CallOrigin {
  /** What an authorization gate found out; handlers read it as `ctx.auth`. */
  readonly auth?: unknown;
  /** Who makes the call, as far as a gate could tell: state made for one is refused to another. */
  readonly principal?: string | undefined;
  /** A request header by lower-case name, on HTTP. */
  header?(name: string): string | undefined;
  readonly sessionId?: string | undefined;
}

export interface CallFacts {
  readonly era: ServerEra;
  readonly session: EraSession;
  readonly id: RequestId;
  readonly method: string;
  readonly params: Params;
  readonly client: ClientFacts;
  readonly wire: ServerWire;
  readonly origin: CallOrigin;
  readonly progressToken: ProgressToken | undefined;
  /** The least severe level the client wants to hear, if any; read anew for each message. */
  logLevel(): LoggingLevel | undefined;
}

/** One request being served. All it needs is given at birth; it ends once. */
export class Call {
  readonly era: ServerEra;
  readonly session: EraSession;
  readonly id: RequestId;
  readonly method: string;
  readonly params: Params;
  readonly client: ClientFacts;
  readonly wire: ServerWire;
  readonly origin: CallOrigin;
  readonly progressToken: ProgressToken | undefined;
  readonly logLevel: () => LoggingLevel | undefined;
  /** Thrown when the call is cancelled, its connection ends, or the server shuts down. */
  readonly end = new AbortSwitch();
  /** The state that the author put into an earlier round's result. */
  authoredState: unknown;
  /** Runs after the answer has been written. */
  afterAnswer: (() => void) | undefined;
  #open = true;

  constructor(facts: CallFacts) {
    this.era = facts.era;
    this.session = facts.session;
    this.id = facts.id;
    this.method = facts.method;
    this.params = facts.params;
    this.client = facts.client;
    this.wire = facts.wire;
    this.origin = facts.origin;
    this.progressToken = facts.progressToken;
    this.logLevel = facts.logLevel;
  }

  /** Whether anything may still be sent on behalf of this call. */
  get open(): boolean {
    return this.#open && !this.end.aborted;
  }

  /** The handler is done: from here on nothing is written for this call but its answer. */
  close(): void {
    this.#open = false;
  }

  notify(method: string, params: Params | undefined): void | Promise<void> {
    if (this.open) return this.wire.notify(this, method, params);
  }
}
