import { DefinitionError } from "./errors.js";

const LABEL = "[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?";
const META_KEY = new RegExp(`^(?:(${LABEL}(?:\\.${LABEL})*)/)?(?:[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?)?$`);
const RESERVED_LABELS: ReadonlySet<string | undefined> = new Set(["modelcontextprotocol", "mcp"]);

/** The `_meta` key under which progress carries content that is ready before the result. */
export const PARTIAL_CONTENT_KEY = "bowline/content";

/** The extensions that this package implements. */
export const BUILT_IN_EXTENSIONS = {
  clientCredentials: "io.modelcontextprotocol/oauth-client-credentials",
  enterpriseAuthorization: "io.modelcontextprotocol/enterprise-managed-authorization",
} as const;

/** Whether a key may stand in `_meta`: a name, with or without a dotted prefix and a slash before it. */
export function isMetaKey(key: string): boolean {
  return META_KEY.test(key);
}

/** Whether a key of `_meta` has a prefix that belongs to the protocol: the second label decides. */
export function isReservedMetaKey(key: string): boolean {
  const prefix = META_KEY.exec(key)?.[1];
  return prefix !== undefined && RESERVED_LABELS.has(prefix.split(".")[1]);
}

/** Throws unless each extension is named as the protocol wants: like a key of `_meta`, with a prefix and a name. */
export function assertExtensionIds(where: string, extensions: object | undefined): void {
  const isNamed = (id: string) => isMetaKey(id) && id.includes("/") && !id.endsWith("/");
  const wrong = Object.keys(extensions ?? {}).find((id) => !isNamed(id));
  if (wrong === undefined) return;
  throw new DefinitionError(`${where}: the extension "${wrong}" must be named like com.example/name`);
}
