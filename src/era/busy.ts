import { type HttpHeaders, JSON_HEADERS } from "../http/exchange.js";
import { LIMIT_EXCEEDED, Refusal, toErrorObject } from "../protocol/jsonrpc/errors.js";
import { SERVER_LIMITS } from "./server-limits.js";

/** The pause after which a full server is worth another try. */
const RETRY_MS = 1_000;

/**
 * Refuses a call because a bound is reached: 503 where the server is full, 429 where the caller has its share. Nothing of the
 * call ran, so that it may come again.
 */
export class Busy extends Refusal {
  override readonly status: 429 | 503;
  readonly headers: HttpHeaders;

  /** `limit` names the option that sets the bound. */
  constructor(status: 429 | 503, limit: string, message: string, retryAfterMs = RETRY_MS) {
    super(LIMIT_EXCEEDED, `${message} (${Object.hasOwn(SERVER_LIMITS, limit) ? "limits." : ""}${limit})`, {
      limit,
      retryAfterMs,
    });
    this.status = status;
    this.headers = { ...JSON_HEADERS, "retry-after": String(Math.max(1, Math.ceil(retryAfterMs / 1000))) };
  }

  /** The answer to an exchange whose call did not even begin. */
  get refusal() {
    return { status: this.status, error: toErrorObject(this), headers: this.headers };
  }
}
