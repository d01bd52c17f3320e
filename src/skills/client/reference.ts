import { SKILL_FILE } from "../types.js";
import { isPath, normalPath, pathBelow } from "../uri.js";

/** A dot, a separator or a zero byte that is still encoded after decoding. Some servers decode twice. */
const ENCODED_TWICE = /%(?:2e|2f|5c|00)/i;

/**
 * Returns the decoded path of a reference in a skill, such as `./references/forms.md`. It may also be a URI below the
 * root of the skill. The directory of the skill has an empty path. Undefined if the reference leaves the skill in any
 * reading of it. `from` is the path of the nested SKILL.md that contains the reference.
 */
export function resolveReference(root: string, reference: string, from = SKILL_FILE): string | undefined {
  if (reference === root) return "";
  if (reference.startsWith(`${root}/`)) return checked(pathBelow(root, reference));
  const base = directoryOf(from);
  const path = relative(reference);
  if (base === undefined || path === undefined) return undefined;
  return path === "" ? base.slice(0, -1) : base + path;
}

/** Returns the path of the directory of a SKILL.md, with a slash at its end, or empty. */
function directoryOf(file: string): string | undefined {
  if (file === SKILL_FILE) return "";
  return isPath(file) && file.endsWith(`/${SKILL_FILE}`) ? file.slice(0, -SKILL_FILE.length) : undefined;
}

function relative(reference: string): string | undefined {
  if (reference === "") return "";
  const parts: string[] = [];
  // A directory may have a slash at its end.
  for (const part of reference.replace(/([^/])\/$/, "$1").split("/")) {
    if (part === ".") continue;
    if (part !== "..") parts.push(part);
    else if (parts.pop() === undefined) return undefined;
  }
  return parts.length === 0 ? "" : checked(normalPath(parts.join("/")));
}

function checked(path: string | undefined): string | undefined {
  return path === undefined || ENCODED_TWICE.test(path) ? undefined : path;
}
