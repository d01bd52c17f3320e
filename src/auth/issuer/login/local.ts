import { DefinitionError } from "../../../protocol/errors.js";
import { codeUri } from "../authorization-response.js";
import type { IssuerCore, Login } from "../core.js";
import { createCode } from "../grants/code.js";
import { redirect } from "../http.js";
import type { IssuerOptions, IssuerUser } from "../options.js";
import type { AuthorizationRequest } from "../store/records.js";

/** Creates a login by the application itself, which knows the user before the consent. */
export function createLocalLogin(userOf: NonNullable<IssuerOptions["user"]>): Login {
  return {
    redirectTargets: [],
    async findUser(core, request, asked, client) {
      const user = await userOf(request, { returnTo: returnTo(core, asked), client });
      if (!(user instanceof Response)) assertUser(user);
      return user;
    },
    async proceed(core, request, asked, user) {
      assertUser(user);
      return redirect(request, codeUri(core, asked, await createCode(core, asked, user.id)));
    },
  };
}

function assertUser(user: IssuerUser | undefined): asserts user is IssuerUser {
  if (typeof user?.id === "string" && user.id !== "") return;
  throw new DefinitionError("createIssuer: user must return { id } with an id that is not empty, or a Response");
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
