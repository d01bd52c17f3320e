import { AbortSwitch } from "../call/abort-switch.js";
import type { Params, RequestId } from "../protocol/jsonrpc/message.js";
import type { InputResponses, LoggingLevel, ProgressToken } from "../protocol/types/index.js";
import type {
  Call,
  CallInit,
  CallOrigin,
  ClientDescription,
  EraSession,
  ServerEra,
  ServerWire,
  Topics,
} from "./server-era.js";

/** One request being served. All it needs is given at birth; it ends once. */
export class ServedCall implements Call {
  readonly era: ServerEra;
  readonly session: EraSession | undefined;
  readonly id: RequestId;
  readonly method: string;
  readonly params: Params;
  readonly client: ClientDescription;
  readonly wire: ServerWire;
  readonly origin: CallOrigin;
  readonly progressToken: ProgressToken | undefined;
  readonly logLevel: () => LoggingLevel | undefined;
  /** Thrown when the call is cancelled, its connection ends, or the server shuts down. */
  readonly end = new AbortSwitch();
  /** The state that the author put into an earlier round's result. */
  authoredState: unknown;
  /** Whether that state is sealed on its way; otherwise it goes out as the author wrote it. */
  sealsState = true;
  /** The answers to the questions of an earlier round's result. */
  inputResponses: InputResponses | undefined;
  /** Runs after the answer has been written. */
  afterAnswer: (() => void) | undefined;
  /** Runs when the handler is done, as long as something may still be sent. */
  beforeClose: (() => void) | undefined;
  /** What extensions add to a subscription. */
  declare topics?: Topics | undefined;
  #open = true;

  constructor(facts: CallInit) {
    this.era = facts.era;
    this.session = facts.session;
    this.id = facts.id;
    this.method = facts.method;
    this.params = facts.params;
    this.inputResponses = facts.params.inputResponses as InputResponses | undefined;
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
    this.beforeClose?.();
    this.#open = false;
  }

  notify(method: string, params: Params | undefined): void | Promise<void> {
    if (this.open) return this.wire.notify(this, method, params);
  }
}
