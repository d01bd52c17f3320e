const MIB = 1024 * 1024;

/** The bounds of stdio and of server processes that hold where the author gives none. */
export const STDIO_LIMITS = {
  /** Both sides: a longer line ends the channel. */
  maxLineBytes: 32 * MIB,
  /** Both sides: beyond this, a client refuses frames, and a server gives the client up. */
  maxBehindBytes: 256 * MIB,
  /** Server: beyond this, nothing is read. */
  maxUnwrittenBytes: 16 * MIB,
  /** Server: closing waits so long for the client to take what was sent. */
  drainMs: 2000,
  /** Client: closing waits so long after the end of the server's input, before SIGTERM. */
  stdinMs: 2000,
  /** Client: closing waits so long after SIGTERM, before SIGKILL. */
  termMs: 2000,
  /** Client: the last lines of the server's standard error that are kept. */
  maxStderrLines: 50,
  /** Client: the characters of those lines; a longer line counts as several. */
  maxStderrChars: 8 * 1024,
  /** Client: text of the server's standard error is dropped while more than this waits to be read. */
  maxUnreadStderrBytes: MIB,
} as const;

/** The times of a server that listens, where the author gives none. */
export const SERVE_HTTP_LIMITS = {
  /** A draining server serves on so long before it stops listening. */
  lameDuckMs: 5_000,
  /** A connection is kept so long without a request. */
  connectionIdleMs: 75_000,
} as const;
