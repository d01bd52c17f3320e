const PREFIX = "=?base64?";
const SUFFIX = "?=";
/**
 * Values that a header can carry unencoded: printable ASCII without white space at either end. Tabs may not survive
 * intermediaries.
 */
const PLAIN = /^(?:[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)?$/;
const VISIBLE = /^[\t\x20-\x7e]*$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Encodes a value for a header: plain text if that is safe, otherwise base64 of its UTF-8 bytes. */
export function encodeHeaderValue(value: string | number | boolean): string {
  const text = String(value);
  if (PLAIN.test(text) && !(text.startsWith(PREFIX) && text.endsWith(SUFFIX))) return text;
  let bytes = "";
  for (const byte of new TextEncoder().encode(text)) bytes += String.fromCharCode(byte);
  return PREFIX + btoa(bytes) + SUFFIX;
}

/** Decodes the value of a header. Returns undefined if it is malformed. */
export function decodeHeaderValue(text: string): string | undefined {
  const trimmed = trimHeader(text);
  const isEncoded =
    trimmed.length >= PREFIX.length + SUFFIX.length && trimmed.startsWith(PREFIX) && trimmed.endsWith(SUFFIX);
  if (!isEncoded) return VISIBLE.test(trimmed) ? trimmed : undefined;
  const encoded = trimmed.slice(PREFIX.length, -SUFFIX.length);
  if (!BASE64.test(encoded)) return undefined;
  const bytes = atob(encoded);
  // Unused bits in the last character would allow several encodings of one value.
  return btoa(bytes) === encoded ? decodeUtf8(bytes) : undefined;
}

/** Removes the white space that HTTP allows around a value, in linear time. */
export function trimHeader(text: string): string {
  let start = 0;
  let end = text.length;
  while (start < end && isBlank(text.charCodeAt(start))) start++;
  while (end > start && isBlank(text.charCodeAt(end - 1))) end--;
  return start === 0 && end === text.length ? text : text.slice(start, end);
}

function isBlank(code: number): boolean {
  return code === 32 || code === 9;
}

function decodeUtf8(bytes: string): string | undefined {
  try {
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    return decoder.decode(Uint8Array.from(bytes, (char) => char.charCodeAt(0)));
  } catch {
    return undefined;
  }
}
