export interface ProblemOptions extends ErrorOptions {
  /** 400 unless given. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * An error of OAuth: `code` and `message` go out to the client as `error` and `error_description`. Throw one from a hook to
 * refuse a request with a code of your own; any other error becomes `server_error` and stays inside.
 */
export class OAuthProblem extends Error {
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

/** What is told of an error: all of a problem, and nothing of anything else. */
export function toProblem(core: { onError(error: unknown): void }, error: unknown): OAuthProblem {
  if (!(error instanceof OAuthProblem) || error.status >= 500) core.onError(error);
  if (error instanceof OAuthProblem) return error;
  return new OAuthProblem("server_error", "something went wrong here", { status: 500 });
}

/** What RFC 6749 allows in a description. */
export function printable(text: string): string {
  return text.replace(/[^\x20\x21\x23-\x5b\x5d-\x7e]+/g, "'");
}
