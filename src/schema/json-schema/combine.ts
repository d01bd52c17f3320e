import { pointerTo } from "../../protocol/json.js";
import { issue } from "./assertions.js";
import { spend } from "./limits.js";
import type { Node, Run, Seen } from "./types.js";

export const pass: Node = () => true;
export const never: Node = (_value, run) => issue(run, "is not allowed");

/** Requires all nodes to pass. All of them report issues, unless the run is quiet. */
export function all(nodes: readonly Node[]): Node {
  const [first, second] = nodes;
  if (first === undefined) return pass;
  if (second === undefined) return first;
  return (value, run, seen) => {
    run.left -= nodes.length;
    let ok = true;
    for (const node of nodes) {
      if (node(value, run, seen)) continue;
      if (run.quiet > 0) return false;
      ok = false;
    }
    return ok;
  };
}

/** True if a branch passes. Reports no issues. */
export function fits(node: Node, value: unknown, run: Run, seen: Seen | undefined): boolean {
  spend(run, 1);
  run.quiet += 1;
  const ok = node(value, run, seen);
  run.quiet -= 1;
  return ok;
}

/** Like `fits`. The parts that the branch evaluated count only if it passes. */
export function fitsBranch(node: Node, value: unknown, run: Run, seen: Seen | undefined): boolean {
  if (seen === undefined) return fits(node, value, run, undefined);
  const own = newSeen();
  const ok = fits(node, value, run, own);
  if (ok) mergeSeen(seen, own, run);
  return ok;
}

/** Checks a member of the value, whose step the caller takes. Prefixes its issues with the place of the member. */
export function checkMember(node: Node, key: string | number, member: unknown, run: Run): boolean {
  const mark = run.issues.length;
  if (node(member, run, undefined)) return true;
  for (const found of run.issues.slice(mark)) found.path = pointerTo(key) + found.path;
  return false;
}

/** Runs `late` with the parts that `node` evaluated, without those that other schemas evaluated. */
export function withOwnSeen(node: Node, late: Node): Node {
  return (value, run, seen) => {
    const own = newSeen();
    const ok = node(value, run, own) && late(value, run, own);
    if (ok && seen !== undefined) mergeSeen(seen, own, run);
    return ok;
  };
}

/** Records the resource that is being evaluated, for `$dynamicRef`. */
export function inScope(base: string, node: Node): Node {
  return (value, run, seen) => {
    run.scope.push(base);
    const ok = node(value, run, seen);
    run.scope.pop();
    return ok;
  };
}

function newSeen(): Seen {
  return { allKeys: false, keys: new Set(), items: 0, indexes: new Set() };
}

function mergeSeen(into: Seen, from: Seen, run: Run): void {
  spend(run, 2 * (from.keys.size + from.indexes.size));
  into.allKeys ||= from.allKeys;
  into.items = Math.max(into.items, from.items);
  for (const key of from.keys) into.keys.add(key);
  for (const index of from.indexes) into.indexes.add(index);
}
