/** What a client reads of a response. A web `Response` is one. */
export interface Reply {
  readonly status: number;
  readonly ok: boolean;
  /** Where it came from; empty if that is where it was asked for. */
  readonly url: string;
  readonly headers: { get(name: string): string | null };
  readonly body: ReplyBody | null;
  readonly bodyUsed: boolean;
}

/** The bytes of a response: those of a web stream, or of a source that hands them out itself. */
export type ReplyBody = ReadableStream<Uint8Array> | ByteSource;

/** Bytes without the ceremony of a stream. They end with the request that they answer. */
export interface ByteSource {
  /**
   * Hands out each chunk as it comes, and those that are there already before it returns. Settles when the bytes have ended
   * or the listener wants no more. Rejects with what broke the source, what the listener threw, or the
   * reason that the source was cancelled for. To be called once.
   */
  pump(onChunk: OnChunk): Promise<void>;
  cancel(reason?: unknown): Promise<void>;
}

/** Tells whether it wants more, at once or when it has made room. */
export type OnChunk = (chunk: Uint8Array) => boolean | Promise<boolean>;

/** What the reading of a response ends with. Its signal is asked for where there is no other way. */
export interface Life {
  readonly signal: AbortSignal;
}
