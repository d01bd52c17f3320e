import { AbortSwitch } from "../call/abort-switch.js";
import { INVALID_PARAMS, INVALID_REQUEST, Refusal } from "../protocol/jsonrpc/errors.js";
import type { Params, RequestId, RpcRequest } from "../protocol/jsonrpc/message.js";
import type { InputResponses, LoggingLevel, ProgressToken } from "../protocol/types/index.js";
import type {
  Call,
  CallInit,
  CallOrigin,
  ClientDescription,
  EraSession,
  HandlerRunner,
  ServerEra,
  ServerWire,
  Topics,
} from "./server-era.js";
import type { ServerLimits } from "./server-limits.js";

/** Request that is being served. It is complete when constructed and ends once. */
export class ServedCall implements Call {
  readonly era: ServerEra;
  readonly session: EraSession | undefined;
  readonly id: RequestId;
  readonly method: string;
  params: Params;
  readonly client: ClientDescription;
  readonly wire: ServerWire;
  readonly origin: CallOrigin;
  readonly progressToken: ProgressToken | undefined;
  readonly logLevel: () => LoggingLevel | undefined;
  /** Aborted when the call is cancelled, its connection ends, or the server shuts down. */
  readonly end = new AbortSwitch();
  /** State that the author put into the result of an earlier round. */
  authoredState: unknown;
  /** True if that state is sealed before it is sent. Otherwise it is sent as the author wrote it. */
  sealsState = true;
  /** Answers to the questions in the result of an earlier round. */
  inputResponses: InputResponses | undefined;
  /** Runs after the response has been written. */
  afterAnswer: (() => void) | undefined;
  /** Runs when the handler has finished, while notifications may still be sent. */
  beforeClose: (() => void) | undefined;
  /** Additions of extensions to a subscription. */
  declare topics?: Topics | undefined;
  declare key?: string | undefined;
  declare readonly runner?: HandlerRunner | undefined;
  #open = true;

  constructor(facts: CallInit) {
    this.era = facts.era;
    this.session = facts.session;
    this.id = facts.id;
    this.method = facts.method;
    this.params = facts.params;
    this.inputResponses = (facts.params.inputResponses ?? undefined) as InputResponses | undefined;
    this.client = facts.client;
    this.wire = facts.wire;
    this.origin = facts.origin;
    this.progressToken = facts.progressToken;
    this.logLevel = facts.logLevel;
    if (facts.runner !== undefined) this.runner = facts.runner;
  }

  /** True while notifications may be sent for this call. */
  get open(): boolean {
    return this.#open && !this.end.aborted;
  }

  get idempotencyKey(): string {
    this.key ??= crypto.randomUUID();
    return this.key;
  }

  /** Marks the handler as finished. From now on only the response is written for this call. */
  close(): void {
    this.beforeClose?.();
    this.#open = false;
  }

  notify(method: string, params: Params | undefined): void | Promise<void> {
    if (this.open) return this.wire.notify(this, method, params);
  }
}

/** Refuses a request whose id or progress token is too long to be kept and echoed. */
export function longIdRefusal(
  { id }: RpcRequest,
  progressToken: RequestId | undefined,
  { maxIdChars }: ServerLimits,
): Refusal | undefined {
  const isTooLong = isLong(id, maxIdChars);
  if (!isTooLong && !isLong(progressToken, maxIdChars)) return undefined;
  const [code, which] = isTooLong ? [INVALID_REQUEST, "an id"] : [INVALID_PARAMS, "a progressToken"];
  return new Refusal(code, `Too many characters in ${which}: at most ${maxIdChars} are allowed (limits.maxIdChars)`);
}

function isLong(id: RequestId | undefined, most: number): boolean {
  return typeof id === "string" && id.length > most;
}
