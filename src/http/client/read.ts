import type { Clock } from "../../call/clock.js";
import { BodyTooLarge } from "../body-failure.js";
import { type Life, type Reply, sourceOf } from "./send.js";

/** Reads the whole body as text. Rejects with `BodyTooLarge`, the error of the body, or the reason of the signal. */
export async function readText(reply: Reply, maxBytes: number, life: Life): Promise<string> {
  if (reply.body === null) return "";
  const decoder = new TextDecoder();
  let first: Uint8Array | undefined;
  let text = "";
  let size = 0;
  await sourceOf(reply.body, life).pump((chunk) => {
    size += chunk.byteLength;
    if (size > maxBytes) throw new BodyTooLarge(maxBytes, `body is larger than ${maxBytes} bytes`);
    // Most bodies are a single chunk, which is decoded at once.
    if (size === chunk.byteLength) first = chunk;
    else {
      if (first !== undefined) text = decoder.decode(first, { stream: true });
      first = undefined;
      text += decoder.decode(chunk, { stream: true });
    }
    return true;
  });
  return text + decoder.decode(first);
}

/**
 * Reads the beginning of a body for an error message, within limits of size and time. Drops the rest. Never rejects.
 */
export async function readExcerpt(
  reply: Reply,
  maxBytes: number,
  maxMs: number,
  life: Life,
  clock: Clock,
): Promise<string> {
  if (reply.body === null) return "";
  const decoder = new TextDecoder();
  const source = sourceOf(reply.body, life);
  const isEmpty = reply.headers.get("content-length") === "0";
  const timer = isEmpty ? undefined : clock.schedule(() => void source.cancel(), maxMs);
  let text = "";
  let left = maxBytes;
  try {
    await source.pump((chunk) => {
      text += decoder.decode(chunk.subarray(0, left), { stream: true });
      left -= chunk.byteLength;
      return left > 0;
    });
  } catch {
    // The text that was read so far is sufficient.
  } finally {
    if (timer !== undefined) clock.cancel(timer);
  }
  return text;
}
