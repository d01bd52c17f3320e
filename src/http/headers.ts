/** Match one media type with parameters. A comma outside quotes would start a second value, which is refused. */
const JSON_TYPE = /^[ \t]*application\/json[ \t]*(?:;(?:[^",]|"(?:[^"\\]|\\.)*")*)?$/i;
const EVENT_STREAM_TYPE = /^[ \t]*text\/event-stream[ \t]*(?:;(?:[^",]|"(?:[^"\\]|\\.)*")*)?$/i;
const QUOTED = /"(?:[^"\\]|\\.)*"?/g;
const ZERO_QUALITY = /;\s*q\s*=\s*0(?:\.0{0,3})?\s*(?:;|$)/i;

const PREFIX = "=?base64?";
const SUFFIX = "?=";
/**
 * Values that a header can carry unencoded: printable ASCII without white space at either end. Tabs may not survive
 * intermediaries.
 */
const PLAIN = /^(?:[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)?$/;
const VISIBLE = /^[\t\x20-\x7e]*$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** Caches the last outcome of a reader of a header, since clients send the same header repeatedly. */
export function rememberLast<H extends string | undefined, T>(read: (header: H) => T): (header: H) => T {
  let last: { readonly header: H; readonly value: T } | undefined;
  return (header) => {
    if (last === undefined || last.header !== header) last = { header, value: read(header) };
    return last.value;
  };
}

/** True if a Content-Type header is JSON, with any parameters. */
export function isJson(contentType: string | undefined | null): boolean {
  return contentType === "application/json" || (contentType != null && JSON_TYPE.test(contentType));
}

/** True if a Content-Type header is an event stream, with any parameters. */
export function isEventStream(contentType: string | undefined | null): boolean {
  return contentType === "text/event-stream" || (contentType != null && EVENT_STREAM_TYPE.test(contentType));
}

/**
 * True if an Accept header allows `type`, given in lower case without parameters. An absent header allows every type.
 * The most specific matching range decides. Parameters other than q are ignored.
 */
export function accepts(accept: string | readonly string[] | undefined | null, type: string): boolean {
  if (accept == null) return true;
  const ranges = String(accept).replace(QUOTED, "").split(",");
  for (const name of [type, type.replace(/\/.*/, "/*"), "*/*"]) {
    const matching = ranges.filter((range) => range.split(";", 1)[0]?.trim().toLowerCase() === name);
    if (matching.length > 0) return matching.some((range) => !ZERO_QUALITY.test(range));
  }
  return false;
}

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
