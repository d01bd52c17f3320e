import { DefinitionError } from "./errors.js";

const LABEL = "[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?";
const META_KEY = new RegExp(`^(?:(${LABEL}(?:\\.${LABEL})*)/)?(?:[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?)?$`);
const RESERVED_LABELS: ReadonlySet<string | undefined> = new Set(["modelcontextprotocol", "mcp"]);

/** Key of `_meta` in a progress notification. Its value is content that is available before the result. */
export const PARTIAL_CONTENT_KEY = "bowline/content";

/** Ids of the extensions that this package implements. */
export const BUILT_IN_EXTENSIONS = {
  clientCredentials: "io.modelcontextprotocol/oauth-client-credentials",
  enterpriseAuthorization: "io.modelcontextprotocol/enterprise-managed-authorization",
  skills: "io.modelcontextprotocol/skills",
  tasks: "io.modelcontextprotocol/tasks",
} as const;

/** True if a key is valid in `_meta`: a name, optionally preceded by a dotted prefix and a slash. */
export function isMetaKey(key: string): boolean {
  return META_KEY.test(key);
}

/** True if the prefix of a `_meta` key is reserved for the protocol. The second label of the prefix decides. */
export function isReservedMetaKey(key: string): boolean {
  const prefix = META_KEY.exec(key)?.[1];
  return prefix !== undefined && RESERVED_LABELS.has(prefix.split(".")[1]);
}

/** Throws unless every extension id is a valid `_meta` key with a prefix and a name. */
export function assertExtensionIds(where: string, extensions: object | undefined): void {
  const isNamed = (id: string) => isMetaKey(id) && id.includes("/") && !id.endsWith("/");
  const wrong = Object.keys(extensions ?? {}).find((id) => !isNamed(id));
  if (wrong === undefined) return;
  throw new DefinitionError(`${where}: the extension "${wrong}" must be named like com.example/name`);
}
