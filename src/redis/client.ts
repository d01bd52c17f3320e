/** Client library as the cluster uses it. `fromNodeRedis` and `fromIoredis` create it. */
export interface RedisClient {
  /**
   * Opens a connection of its own, which does not reconnect, queues nothing while it is closed and repeats no command.
   * Rejects if it cannot be opened, or when the signal fires.
   */
  open(events: RedisEvents, signal: AbortSignal): Promise<RedisConnection>;
}

export interface RedisEvents {
  onMessage(channel: string, text: string): void;
  /** Called once when an open connection is closed for any reason. */
  onClose(): void;
}

/** Open connection. Its commands are sent in the order in which they are called. */
export interface RedisConnection {
  command(args: readonly string[]): Promise<unknown>;
  subscribe(channel: string): Promise<void>;
  unsubscribe(channel: string): Promise<void>;
  /** Closes the connection at once. Commands that wait for their reply are rejected. */
  close(): void;
}
