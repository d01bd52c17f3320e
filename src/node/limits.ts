const MIB = 1024 * 1024;

/** Default limits of stdio and of server processes. */
export const STDIO_LIMITS = {
  /** Both sides: maximum length of a line. A longer line ends the channel. */
  maxLineBytes: 32 * MIB,
  /**
   * Both sides: maximum amount of unread data. Beyond it, a client refuses to send frames and a server ends the
   * channel.
   */
  maxBehindBytes: 256 * MIB,
  /** Server: maximum amount of unwritten data. Beyond it, no input is read. */
  maxUnwrittenBytes: 16 * MIB,
  /** Server: time that closing waits for the client to read the data that was sent. */
  drainMs: 2000,
  /** Client: time that closing waits after it ended the server's input, before SIGTERM. */
  stdinMs: 2000,
  /** Client: time that closing waits after SIGTERM, before SIGKILL. */
  termMs: 2000,
  /** Client: maximum number of lines of the server's stderr to keep. The last lines are kept. */
  maxStderrLines: 50,
  /** Client: maximum number of characters of these lines together. A longer line counts as several lines. */
  maxStderrChars: 8 * 1024,
  /** Client: maximum amount of unread stderr data. Beyond it, text is dropped. */
  maxUnreadStderrBytes: MIB,
} as const;

/** Default times of a listening server. */
export const SERVE_HTTP_LIMITS = {
  /** Time that a draining server continues to serve before it stops listening. */
  lameDuckMs: 5_000,
  /** Time that a connection is kept open without a request. */
  connectionIdleMs: 75_000,
} as const;
