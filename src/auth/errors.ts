import { oneLine } from "../protocol/text.js";

/** Members of an OAuth error response. */
export interface OAuthErrorBody {
  readonly error: string;
  readonly description?: string | undefined;
  readonly uri?: string | undefined;
}

export interface OAuthResponse {
  readonly json: { readonly [member: string]: unknown } | undefined;
  readonly error: OAuthErrorBody | undefined;
  readonly text: string;
}

/**
 * Reads a response of an authorization server. A member `error` counts even with a success status, because some servers
 * send it so. Parts of the error that repeat one of `secrets` are replaced by a placeholder.
 */
export async function readOAuthResponse(response: Response, secrets: readonly string[] = []): Promise<OAuthResponse> {
  const text = await response.text();
  const json = parseObject(text);
  const said = json?.error;
  if (typeof said === "string" && said !== "") return { json, text, error: toError(json ?? {}, said, secrets) };
  if (response.ok) return { json, text, error: undefined };
  return { json, text, error: { error: "server_error", description: `status ${response.status}` } };
}

export function formatOAuthError({ error, description }: OAuthErrorBody): string {
  return description === undefined ? error : `${error} (${description})`;
}

function toError(
  json: { readonly [member: string]: unknown },
  error: string,
  secrets: readonly string[],
): OAuthErrorBody {
  const text = (value: string) => withoutSecrets(oneLine(value), secrets);
  const textIn = (value: unknown) => (typeof value === "string" ? text(value) : undefined);
  return { error: text(error), description: textIn(json.error_description), uri: textIn(json.error_uri) };
}

/** Length of a piece of a secret that must not appear in a text. Shorter pieces of a longer secret are harmless. */
const PIECE_CHARS = 16;
const SHORTEST_SECRET = 6;

/**
 * Returns a peer's text, or a placeholder if the text repeats one of the secrets or a piece of it, plain or
 * form-encoded.
 */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  const repeats = (secret: string) => {
    const size = Math.min(PIECE_CHARS, secret.length);
    for (let at = 0; at + size <= secret.length; at++) if (text.includes(secret.slice(at, at + size))) return true;
    return false;
  };
  const forms = secrets.filter(({ length }) => length >= SHORTEST_SECRET).flatMap((each) => [each, formEncoded(each)]);
  return forms.some(repeats) ? "omitted, because it repeats a secret of the request" : text;
}

/** Form parameters that are not secret. Any other parameter may be secret in an unknown grant. */
const PUBLIC = /^(grant_type|client_id|redirect_uri|resource|scope|audience|\w+_type|\w+_hint)$/;

/** Returns the secrets of a request to an authorization server: those in its form and its `Authorization` header. */
export function secretsOf(body: unknown, headers?: HeadersInit): string[] {
  const form = new URLSearchParams(body instanceof URLSearchParams ? body : String(body ?? ""));
  const named = [...form].filter(([name]) => !PUBLIC.test(name)).map(([, value]) => value);
  const credentials = new Headers(headers).get("authorization")?.split(" ").slice(1) ?? [];
  return [...named, ...credentials];
}

/** Encodes a text as `application/x-www-form-urlencoded`. */
export function formEncoded(text: string): string {
  return new URLSearchParams([["", text]]).toString().slice(1);
}

function parseObject(text: string): { readonly [member: string]: unknown } | undefined {
  try {
    const json: unknown = JSON.parse(text);
    return typeof json === "object" && json !== null && !Array.isArray(json)
      ? (json as { [member: string]: unknown })
      : undefined;
  } catch {
    return undefined;
  }
}
