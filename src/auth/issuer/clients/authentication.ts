import { digestOf, sameText } from "../../crypto.js";
import type { Authenticated, ClientAuthenticator, IssuerCore } from "../core.js";
import type { Params } from "../http.js";
import { invalidRequest, OAuthProblem } from "../problem.js";
import type { IssuerClient } from "./client.js";

const BASIC = { "www-authenticate": 'Basic realm="token endpoint", charset="UTF-8"' };

/**
 * Authenticates the client of a request, by exactly one method, which must be the registered one. Throws the same
 * `invalid_client` for an unknown client and for wrong credentials, so that it does not reveal which clients exist.
 */
export async function authenticateClient(core: IssuerCore, request: Request, form: Params): Promise<Authenticated> {
  const used = core.authenticators.flatMap(({ method, read }) => {
    const credentials = read(request, form);
    return credentials === undefined ? [] : [{ method, credentials }];
  });
  if (used.length > 1) throw invalidRequest("the client authenticates by more than one method");
  const { method, credentials } = used[0] ?? { method: "none", credentials: undefined };
  const clientId = credentials?.clientId ?? form.get("client_id");
  const stated = form.get("client_id");
  if (clientId === undefined || (stated !== undefined && stated !== clientId)) throw refused(request);
  const client = await find(core, clientId, request);
  if (client?.method !== method) throw refused(request);
  const uses = credentials === undefined ? [] : await credentials.match(core, client);
  if (uses === undefined) throw refused(request);
  return { client, uses };
}

/** Authenticates by the `Authorization` header. Id and secret are form-encoded. */
export const secretBasic: ClientAuthenticator = {
  method: "client_secret_basic",
  read(request) {
    const header = request.headers.get("authorization");
    const encoded = header === null ? null : /^Basic +(\S+) *$/i.exec(header);
    if (header === null || !/^Basic\b/i.test(header)) return undefined;
    const [clientId, secret] = decoded(encoded?.[1] ?? "") ?? [];
    if (clientId === undefined || secret === undefined) throw refused(request);
    return { clientId, match: (core, client) => hasSecret(core, client, secret) };
  },
};

/** Authenticates by parameters of the form. */
export const secretPost: ClientAuthenticator = {
  method: "client_secret_post",
  read(_request, form) {
    const secret = form.get("client_secret");
    if (secret === undefined) return undefined;
    return { clientId: form.need("client_id"), match: (core, client) => hasSecret(core, client, secret) };
  },
};

/** Checks a secret. Returns undefined if the client has none, or if it differs or has expired. */
async function hasSecret(core: IssuerCore, client: IssuerClient, secret: string): Promise<readonly [] | undefined> {
  const { secretDigest, secretExpiresAt = 0 } = client;
  const same = sameText(await digestOf(secret), secretDigest ?? "");
  const lasts = secretExpiresAt === 0 || core.now() < secretExpiresAt * 1000;
  return secretDigest !== undefined && same && lasts ? [] : undefined;
}

function decoded(encoded: string): readonly [string, string] | undefined {
  try {
    const bytes = Uint8Array.from(atob(encoded), (char) => char.charCodeAt(0));
    const text = new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    const colon = text.indexOf(":");
    return colon < 0 ? undefined : [formDecoded(text.slice(0, colon)), formDecoded(text.slice(colon + 1))];
  } catch {
    return undefined;
  }
}

function formDecoded(text: string): string {
  return decodeURIComponent(text.replaceAll("+", " "));
}

async function find(core: IssuerCore, clientId: string, request: Request): Promise<IssuerClient | undefined> {
  try {
    return await core.clients.find(clientId);
  } catch (error) {
    if (error instanceof OAuthProblem && error.code === "invalid_client") throw refused(request, error.message);
    throw error;
  }
}

function refused(request: Request, message = "the client is unknown or its authentication failed"): OAuthProblem {
  const headers = request.headers.has("authorization") ? BASIC : {};
  return new OAuthProblem("invalid_client", message, { status: 401, headers });
}
