/** Times of stdio and of server processes. */
export const STDIO_TIMES = {
  /** Server: time that closing waits for the client to read the data that was sent. */
  drainMs: 2000,
  /** Client: time that closing waits after it ended the server's input, before SIGTERM. */
  stdinMs: 2000,
  /** Client: time that closing waits after SIGTERM, before SIGKILL. */
  termMs: 2000,
} as const;

/** Default times of a listening server. */
export const SERVE_HTTP_LIMITS = {
  /** Time that a draining server continues to serve before it stops listening. */
  lameDuckMs: 5_000,
  /** Time that a connection is kept open without a request. */
  connectionIdleMs: 75_000,
} as const;
