import { DefinitionError } from "../../../protocol/errors.js";
import { quoted } from "../../../protocol/text.js";
import { digestOf, randomToken } from "../../crypto.js";
import type { IssuerClient } from "../clients/client.js";
import { isAddress } from "../clients/clients.js";
import { type IssuerClientMetadata, parseClientMetadata, toClient } from "../clients/metadata.js";
import type { IssuerCore } from "../core.js";
import { json, NOT_STORED, readJson } from "../http.js";
import type { RegistrationOptions } from "../options.js";
import { OAuthProblem } from "../problem.js";

/** Handles the registration endpoint (RFC 7591). Checks everything before it creates or stores anything. */
export async function register(core: IssuerCore, request: Request): Promise<Response> {
  const options = typeof core.options.registration === "object" ? core.options.registration : {};
  const body = await readJson(request, core.limits);
  const metadata = withScope(parseClientMetadata(body, core.rules, "client_secret_basic"), options);
  const chosen = await options.accept?.({ ...metadata, ...statementOf(body) }, request);
  const id = chosen?.clientId ?? `client-${randomToken()}`;
  if (isAddress(id))
    throw new DefinitionError(`createIssuer: registration.accept: clientId must not be a URL, got ${quoted(id, 100)}`);
  const secret = metadata.token_endpoint_auth_method.startsWith("client_secret") ? randomToken() : undefined;
  const client: IssuerClient = {
    ...toClient(id, "registered", metadata),
    ...(secret === undefined ? {} : { secretDigest: await digestOf(secret), secretExpiresAt: 0 }),
  };
  await core.clients.register(client, options.lifetimeMs);
  const issued = { client_id: id, client_id_issued_at: Math.floor(core.now() / 1000) };
  const secrets = secret === undefined ? {} : { client_secret: secret, client_secret_expires_at: 0 };
  return json(201, { ...metadata, ...issued, ...secrets }, NOT_STORED);
}

function withScope(metadata: IssuerClientMetadata, { defaultScopes }: RegistrationOptions): IssuerClientMetadata {
  if (metadata.scope !== undefined || defaultScopes === undefined) return metadata;
  return { ...metadata, scope: defaultScopes.join(" ") };
}

/** Returns the software statement for `accept`, because only the operator can verify it. */
function statementOf(body: unknown): { readonly software_statement?: unknown } {
  const { software_statement: statement } = body as { software_statement?: unknown };
  if (statement === undefined || statement === null || statement === "") return {};
  if (typeof statement !== "string")
    throw new OAuthProblem("invalid_software_statement", "software_statement must be a string");
  return { software_statement: statement };
}
