import { codeUri } from "../authorization-response.js";
import type { IssuerCore, Login } from "../core.js";
import { createCode } from "../grants/code.js";
import { redirect } from "../http.js";
import type { IssuerOptions } from "../options.js";
import type { AuthorizationRequest } from "../store/records.js";

/** Creates a login by the application itself, which knows the user before the consent. */
export function createLocalLogin(userOf: NonNullable<IssuerOptions["user"]>): Login {
  return {
    redirectTargets: [],
    findUser: async (core, request, asked, client) =>
      await userOf(request, { returnTo: returnTo(core, asked), client }),
    async proceed(core, request, asked, user) {
      if (user === undefined) throw new TypeError("createIssuer: user() must return a user or a Response");
      return redirect(request, codeUri(core, asked, await createCode(core, asked, user.id)));
    },
  };
}

/** Returns a URL that repeats the authorization request. */
function returnTo({ base }: IssuerCore, asked: AuthorizationRequest): URL {
  const url = new URL(`${base}/authorize`);
  const { clientId, redirectUri, redirectSent, state, scopes, audience, challenge } = asked;
  const params = url.searchParams;
  params.set("response_type", "code");
  params.set("client_id", clientId);
  if (redirectSent) params.set("redirect_uri", redirectUri);
  params.set("code_challenge", challenge);
  params.set("code_challenge_method", "S256");
  if (scopes.length > 0) params.set("scope", scopes.join(" "));
  for (const resource of audience) params.append("resource", resource);
  if (state !== undefined) params.set("state", state);
  return url;
}
