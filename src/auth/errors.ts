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

/** Reads an answer of an authorization server: an error may come with any status, even as a success. */
export async function readOAuthResponse(response: Response): Promise<OAuthResponse> {
  const text = await response.text();
  const json = parseObject(text);
  const said = json?.error;
  if (typeof said === "string" && said !== "") return { json, text, error: toError(json ?? {}, said) };
  if (response.ok) return { json, text, error: undefined };
  return { json, text, error: { error: "server_error", description: `status ${response.status}` } };
}

export function formatOAuthError({ error, description }: OAuthErrorBody): string {
  return description === undefined ? error : `${error} (${description})`;
}

function toError(json: { readonly [member: string]: unknown }, error: string): OAuthErrorBody {
  const text = (value: unknown) => (typeof value === "string" ? oneLine(value) : undefined);
  return { error: oneLine(error), description: text(json.error_description), uri: text(json.error_uri) };
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
