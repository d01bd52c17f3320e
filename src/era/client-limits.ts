/** The bounds of a client. */
export interface ClientLimits {
  /**
   * The messages that a server may send in one array on a channel, in the version that has arrays (2025-03-26).
   * @default 64
   */
  readonly maxBatchItems: number;
}

/** The bounds that hold where the author gives none. */
export const CLIENT_LIMITS: ClientLimits = { maxBatchItems: 64 };
