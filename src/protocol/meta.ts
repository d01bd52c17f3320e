import { DefinitionError } from "./errors.js";
import { isMetaKey } from "./meta-key.js";

/** The extensions that this package implements. */
export const BUILT_IN_EXTENSIONS = {
  clientCredentials: "io.modelcontextprotocol/oauth-client-credentials",
  enterpriseAuthorization: "io.modelcontextprotocol/enterprise-managed-authorization",
} as const;

/** Throws unless each extension is named as the protocol wants: like a key of `_meta`, with a prefix and a name. */
export function assertExtensionIds(where: string, extensions: object | undefined): void {
  const isNamed = (id: string) => isMetaKey(id) && id.includes("/") && !id.endsWith("/");
  const wrong = Object.keys(extensions ?? {}).find((id) => !isNamed(id));
  if (wrong === undefined) return;
  throw new DefinitionError(`${where}: the extension "${wrong}" must be named like com.example/name`);
}
