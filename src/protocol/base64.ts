const OUTSIDE = /[^A-Za-z0-9+/]/;

/** Number of bytes converted per call, a multiple of three. Engines limit the arguments of a call. */
const AT_ONCE = 0x6000;

/** Encodes bytes as base64 with padding. */
export function toBase64(bytes: Uint8Array): string {
  let text = "";
  // Spreading the bytes, and encoding all of them in one call, are several times slower.
  for (let at = 0; at < bytes.length; at += AT_ONCE)
    text += btoa(Reflect.apply(String.fromCharCode, undefined, bytes.subarray(at, at + AT_ONCE)));
  return text;
}

/**
 * True for text that `atob` accepts: standard alphabet, complete or absent padding, white space allowed. Does not
 * decode.
 */
export function isBase64(text: string): boolean {
  const first = text.search(OUTSIDE);
  if (first === -1) return text.length % 4 !== 1;
  const tail = text.slice(first);
  if (tail === "=" || tail === "==") return text.length % 4 === 0;
  const packed = text.replace(/[\t\n\f\r ]+/g, "");
  return packed.length < text.length && isBase64(packed);
}

export function toBase64Url(bytes: Uint8Array): string {
  return toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

/**
 * Decodes base64url. Also accepts the standard alphabet, padding and white space.
 * @throws if `atob` cannot decode the text.
 */
export function fromBase64Url(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return new Uint8Array(binary.length).map((_, at) => binary.charCodeAt(at));
}
