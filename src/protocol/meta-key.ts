const LABEL = "[A-Za-z](?:[A-Za-z0-9-]*[A-Za-z0-9])?";
const META_KEY = new RegExp(`^(?:(${LABEL}(?:\\.${LABEL})*)/)?(?:[A-Za-z0-9](?:[A-Za-z0-9_.-]*[A-Za-z0-9])?)?$`);
const RESERVED_LABELS: ReadonlySet<string | undefined> = new Set(["modelcontextprotocol", "mcp"]);

/** Whether a key may stand in `_meta`: a name, with or without a dotted prefix and a slash before it. */
export function isMetaKey(key: string): boolean {
  return META_KEY.test(key);
}

/** Whether a key of `_meta` has a prefix that belongs to the protocol: the second label decides. */
export function isReservedMetaKey(key: string): boolean {
  const prefix = META_KEY.exec(key)?.[1];
  return prefix !== undefined && RESERVED_LABELS.has(prefix.split(".")[1]);
}
