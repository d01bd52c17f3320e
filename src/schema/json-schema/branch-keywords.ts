import { isObject } from "../../protocol/json.js";
import { hasKey, issue } from "./assertions.js";
import { all, fits, fitsBranch, pass } from "./combine.js";
import { spend } from "./limits.js";
import type { Site } from "./site.js";
import type { Node } from "./types.js";

/** Compiles the keywords that apply other schemas to the same value. */
export function branchNodes(site: Site): Node[] {
  const nodes: Node[] = [];
  const allOf = site.list("allOf");
  const anyOf = site.list("anyOf");
  const oneOf = site.list("oneOf");
  const not = site.one("not");
  const test = site.one("if");
  const dependent = site.map("dependentSchemas");
  if (allOf !== undefined) nodes.push(allNode(allOf));
  if (anyOf !== undefined) nodes.push(anyNode(anyOf));
  if (oneOf !== undefined) nodes.push(oneNode(oneOf));
  if (not !== undefined) nodes.push(notNode(not));
  if (test !== undefined) nodes.push(ifNode(test, site.one("then") ?? pass, site.one("else") ?? pass));
  for (const [key, node] of dependent ?? []) {
    nodes.push((value, run, seen) => !isObject(value) || !hasKey(value, key) || node(value, run, seen));
  }
  return nodes;
}

function allNode(nodes: readonly Node[]): Node {
  const node = all(nodes);
  return (value, run, seen) => {
    spend(run, 1);
    return node(value, run, seen);
  };
}

function anyNode(nodes: readonly Node[]): Node {
  return (value, run, seen) => {
    let ok = false;
    for (const node of nodes) {
      if (!fitsBranch(node, value, run, seen)) continue;
      if (seen === undefined) return true;
      ok = true;
    }
    return ok || issue(run, "must match one of the allowed shapes");
  };
}

/** Accepts a value whose match is in doubt because a pattern is not applied. */
function notNode(node: Node): Node {
  return (value, run) => {
    const { doubts } = run;
    return !fits(node, value, run, undefined) || run.doubts > doubts || issue(run, "must not match the excluded shape");
  };
}

function oneNode(nodes: readonly Node[]): Node {
  return (value, run, seen) => {
    const { doubts } = run;
    let matches = 0;
    for (const node of nodes) {
      if (fitsBranch(node, value, run, seen)) matches += 1;
      if (matches > 1 && run.doubts === doubts)
        return issue(run, "must match exactly one of the allowed shapes, and matches several");
    }
    return matches > 0 || issue(run, "must match exactly one of the allowed shapes");
  };
}

function ifNode(test: Node, yes: Node, no: Node): Node {
  return (value, run, seen) => {
    const { doubts } = run;
    if (!fitsBranch(test, value, run, seen)) return no(value, run, seen);
    return (run.doubts > doubts && fitsBranch(no, value, run, seen)) || yes(value, run, seen);
  };
}
