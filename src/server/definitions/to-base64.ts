/** Bytes as base64; text is that already. */
export function toBase64(data: Uint8Array | string): string {
  if (typeof data === "string") return data;
  let binary = "";
  for (let at = 0; at < data.length; at += 0x8000) binary += String.fromCharCode(...data.subarray(at, at + 0x8000));
  return btoa(binary);
}
