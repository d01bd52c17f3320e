import { isObject, keysOf } from "../../protocol/json.js";
import { checkMember } from "./combine.js";
import type { Site } from "./site.js";
import { type Node, toPattern } from "./types.js";

/** The keywords that apply schemas to the properties of an object. `late` ones go by what the rest evaluated. */
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
type Patterns = readonly (readonly [RegExp, Node])[];

function patternsOf(site: Site): Patterns {
  return (site.map("patternProperties") ?? []).map(([source, node]) => [toPattern(source)!, node]);
}

function namedKeys(named: Named): Node {
  return (value, run, seen) => {
    if (!isObject(value)) return true;
    let ok = true;
    for (const [key, node] of named) {
      const member = value[key];
      if (member === undefined || !Object.hasOwn(value, key)) continue;
      seen?.keys.add(key);
      if (checkMember(node, key, member, run)) continue;
      if (run.quiet > 0) return false;
      ok = false;
    }
    return ok;
  };
}

function eachKey(named: Named, patterns: Patterns, rest: Node | undefined): Node {
  const byName = new Map(named);
  return (value, run, seen) => {
    if (!isObject(value)) return true;
    let ok = true;
    for (const key in value) {
      const member = value[key];
      if (member === undefined || !Object.hasOwn(value, key)) continue;
      const own = byName.get(key);
      let known = own !== undefined;
      if (own !== undefined && !checkMember(own, key, member, run)) ok = false;
      for (const [pattern, node] of patterns) {
        if (!pattern.test(key)) continue;
        known = true;
        if (!checkMember(node, key, member, run)) ok = false;
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
    for (const key of keysOf(value)) if (!checkMember(node, key, key, run)) ok = false;
    return ok;
  };
}

function unseenKeys(node: Node): Node {
  return (value, run, seen) => {
    if (!isObject(value) || seen === undefined || seen.allKeys) return true;
    let ok = true;
    for (const key of keysOf(value)) {
      if (!seen.keys.has(key) && !checkMember(node, key, value[key], run)) ok = false;
    }
    seen.allKeys = true;
    return ok;
  };
}
