/** Client library as the cluster uses it. `fromNats` creates it. */
export interface NatsClient {
  /**
   * Opens a connection of its own, which does not reconnect and queues nothing while it is closed. Rejects if it cannot
   * be opened, or when the signal fires.
   * @param onClose Called once when an open connection is closed for any reason.
   */
  open(onClose: () => void, signal: AbortSignal): Promise<NatsLine>;
}

/** Open connection. Its messages are sent in the order in which the methods are called. */
export interface NatsLine {
  /** Version of the server. */
  readonly version: string;
  /** Maximum size of a message with its headers, in bytes. */
  readonly maxPayload: number;
  /** Begin of the subjects at which this connection may receive replies. */
  readonly inbox: string;
  /** True if the server itself has JetStream. Without it, another server of its cluster may have it. */
  readonly hasJetStream: boolean;
  /**
   * Sends a message and resolves with the reply. The status is 503 if nobody answers the subject. Rejects with
   * {@link Denied} if a right is missing.
   */
  request(subject: string, body: string, headers?: Readonly<Record<string, string>>): Promise<NatsMessage>;
  /** @param reply Subject at which replies to the message are expected. */
  publish(subject: string, body: string, reply?: string): void;
  /** Resolves when the server has read everything that was sent before. */
  flush(): Promise<void>;
  /**
   * Calls the listener for each message. Returns a function that ends the subscription.
   * @param onError Called when the server refuses or ends the subscription.
   */
  subscribe(subject: string, listener: (message: NatsMessage) => void, onError: (error: Error) => void): () => void;
  /** Closes the connection at once. Requests that wait for their reply are rejected. */
  close(): void;
}

/** A message that was not sent, since the connection was closed before. */
export class NotSent extends Error {
  override readonly name = "NotSent";
}

/** The user of the connection has no right to publish or subscribe to a subject. Nothing was carried out. */
export class Denied extends Error {
  override readonly name = "Denied";

  constructor(
    readonly operation: "publish" | "subscribe",
    readonly subject: string,
    options?: ErrorOptions,
  ) {
    super(`the user of the connection has no right to ${operation} to ${subject}`, options);
  }
}

export interface NatsMessage {
  readonly subject: string;
  /** Subject of the reply, or an empty text. */
  readonly reply: string;
  /** Status of a message of the server itself, or 0. */
  readonly status: number;
  text(): string;
  /** Returns a header, or an empty text. */
  header(name: string): string;
}
