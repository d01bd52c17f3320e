import type { IssuerExtension } from "./core.js";
import { createDpop } from "./dpop.js";
import { createAssertions } from "./grants/assertions.js";
import { clientCredentials } from "./grants/client-credentials.js";
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
