/**
 * Whether a template variable's value is dangerous as a file path: it climbs above its start by `..`, is absolute on
 * some platform, or holds a NUL. Both slashes count as separators, whatever the platform.
 */
export function isUnsafePath(value: string | readonly string[]): boolean {
  const path = typeof value === "string" ? value : value.join("/");
  return (
    path.includes("\0") ||
    isAbsolute(path) ||
    climbs(path) ||
    (typeof value !== "string" && value.some((part) => isUnsafePath(part)))
  );
}

function isAbsolute(path: string): boolean {
  return /^(?:[/\\]|[A-Za-z]:)/.test(path);
}

function climbs(path: string): boolean {
  let depth = 0;
  for (const part of path.split(/[/\\]/)) {
    if (part === "..") depth -= 1;
    else if (part !== "" && part !== ".") depth += 1;
    if (depth < 0) return true;
  }
  return false;
}
