import type { ByteSource, Life, ReplyBody } from "./reply.js";

/**
 * The source of a body. A web stream is one together with a signal, and is always either read to its end or cancelled; what
 * came with its request needs no signal of its own.
 */
export function sourceOf(body: ReplyBody, life?: Life): ByteSource {
  if ("pump" in body) return body;
  const signal = life?.signal;
  const reader = body.getReader();
  let cancelled: { readonly reason: unknown } | undefined;
  // Nobody needs to wait for it: a stream that never settles it must not hold up the caller.
  const cancel = async (reason?: unknown) => {
    cancelled ??= { reason };
    await reader.cancel(reason).catch(() => {});
  };
  const stop = () => void cancel(signal?.reason);
  return {
    cancel,
    async pump(onChunk) {
      if (signal?.aborted) stop();
      signal?.addEventListener("abort", stop, { once: true });
      try {
        for (;;) {
          const { done, value } = await reader.read();
          if (cancelled !== undefined) throw cancelled.reason;
          if (done) return;
          if (!(await onChunk(value))) return void cancel();
        }
      } catch (error) {
        void cancel(error);
        throw cancelled?.reason;
      } finally {
        signal?.removeEventListener("abort", stop);
      }
    },
  };
}
