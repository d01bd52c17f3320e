import { followSignal } from "../call/abortable.js";
import type { RedisEvents } from "./connection.js";

/** Duplicate of an author's client, whichever library it is of. It must not reconnect. */
export interface Duplicate {
  on(event: "error" | "end", listener: () => void): unknown;
  connect(): Promise<unknown>;
}

/** What the library calls an end, and how a connection is closed at once. */
export interface DuplicateEnd {
  readonly events: readonly ("error" | "end")[];
  cut(): void;
}

/**
 * Connects a duplicate, and tells when the connection is closed for any reason. Resolves with a function that closes it.
 */
export async function openDuplicate(
  own: Duplicate,
  { events, cut }: DuplicateEnd,
  { onClose }: Pick<RedisEvents, "onClose">,
  signal: AbortSignal,
): Promise<() => void> {
  let isOpened = false;
  let isClosed = false;
  const close = () => {
    if (isClosed) return;
    isClosed = true;
    cut();
    if (isOpened) onClose();
  };
  for (const event of events) own.on(event, close);
  const unfollow = followSignal(signal, close);
  try {
    signal.throwIfAborted();
    await own.connect();
    signal.throwIfAborted();
    if (isClosed) throw new Error("the connection was closed");
  } finally {
    unfollow();
  }
  isOpened = true;
  return close;
}
