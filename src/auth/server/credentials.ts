import { trimHeader } from "../../http/header-value.js";

/** What an Authorization header says, as far as a gate understands it. */
export type Credentials =
  | { readonly kind: "none" }
  | { readonly kind: "malformed"; readonly scheme: Scheme }
  | { readonly kind: "token"; readonly scheme: Scheme; readonly token: string };

export type Scheme = "Bearer" | "DPoP";

const NONE: Credentials = { kind: "none" };
const TOKEN = /^[A-Za-z0-9\-._~+/]+=*$/;
/** No token of the field comes near it. */
const MAX_TOKEN = 16_384;

/** Reads the header. A scheme that is not supported counts as none; the name of a scheme has no case. */
export function readCredentials(header: string | undefined, schemes: readonly Scheme[]): Credentials {
  const text = trimHeader(header ?? "");
  const end = text.search(/[ \t]/);
  const name = (end === -1 ? text : text.slice(0, end)).toLowerCase();
  const scheme = schemes.find((known) => known.toLowerCase() === name);
  if (scheme === undefined) return NONE;
  const token = end === -1 ? "" : trimHeader(text.slice(end));
  if (token.length > MAX_TOKEN || !TOKEN.test(token)) return { kind: "malformed", scheme };
  return { kind: "token", scheme, token };
}
