const OUTSIDE = /[^A-Za-z0-9+/]/;

/** Number of bytes converted per call of `String.fromCharCode`. Engines limit the arguments of a call. */
const AT_ONCE = 4_000;

/** Encodes bytes as base64 with padding. */
export function toBase64(bytes: Uint8Array): string {
  let binary = "";
  // Spreading the bytes is several times slower.
  for (let at = 0; at < bytes.length; at += AT_ONCE)
    binary += String.fromCharCode.apply(null, bytes.subarray(at, at + AT_ONCE) as unknown as number[]);
  return btoa(binary);
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
  return toBase64(bytes).replaceAll("+", "-").replaceAll("/", "_").replace(/=/g, "");
}

/**
 * Decodes base64url. Also accepts the standard alphabet, padding and white space.
 * @throws if `atob` cannot decode the text.
 */
export function fromBase64Url(text: string): Uint8Array<ArrayBuffer> {
  const binary = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
  return new Uint8Array(binary.length).map((_, at) => binary.charCodeAt(at));
}
