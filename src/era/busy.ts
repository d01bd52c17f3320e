import { type HttpHeaders, JSON_HEADERS } from "../http/exchange.js";
import { LIMIT_EXCEEDED, Refusal, toErrorObject } from "../protocol/jsonrpc/errors.js";
import { SERVER_LIMITS } from "./server-limits.js";

/** Default of the milliseconds after which a client may send a refused call again. */
const RETRY_MS = 1_000;

/**
 * Refusal of a call at a limit: 503 if the server is full, 429 if the caller has used its share. No part of the call
 * has run, so the client may send it again.
 */
export class Busy extends Refusal {
  override readonly status: 429 | 503;
  readonly headers: HttpHeaders;

  /** `limit` is the name of the option that sets the bound. */
  constructor(status: 429 | 503, limit: string, message: string, retryAfterMs = RETRY_MS) {
    super(LIMIT_EXCEEDED, `${message} (${Object.hasOwn(SERVER_LIMITS, limit) ? "limits." : ""}${limit})`, {
      limit,
      retryAfterMs,
      // Over a channel there is no status that says so. A handler's own error never has it.
      refused: true,
    });
    this.status = status;
    this.headers = { ...JSON_HEADERS, "retry-after": String(Math.max(1, Math.ceil(retryAfterMs / 1000))) };
  }

  /** Response to an exchange whose call has not started. */
  get refusal() {
    return { status: this.status, error: toErrorObject(this), headers: this.headers };
  }
}
