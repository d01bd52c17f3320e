import { createAssertions } from "./assertions.js";
import { clientCredentials } from "./client-credentials.js";
import { createDpop } from "./dpop.js";
import type { IssuerExtension } from "./issuer-core.js";
import type { IssuerOptions } from "./options.js";

/** The extensions that the options switch on: each brings grants, ways to authenticate, bindings and metadata. */
export function extensionsOf(options: IssuerOptions): readonly IssuerExtension[] {
  const { dpop = false, identityAssertion, workloadIdentity, now = Date.now } = options;
  const extensions: IssuerExtension[] = [];
  if (dpop !== false) extensions.push(createDpop(dpop === true ? {} : dpop, now));
  if (options.clientCredentials === true) extensions.push(clientCredentials);
  if (identityAssertion !== undefined || workloadIdentity !== undefined) {
    extensions.push(createAssertions(identityAssertion, workloadIdentity));
  }
  return extensions;
}
