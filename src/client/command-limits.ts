/** Limits of a server process. */
export interface CommandLimits {
  /**
   * Maximum length of a line from the server in bytes.
   * @default 32 MiB
   */
  readonly maxLineBytes: number;
  /**
   * Maximum number of bytes that wait until the server reads them. Beyond it, calls are refused.
   * @default 256 MiB
   */
  readonly maxBehindBytes: number;
  /**
   * Maximum number of lines of the server's stderr to keep for errors. The last lines are kept.
   * @default 50
   */
  readonly maxStderrLines: number;
  /**
   * Maximum number of characters of these lines together. A longer line counts as several lines.
   * @default 8192
   */
  readonly maxStderrChars: number;
  /**
   * Maximum number of unread bytes of stderr with `inherit` or `pipe`. Beyond it, text is dropped.
   * @default 1 MiB
   */
  readonly maxUnreadStderrBytes: number;
}

const MIB = 1024 * 1024;

export const COMMAND_LIMITS: CommandLimits = {
  maxLineBytes: 32 * MIB,
  maxBehindBytes: 256 * MIB,
  maxStderrLines: 50,
  maxStderrChars: 8 * 1024,
  maxUnreadStderrBytes: MIB,
};
