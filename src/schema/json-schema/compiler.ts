import { isObject } from "../../protocol/json.js";
import { arrayNodes } from "./array-keywords.js";
import { ASSERTIONS } from "./assertions.js";
import { branchNodes } from "./branch-keywords.js";
import type { CheckedSchema } from "./check-schema.js";
import { all, inScope, never, pass, withOwnSeen } from "./combine.js";
import { draft7View, type Place, type SchemaDocument } from "./document.js";
import { objectNodes } from "./object-keywords.js";
import { Site, type SubschemaCompiler } from "./site.js";
import type { Node } from "./types.js";

/** Following more references than this at once, or in all, means a schema or value made to cost too much. */
const MAX_REF_DEPTH = 512;
const MAX_REF_STEPS = 1_000_000;

/** A schema under compilation: references to it work before it is done, so that schemas may be recursive. */
interface Slot {
  node: Node;
}

/** Turns each schema of a document into a closure, once. That nothing is wrong with them has been checked. */
export class Compiler implements SubschemaCompiler {
  readonly #document: SchemaDocument;
  readonly #draft7: boolean;
  readonly #slots = new Map<string, Map<unknown, Slot>>();
  readonly #queue: (() => void)[] = [];

  constructor({ document, draft7 }: CheckedSchema) {
    this.#document = document;
    this.#draft7 = draft7;
  }

  compileRoot(): Node {
    const { schema, base } = this.#document.root;
    const node = this.compile(schema, base);
    // References are compiled from a queue and not recursively: a long chain of them must not exhaust the stack.
    // It grows while it is worked through.
    for (const compileNext of this.#queue) compileNext();
    return node;
  }

  /** The closure of a schema; `base` is what its references are relative to. */
  compile(schema: unknown, base: string): Node {
    if (!isObject(schema)) return schema === false ? never : pass;
    const slot = this.#slot(schema, base);
    if (slot.node === pass) slot.node = this.#compileObject(schema, base);
    return slot.node;
  }

  /** A closure for what a reference points to, which may not be compiled yet. */
  #refer({ schema, base }: Place): Node {
    if (!isObject(schema)) return this.compile(schema, base);
    const slot = this.#slot(schema, base);
    this.#queue.push(() => this.compile(schema, base));
    return (value, run, seen) => {
      run.depth += 1;
      run.steps += 1;
      if (run.depth > MAX_REF_DEPTH || run.steps > MAX_REF_STEPS) throw new RangeError("too much to check");
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
    const schema = this.#draft7 ? draft7View(raw) : raw;
    const site = new Site(this, schema, base);
    const objects = objectNodes(site);
    const arrays = arrayNodes(site);
    const nodes = [...assertionNodes(schema), ...this.#references(schema, base), ...branchNodes(site)];
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
    if (!isObject(target.schema) || target.anchor === undefined || target.schema.$dynamicAnchor !== target.anchor) {
      return [...nodes, fixed];
    }
    const suffix = `#${target.anchor}`;
    const byBase = new Map<string, Node>();
    for (const [name, place] of this.#document.dynamicAnchors) {
      if (name === place.base + suffix) byBase.set(place.base, this.#refer(place));
    }
    nodes.push((value, run, seen) => {
      const outermost = run.scope.find((scope) => byBase.has(scope));
      return (outermost === undefined ? fixed : byBase.get(outermost)!)(value, run, seen);
    });
    return nodes;
  }

  #target(reference: unknown, base: string) {
    return this.#document.resolve(reference as string, base, "#");
  }
}

function assertionNodes(schema: Record<string, unknown>): Node[] {
  return Object.entries(ASSERTIONS).flatMap(([keyword, make]) => {
    const limit = schema[keyword];
    return limit === undefined ? [] : [make(limit as never)];
  });
}
