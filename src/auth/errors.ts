import { oneLine } from "../protocol/text.js";

/** What an OAuth error response says. */
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
 * Reads an answer of an authorization server: an error may come with any status, even as a success. Where its words repeat one
 * of the secrets that were sent, they are left out.
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
  const text = (value: unknown) => (typeof value === "string" ? withoutSecrets(oneLine(value), secrets) : undefined);
  return { error: text(error) ?? error, description: text(json.error_description), uri: text(json.error_uri) };
}

/** A shorter piece of a secret gives nothing away. */
const PIECE_CHARS = 16;
const SHORTEST_SECRET = 6;

/** The text of a peer, unless it repeats a secret or a piece of it, plainly or as a form writes it. */
export function withoutSecrets(text: string, secrets: readonly string[]): string {
  const repeats = (secret: string) => {
    const size = Math.min(PIECE_CHARS, secret.length);
    for (let at = 0; at + size <= secret.length; at++) if (text.includes(secret.slice(at, at + size))) return true;
    return false;
  };
  const forms = secrets.filter(({ length }) => length >= SHORTEST_SECRET).flatMap((each) => [each, formEncoded(each)]);
  return forms.some(repeats) ? "left out: it repeats a secret of the request" : text;
}

/** Members of a token request that are no secrets. Others may be, in a grant that this client does not know. */
const PUBLIC = /^(grant_type|client_id|redirect_uri|resource|scope|audience|\w+_type|\w+_hint)$/;

/** The secrets of a request to an authorization server: those of its form, and its credentials. */
export function secretsOf(body: unknown, headers?: HeadersInit): string[] {
  const form = new URLSearchParams(body instanceof URLSearchParams ? body : String(body ?? ""));
  const named = [...form].filter(([name]) => !PUBLIC.test(name)).map(([, value]) => value);
  const credentials = new Headers(headers).get("authorization")?.split(" ").slice(1) ?? [];
  return [...named, ...credentials];
}

/** A text as a form writes it. */
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
