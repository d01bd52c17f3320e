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

const MAX_CHARS = 300;
const MAX_IDENTIFIER_CHARS = 2048;

/** Text that a server chose, on one line and short, so that it can forge nothing where it is shown. */
export function oneLine(text: string): string {
  const line = text.replace(/[\s\p{Cc}\p{Cf}\u2028\u2029]+/gu, " ").trim();
  return line.length > MAX_CHARS ? `${line.slice(0, MAX_CHARS)}...` : line;
}

/** What went wrong, by whatever was thrown. */
export function messageOf(cause: unknown): string {
  return oneLine(cause instanceof Error ? cause.message : String(cause));
}

/** The same in quotes, for a value that was not the expected one. */
export function quoted(text: string): string {
  return JSON.stringify(oneLine(text));
}

/** Whether an identifier that a server chose can stand in messages as it is. */
export function isPlain(text: string): boolean {
  return text.length <= MAX_IDENTIFIER_CHARS && !/[\s\p{Cc}\p{Cf}]/u.test(text);
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
