import { AbortSwitch } from "../call/abort-switch.js";
import type { CallScope } from "../call/scope.js";
import type { Params, RequestId, RpcResponse } from "../jsonrpc/message.js";
import type { ClientCapabilities, Implementation, LoggingLevel, ProgressToken } from "../schema/types.js";
import type { ServerEra } from "./era.js";

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
}

/** What came along with a request outside its JSON. */
export interface CallOrigin {
  readonly auth?: unknown;
  /** A request header by lower-case name, on HTTP. */
  header?(name: string): string | undefined;
  readonly sessionId?: string | undefined;
}

export interface CallFacts {
  readonly era: ServerEra;
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
  /** Runs after the answer has been written. */
  afterAnswer: (() => void) | undefined;
  #open = true;

  constructor(facts: CallFacts) {
    this.era = facts.era;
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
