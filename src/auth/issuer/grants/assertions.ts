import { DefinitionError } from "../../../protocol/errors.js";
import type { IssuerClient } from "../clients/client.js";
import type { IssuerExtension } from "../core.js";
import type { IdentityAssertionOptions, TrustedIssuer, WorkloadIdentityOptions } from "../options.js";
import { isSecureUri } from "../redirect-uri.js";
import type { AssertionGrant } from "./assertion.js";

export const JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const PROFILE = "urn:ietf:params:oauth:grant-profile:id-jag";

/** Stands for a workload until its assertion has been read: it has no id and no secret here. */
const WORKLOAD: IssuerClient = {
  id: "",
  source: "configured",
  redirectUris: [],
  method: "none",
  grantTypes: [JWT_BEARER],
};

/** Tokens by the word of somebody who is trusted (RFC 7523). What reads assertions is loaded with the first of them. */
export function createAssertions(
  identity: IdentityAssertionOptions | undefined,
  workload: WorkloadIdentityOptions | undefined,
): IssuerExtension {
  if (identity !== undefined) assertTrusted("identityAssertion.providers", identity.providers);
  if (identity !== undefined && identity.subject === undefined && identity.providers.length > 1) {
    throw new DefinitionError("identityAssertion.subject: two providers may have users of the same name");
  }
  if (workload !== undefined) assertTrusted("workloadIdentity.issuers", workload.issuers);
  let loading: Promise<AssertionGrant> | undefined;
  return {
    ...(identity === undefined ? {} : { metadata: { authorization_grant_profiles_supported: [PROFILE] } }),
    ...(workload === undefined ? {} : { anonymous: (grantType) => (grantType === JWT_BEARER ? WORKLOAD : undefined) }),
    grants: {
      [JWT_BEARER]: async (core, request) => {
        loading ??= import("./assertion.js").then((module) => new module.AssertionGrant(core, identity, workload));
        return await (await loading).serve(request);
      },
    },
  };
}

function assertTrusted(option: string, trusted: readonly TrustedIssuer[]): void {
  if (trusted.length === 0) throw new DefinitionError(`${option}: there is nobody to trust`);
  if (new Set(trusted.map(({ issuer }) => issuer)).size < trusted.length) {
    throw new DefinitionError(`${option}: two have the same issuer`);
  }
  for (const { issuer, jwksUri = issuer, keys } of trusted) {
    if (issuer === "" || (keys === undefined && !isSecureUri(jwksUri))) {
      throw new DefinitionError(`${option}: the keys of ${JSON.stringify(issuer)} cannot be had over https`);
    }
  }
}
