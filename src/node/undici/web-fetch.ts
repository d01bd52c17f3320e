import { AbortSwitch } from "../../call/abort-switch.js";
import type { ByteSource, FetchInit, Sending } from "../../http/client/send.js";
import type { DirectReply } from "./reply.js";

/** Statuses of responses without a body. */
const BODILESS: ReadonlySet<number> = new Set([204, 205, 304]);

/** Sends a request whose body is a text, or none, and returns a web response. */
export async function fetchBy(
  send: (sending: Sending) => Promise<DirectReply>,
  url: URL,
  init: FetchInit,
): Promise<Response> {
  const { method = "GET", headers, body, signal, patience, server = url } = init;
  const end = new AbortSwitch();
  const stop = () => void end.abort(signal?.reason);
  if (signal?.aborted) stop();
  signal?.addEventListener("abort", stop, { once: true });
  const release = () => signal?.removeEventListener("abort", stop);
  try {
    const reply = await send({
      method: method as Sending["method"],
      headers: Object.fromEntries(new Headers(headers)),
      body: (body ?? null) as string | null,
      end,
      patience,
      server,
    });
    return toResponse(reply, release);
  } catch (error) {
    release();
    throw error;
  }
}

/** Converts a reply. Throws for a status that a web response cannot have. `onEnd` is called when the body is over. */
function toResponse(reply: DirectReply, onEnd: () => void): Response {
  const { status } = reply;
  const init = { status, headers: reply.toHeaders() };
  try {
    if (!BODILESS.has(status)) return new Response(streamOf(reply.body, onEnd), init);
    onEnd();
    return new Response(null, init);
  } catch (error) {
    void reply.cancel(error);
    throw error;
  }
}

/** Returns a stream of the bytes of a source. It takes a chunk when the one before it was read. */
function streamOf(source: ByteSource, onEnd: () => void): ReadableStream<Uint8Array> {
  let isCancelled = false;
  let takeMore = (_more: boolean): void => {};
  const pumpInto = async (controller: ReadableStreamDefaultController<Uint8Array>) => {
    const onChunk = (chunk: Uint8Array): boolean | Promise<boolean> => {
      controller.enqueue(chunk);
      const hasRoom = (controller.desiredSize ?? 0) > 0;
      return hasRoom || new Promise((resolve) => (takeMore = resolve));
    };
    try {
      await source.pump(onChunk);
      if (!isCancelled) controller.close();
    } catch (error) {
      controller.error(error);
    } finally {
      onEnd();
    }
  };
  return new ReadableStream({
    start: (controller) => void pumpInto(controller),
    pull: () => takeMore(true),
    async cancel(reason) {
      isCancelled = true;
      takeMore(false);
      await source.cancel(reason);
    },
  });
}
