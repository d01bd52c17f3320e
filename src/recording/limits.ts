/** Limits of a recorder. */
export interface RecordingLimits {
  /**
   * Lines that are kept in memory. Older ones are dropped.
   * @default 50_000
   */
  readonly maxKeptLines: number;
  /**
   * Characters of the lines that are kept in memory.
   * @default 64 MiB
   */
  readonly maxKeptBytes: number;
  /**
   * Characters that wait for a slow destination. Beyond it lines are dropped, and the recording has a gap.
   * @default 64 MiB
   */
  readonly maxUnwrittenBytes: number;
  /**
   * Length of a line. A longer one is replaced by a gap; a reader refuses it.
   * @default 32 MiB
   */
  readonly maxLineBytes: number;
  /**
   * Values of each kind that keep their pseudonym. Beyond it the oldest is forgotten, and gets another number when it
   * appears again.
   * @default 10_000
   */
  readonly maxPseudonyms: number;
}

const MIB = 1024 ** 2;

export const RECORDING_LIMITS: RecordingLimits = {
  maxKeptLines: 50_000,
  maxKeptBytes: 64 * MIB,
  maxUnwrittenBytes: 64 * MIB,
  maxLineBytes: 32 * MIB,
  maxPseudonyms: 10_000,
};
