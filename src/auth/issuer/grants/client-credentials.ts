import { randomToken } from "../../crypto.js";
import type { GrantHandler, IssuerExtension } from "../core.js";
import { OAuthProblem } from "../problem.js";
import { requestedResources, requestedScopes } from "../rules.js";
import type { Grant } from "../store/records.js";

const CLIENT_CREDENTIALS = "client_credentials";

/** Extension for the client credentials grant, for clients that act for themselves. */
export const clientCredentials: IssuerExtension = { grants: { [CLIENT_CREDENTIALS]: serve } };

/**
 * Finds the grant. The subject is the client. There is no refresh token, because the client can request a new token.
 */
async function serve(...[core, { form, client }]: Parameters<GrantHandler>): ReturnType<GrantHandler> {
  if (client.method === "none") {
    throw new OAuthProblem("unauthorized_client", "only a confidential client may use client_credentials");
  }
  const audience = requestedResources(form.getAll("resource"), core.resources, core.defaultResource);
  const limits = { supported: [...core.scopes.keys()], defaults: core.defaultScopes, registered: client.scopes };
  const scopes = requestedScopes(form.get("scope"), limits);
  const expiresAt = core.now() + core.lifetimes.accessTokenMs;
  const grant: Grant = { id: randomToken(), clientId: client.id, subject: client.id, scopes, audience, expiresAt };
  return { subject: client.id, redeem: async () => ({ grant, scopes, audience, refreshes: false }) };
}
