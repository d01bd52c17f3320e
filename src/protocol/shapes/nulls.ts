import { type Check, isObject, type Problem } from "../json.js";

type Members = { readonly [member: string]: unknown };

/** Maximum number of members that are left out of one message. */
const MOST = 16;
/** Maximum number of members of an object of which one is left out, since each time the object is copied. */
const MOST_MEMBERS = 64;

/**
 * Leaves out members that are null where their shape does not allow it, since many libraries write absent members so.
 * `problem` is what the check found first. Returns undefined if the value is refused without them too.
 */
export function withoutNulls<T extends Members>(check: Check, value: T, problem: Problem): T | undefined {
  let left: T = value;
  let found: Problem | undefined = problem;
  for (let count = 0; found !== undefined; count++) {
    const less: unknown = count < MOST ? without(left, found.path.split("/").slice(1)) : undefined;
    if (less === undefined) return undefined;
    left = less as T;
    found = check(left);
  }
  return left;
}

/** Returns a copy without the member at this path, or undefined if the member is not null. */
function without(value: unknown, [segment, ...rest]: readonly string[]): Members | undefined {
  if (segment === undefined || !isObject(value) || isLarge(value)) return undefined;
  const member = segment.replaceAll("~1", "/").replaceAll("~0", "~");
  if (rest.length === 0) {
    if (value[member] !== null) return undefined;
    const { [member]: _, ...others } = value;
    return others;
  }
  const inner = without(value[member], rest);
  return inner && { ...value, [member]: inner };
}

function isLarge(value: Members): boolean {
  let count = 0;
  for (const _ in value) if (++count > MOST_MEMBERS) return true;
  return false;
}
