/** What a server holds at the moment. All members but `refused` return to 0 when there is nothing to do. */
export interface ServerStats {
  /** Calls that run. */
  readonly running: number;
  /** Calls that wait for their tool, because of its `concurrency`. */
  readonly waiting: number;
  /** Refusals by limits since the start. */
  readonly refused: number;
  /** Channels that are served, such as stdio. */
  readonly connections: number;
  /** Open subscriptions. Each resource of a client counts. */
  readonly subscriptions: number;
  /** Request bodies that are being received. */
  readonly bodies: number;
  /** Bytes of those bodies that have arrived. */
  readonly bodyBytes: number;
  /** HTTP requests without a complete response, subscriptions included, except those of legacy clients. */
  readonly openRequests: number;
  /** HTTP sessions. Legacy only. */
  readonly sessions: number;
  /** Open event streams of these sessions. Legacy only. */
  readonly streams: number;
}
