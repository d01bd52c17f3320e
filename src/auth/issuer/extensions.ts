import type { IssuerExtension } from "./issuer-core.js";
import type { IssuerOptions } from "./options.js";

/** The extensions that the options switch on: each brings grants, ways to authenticate, bindings and metadata. */
export function extensionsOf(_options: IssuerOptions): readonly IssuerExtension[] {
  return [];
}
