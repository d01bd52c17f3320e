import { issue } from "./assertions.js";
import { checkMember, fits } from "./combine.js";
import { spend } from "./limits.js";
import type { Site } from "./site.js";
import type { Node } from "./types.js";

/**
 * Compiles the keywords that apply schemas to the items of an array. `late` ones depend on the items that the others
 * evaluated.
 */
export function arrayNodes(site: Site): { early: Node[]; late: Node[] } {
  const early: Node[] = [];
  const late: Node[] = [];
  const prefix = site.list("prefixItems") ?? [];
  const items = site.one("items");
  const contains = site.one("contains");
  const unevaluated = site.one("unevaluatedItems");
  if (prefix.length > 0 || items !== undefined) early.push(eachItem(prefix, items));
  const { minContains = 1, maxContains = Number.POSITIVE_INFINITY } = site.schema as Record<string, number>;
  if (contains !== undefined) early.push(containsNode(contains, minContains, maxContains));
  if (unevaluated !== undefined) late.push(unseenItems(unevaluated));
  return { early, late };
}

function eachItem(prefix: readonly Node[], items: Node | undefined): Node {
  return (value, run, seen) => {
    if (!Array.isArray(value)) return true;
    const end = items === undefined ? Math.min(prefix.length, value.length) : value.length;
    let ok = true;
    for (let index = 0; index < end; index += 1) {
      spend(run, 1);
      if (checkMember(prefix[index] ?? items!, index, value[index], run)) continue;
      if (run.quiet > 0) return false;
      ok = false;
    }
    if (seen !== undefined) seen.items = Math.max(seen.items, end);
    return ok;
  };
}

function containsNode(node: Node, min: number, max: number): Node {
  return (value, run, seen) => {
    if (!Array.isArray(value)) return true;
    const { doubts } = run;
    let matches = 0;
    for (const [index, item] of value.entries()) {
      if (!fits(node, item, run, undefined)) continue;
      matches += 1;
      if (seen === undefined) continue;
      spend(run, 2);
      seen.indexes.add(index);
    }
    if (matches < min)
      return issue(run, `must have at least ${min} ${min === 1 ? "item" : "items"} of the schema in contains`);
    return (
      matches <= max ||
      run.doubts > doubts ||
      issue(run, `must have at most ${max} ${max === 1 ? "item" : "items"} of the schema in contains`)
    );
  };
}

function unseenItems(node: Node): Node {
  return (value, run, seen) => {
    if (!Array.isArray(value) || seen === undefined) return true;
    spend(run, value.length);
    let ok = true;
    for (let index = seen.items; index < value.length; index += 1) {
      if (seen.indexes.has(index)) continue;
      spend(run, 1);
      if (!checkMember(node, index, value[index], run)) ok = false;
    }
    seen.items = value.length;
    return ok;
  };
}
