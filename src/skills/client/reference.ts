import { SKILL_FILE } from "../types.js";
import { normalPath, pathBelow } from "../uri.js";

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
  const base = from === SKILL_FILE ? "" : from.slice(0, -SKILL_FILE.length);
  if (base !== "" && !from.endsWith(`/${SKILL_FILE}`)) return undefined;
  const path = relative(reference);
  if (path === undefined) return undefined;
  return path === "" ? base.slice(0, -1) : base + path;
}

function relative(reference: string): string | undefined {
  const parts: string[] = [];
  for (const part of reference.replace(/(?<=.)\/$/, "").split("/")) {
    const dots = part.replace(/%2e/gi, ".");
    if (dots === "." || reference === "") continue;
    if (dots !== "..") parts.push(part);
    else if (parts.pop() === undefined) return undefined;
  }
  return parts.length === 0 ? "" : checked(normalPath(parts.join("/")));
}

function checked(path: string | undefined): string | undefined {
  return path === undefined || ENCODED_TWICE.test(path) ? undefined : path;
}
