import { isInstance } from "../../protocol/brand.js";
import { isStateAway } from "../../protocol/errors.js";

export interface ProblemOptions extends ErrorOptions {
  /**
   * Status of the response.
   * @default 400
   */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * OAuth error. `code` and `message` are sent to the client as `error` and `error_description`. A hook throws it to
 * reject a request with a code of its own. Any other error is sent as `server_error`, without its message.
 */
export class OAuthProblem extends Error {
  protected static readonly bowline: string = "OAuthProblem";
  static override readonly [Symbol.hasInstance]: (value: unknown) => boolean = isInstance;
  override readonly name = "OAuthProblem";
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  constructor(
    readonly code: string,
    message: string,
    { status = 400, headers = {}, ...options }: ProblemOptions = {},
  ) {
    super(message, options);
    this.status = status;
    this.headers = headers;
  }

  toJSON(): { readonly error: string; readonly error_description: string } {
    return { error: this.code, error_description: printable(this.message) };
  }
}

export function invalidRequest(message: string): OAuthProblem {
  return new OAuthProblem("invalid_request", message);
}

export function invalidGrant(message: string): OAuthProblem {
  return new OAuthProblem("invalid_grant", message);
}

const AWAY_SECONDS = "5";

/**
 * Converts an error to the one that the client gets. Only an `OAuthProblem` is sent with its message. Failures of this
 * server are reported to `onError`. While its store cannot be reached, clients are asked to come back.
 */
export function toProblem(core: { onError(error: unknown): void }, error: unknown): OAuthProblem {
  if (!(error instanceof OAuthProblem) || error.status >= 500) core.onError(error);
  if (error instanceof OAuthProblem) return error;
  if (!isStateAway(error)) return new OAuthProblem("server_error", "the authorization server failed", { status: 500 });
  const headers = { "retry-after": AWAY_SECONDS };
  const message = "the store of the authorization server cannot be reached; try again later";
  return new OAuthProblem("temporarily_unavailable", message, { status: 503, headers });
}

/** Replaces characters that RFC 6749 does not allow in a description. */
export function printable(text: string): string {
  return text.replace(/[^\x20\x21\x23-\x5b\x5d-\x7e]+/g, "'");
}
