/** Limits of an inspector: on what is kept for its pages, and on what they may send. */
export interface InspectLimits {
  /**
   * Lines of the live recording that are kept in memory. Older ones are only in the file of `--record`.
   * @default 50_000
   */
  readonly maxKeptLines: number;
  /**
   * Characters of these lines.
   * @default 64 MiB
   */
  readonly maxKeptBytes: number;
  /**
   * Ends of runs that are kept for pages that lost their connection.
   * @default 100
   */
  readonly maxKeptRuns: number;
  /**
   * Characters of these ends.
   * @default 8 MiB
   */
  readonly maxKeptRunBytes: number;
  /**
   * Open event streams, one for each tab of the browser.
   * @default 16
   */
  readonly maxStreams: number;
  /**
   * Connections to servers that are open, or were and are still shown.
   * @default 32
   */
  readonly maxConnections: number;
  /**
   * Runs that have not ended.
   * @default 256
   */
  readonly maxRuns: number;
  /**
   * Bytes of the body of a verb.
   * @default 4 MiB
   */
  readonly maxBodyBytes: number;
  /**
   * Bytes of all bodies that are arriving.
   * @default 16 MiB
   */
  readonly maxBodiesBytes: number;
  /**
   * Time between two pieces of a body.
   * @default 5_000
   */
  readonly bodyTimeoutMs: number;
  /**
   * Time of a whole body.
   * @default 20_000
   */
  readonly maxBodyMs: number;
}

const MIB = 1024 ** 2;

export const INSPECT_LIMITS: InspectLimits = {
  maxKeptLines: 50_000,
  maxKeptBytes: 64 * MIB,
  maxKeptRuns: 100,
  maxKeptRunBytes: 8 * MIB,
  maxStreams: 16,
  maxConnections: 32,
  maxRuns: 256,
  maxBodyBytes: 4 * MIB,
  maxBodiesBytes: 16 * MIB,
  bodyTimeoutMs: 5_000,
  maxBodyMs: 20_000,
};
