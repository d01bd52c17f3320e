const PREFIX = "=?base64?";
const SUFFIX = "?=";
/** What a header can carry as it is: printable ASCII without white space at either end. A tab is not trusted to survive. */
const PLAIN = /^(?:[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?)?$/;
const VISIBLE = /^[\t\x20-\x7e]*$/;
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

/** A value as the text of one header: plain where that is safe, else the base64 form of its UTF-8 bytes. */
export function encodeHeaderValue(value: string | number | boolean): string {
  const text = String(value);
  if (PLAIN.test(text) && !(text.startsWith(PREFIX) && text.endsWith(SUFFIX))) return text;
  let bytes = "";
  for (const byte of new TextEncoder().encode(text)) bytes += String.fromCharCode(byte);
  return PREFIX + btoa(bytes) + SUFFIX;
}

/** The value that a header's text stands for, or undefined when the text is malformed. */
export function decodeHeaderValue(text: string): string | undefined {
  if (!VISIBLE.test(text)) return undefined;
  const value = text.trim();
  const isEncoded = value.length >= PREFIX.length + SUFFIX.length && value.startsWith(PREFIX) && value.endsWith(SUFFIX);
  if (!isEncoded) return value;
  const encoded = value.slice(PREFIX.length, -SUFFIX.length);
  return BASE64.test(encoded) ? decodeUtf8(atob(encoded)) : undefined;
}

function decodeUtf8(bytes: string): string | undefined {
  try {
    const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    return decoder.decode(Uint8Array.from(bytes, (char) => char.charCodeAt(0)));
  } catch {
    return undefined;
  }
}
