/**
 * The header `Last-Event-ID`. Event ids are UTF-8, and browsers send their bytes. The interfaces of HTTP show each byte of
 * a header as one character (Latin-1).
 */

const ASCII = /^[\x20-\x7e]*$/;
const BYTES = /^[\0-\xff]*$/;

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

/** Returns the value of the header for an event id. */
export function toEventIdHeader(id: string): string {
  return ASCII.test(id) ? id : Array.from(encoder.encode(id), (byte) => String.fromCharCode(byte)).join("");
}

/** Returns the event id that a header names. A value that is not UTF-8, or that the host has decoded, is the id itself. */
export function fromEventIdHeader(value: string): string {
  if (ASCII.test(value) || !BYTES.test(value)) return value;
  try {
    return decoder.decode(Uint8Array.from(value, (char) => char.charCodeAt(0)));
  } catch {
    return value;
  }
}
