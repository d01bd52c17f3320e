import type { Context } from "./context.js";

/**
 * Closes the event stream of a call while the call continues. The client reconnects after `retryMs` to get the response.
 * Has an effect only on legacy HTTP, if the stream can be resumed (`http.resumable`).
 */
export function detachStream(ctx: Context, retryMs?: number): void {
  ctx.detachStream(retryMs);
}
