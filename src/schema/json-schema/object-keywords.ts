import { isObject, keysOf } from "../../protocol/json.js";
import { doubt, MISS } from "./assertions.js";
import { checkMember } from "./combine.js";
import { spend } from "./limits.js";
import type { PatternMatcher } from "./pattern.js";
import type { Site } from "./site.js";
import type { Node } from "./types.js";

/**
 * Compiles the keywords that apply schemas to the properties of an object. `late` ones depend on the properties that
 * the others evaluated.
 */
export function objectNodes(site: Site): { early: Node[]; late: Node[] } {
  const early: Node[] = [];
  const late: Node[] = [];
  const named = site.map("properties");
  const patterns = patternsOf(site);
  const rest = site.one("additionalProperties");
  const names = site.one("propertyNames");
  const unevaluated = site.one("unevaluatedProperties");
  if (patterns.length > 0 || rest !== undefined) early.push(eachKey(named ?? [], patterns, rest));
  else if (named !== undefined) early.push(namedKeys(named));
  if (names !== undefined) early.push(keyNames(names));
  if (unevaluated !== undefined) late.push(unseenKeys(unevaluated));
  return { early, late };
}

type Named = readonly (readonly [string, Node])[];
type ByPattern = readonly (readonly [PatternMatcher | string, Node])[];

function patternsOf(site: Site): ByPattern {
  return (site.map("patternProperties") ?? []).map(([source, node]) => [site.compiler.patterns.read(source), node]);
}

function namedKeys(named: Named): Node {
  return (value, run, seen) => {
    if (!isObject(value)) return true;
    let ok = true;
    let missing = 0;
    for (const [key, node] of named) {
      const member = value[key];
      if (member === undefined || !Object.hasOwn(value, key)) {
        missing += 1;
        continue;
      }
      seen?.keys.add(key);
      if (checkMember(node, key, member, run)) continue;
      if (run.quiet > 0) return false;
      ok = false;
    }
    run.left -= named.length + missing * MISS;
    return ok;
  };
}

function eachKey(named: Named, patterns: ByPattern, rest: Node | undefined): Node {
  const byName = new Map(named);
  return (value, run, seen) => {
    if (!isObject(value)) return true;
    let ok = true;
    for (const key in value) {
      const member = value[key];
      if (member === undefined || !Object.hasOwn(value, key)) continue;
      spend(run, 3 + patterns.length);
      const own = byName.get(key);
      let known = own !== undefined;
      if (own !== undefined && !checkMember(own, key, member, run)) ok = false;
      for (const [pattern, node] of patterns) {
        if (typeof pattern === "object" && !pattern.test(key, run)) continue;
        known = true;
        // A pattern that is not applied might match, so no verdict on the key is possible.
        if (typeof pattern === "string") doubt(key, run);
        else if (!checkMember(node, key, member, run)) ok = false;
      }
      if (!known && rest !== undefined && !checkMember(rest, key, member, run)) ok = false;
      if (known || rest !== undefined) seen?.keys.add(key);
      if (!ok && run.quiet > 0) return false;
    }
    return ok;
  };
}

function keyNames(node: Node): Node {
  return (value, run) => {
    if (!isObject(value)) return true;
    let ok = true;
    for (const key of keysOf(value)) {
      spend(run, 1);
      if (!checkMember(node, key, key, run)) ok = false;
    }
    return ok;
  };
}

function unseenKeys(node: Node): Node {
  return (value, run, seen) => {
    if (!isObject(value) || seen === undefined || seen.allKeys) return true;
    let ok = true;
    const keys = keysOf(value);
    spend(run, keys.length);
    for (const key of keys) {
      if (seen.keys.has(key)) continue;
      spend(run, 1);
      if (!checkMember(node, key, value[key], run)) ok = false;
    }
    seen.allKeys = true;
    return ok;
  };
}
