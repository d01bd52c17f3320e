import { isObject } from "../../protocol/json.js";
import { arrayNodes } from "./array-keywords.js";
import { ASSERTIONS } from "./assertions.js";
import { branchNodes } from "./branch-keywords.js";
import type { CheckedSchema } from "./check-schema.js";
import { all, inScope, never, pass, withOwnSeen } from "./combine.js";
import { translate } from "./dialect.js";
import type { Place, SchemaDocument } from "./document.js";
import { spend } from "./limits.js";
import { objectNodes } from "./object-keywords.js";
import type { Patterns } from "./pattern.js";
import { Site, type SubschemaCompiler } from "./site.js";
import type { Node } from "./types.js";

/** Schema that is being compiled. References to it work before it is complete, so that schemas may be recursive. */
interface Slot {
  node: Node;
}

/** Compiles each schema of a checked document to a closure, once. */
export class Compiler implements SubschemaCompiler {
  readonly #document: SchemaDocument;
  readonly #slots = new Map<string, Map<unknown, Slot>>();
  readonly #queue: (() => void)[] = [];
  /** Targets of dynamic references by anchor, and by the base URI of their schema resource. */
  readonly #dynamic = new Map<string, Map<string, Node>>();
  readonly patterns: Patterns;

  constructor({ document, patterns }: CheckedSchema) {
    this.#document = document;
    this.patterns = patterns;
  }

  compileRoot(): Node {
    const { schema, base } = this.#document.root;
    const node = this.compile(schema, base);
    // References are compiled from a queue rather than recursively, so that a long chain does not exhaust the stack.
    // The queue grows during the loop.
    for (const compileNext of this.#queue) compileNext();
    return node;
  }

  /** Returns the closure of a schema. `base` is the base URI of its references. */
  compile(schema: unknown, base: string): Node {
    if (!isObject(schema)) return schema === false ? never : pass;
    const slot = this.#slot(schema, base);
    if (slot.node === pass) slot.node = this.#compileObject(schema, base);
    return slot.node;
  }

  compileBelow(schema: unknown, outer: string): Node {
    return this.compile(schema, isObject(schema) ? this.#document.baseOf(schema, outer) : outer);
  }

  /** Returns a closure for the target of a reference, which may not be compiled yet. */
  #refer({ schema, base }: Place): Node {
    if (!isObject(schema)) return this.compile(schema, base);
    const slot = this.#slot(schema, base);
    this.#queue.push(() => this.compile(schema, base));
    return (value, run, seen) => {
      spend(run, 1);
      run.depth += 1;
      if (run.depth > run.limits.maxRefDepth) throw new RangeError("too many nested references");
      const ok = slot.node(value, run, seen);
      run.depth -= 1;
      return ok;
    };
  }

  #slot(schema: object, base: string): Slot {
    const slots = this.#slots.get(base) ?? new Map<unknown, Slot>();
    this.#slots.set(base, slots);
    const slot = slots.get(schema) ?? { node: pass };
    slots.set(schema, slot);
    return slot;
  }

  #compileObject(raw: Record<string, unknown>, base: string): Node {
    const schema = translate(raw, this.#document.dialect);
    const site = new Site(this, schema, base);
    const objects = objectNodes(site);
    const arrays = arrayNodes(site);
    const nodes = [...assertionNodes(schema, this.patterns), ...this.#references(schema, base), ...branchNodes(site)];
    const node = all([...nodes, ...objects.early, ...arrays.early]);
    const late = [...objects.late, ...arrays.late];
    const whole = late.length === 0 ? node : withOwnSeen(node, all(late));
    return this.#document.dynamicAnchors.size === 0 ? whole : inScope(base, whole);
  }

  #references({ $ref, $dynamicRef }: Record<string, unknown>, base: string): Node[] {
    const nodes: Node[] = [];
    if ($ref !== undefined) nodes.push(this.#refer(this.#target($ref, base)));
    if ($dynamicRef === undefined) return nodes;
    const target = this.#target($dynamicRef, base);
    const fixed = this.#refer(target);
    const { schema, anchor } = target;
    const isDynamic =
      isObject(schema) && (anchor === "" ? schema.$recursiveAnchor === true : schema.$dynamicAnchor === anchor);
    if (anchor === undefined || !isDynamic) return [...nodes, fixed];
    const byBase = this.#dynamicTargets(anchor);
    nodes.push((value, run, seen) => {
      spend(run, run.scope.length);
      const outermost = run.scope.find((scope) => byBase.has(scope));
      return (outermost === undefined ? fixed : byBase.get(outermost)!)(value, run, seen);
    });
    return nodes;
  }

  #dynamicTargets(anchor: string): ReadonlyMap<string, Node> {
    const known = this.#dynamic.get(anchor);
    if (known !== undefined) return known;
    const places = this.#document.dynamicAnchors.get(anchor) ?? [];
    const byBase = new Map(places.map((place) => [place.base, this.#refer(place)]));
    this.#dynamic.set(anchor, byBase);
    return byBase;
  }

  #target(reference: unknown, base: string) {
    return this.#document.resolve(reference as string, base, "#");
  }
}

function assertionNodes(schema: Record<string, unknown>, patterns: Patterns): Node[] {
  return Object.entries(ASSERTIONS).flatMap(([keyword, make]) => {
    const limit = schema[keyword];
    return limit === undefined ? [] : [make(limit as never, patterns)];
  });
}
