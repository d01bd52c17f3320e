import { DefinitionError } from "../errors.js";
import { arrayNodes } from "./array-keywords.js";
import { ASSERTIONS } from "./assertions.js";
import { branchNodes } from "./branch-keywords.js";
import { all, inScope, never, pass, withOwnSeen } from "./combine.js";
import { draft7View } from "./draft-7.js";
import { objectNodes } from "./object-keywords.js";
import type { Place, SchemaDocument } from "./schema-document.js";
import { Site, type SubschemaCompiler } from "./site.js";
import { isObject, type Node } from "./types.js";

/** Following more references than this at once, or in all, means a schema or value made to cost too much. */
const MAX_REF_DEPTH = 512;
const MAX_REF_STEPS = 1_000_000;

/** A schema under compilation: references to it work before it is done, so that schemas may be recursive. */
interface Slot {
  node: Node;
}

/** Turns each schema of a document into a closure, once. */
export class Compiler implements SubschemaCompiler {
  readonly #slots = new Map<string, Map<unknown, Slot>>();
  readonly #queue: (() => void)[] = [];

  constructor(
    readonly document: SchemaDocument,
    readonly draft7: boolean,
    readonly acceptPattern: ((source: string) => boolean) | undefined,
  ) {}

  compileRoot(): Node {
    const { schema, base } = this.document.root;
    const node = this.compile(schema, base, "#", 0);
    // References are compiled from a queue and not recursively: a long chain of them must not exhaust the stack.
    // It grows while it is worked through.
    for (const compileNext of this.#queue) compileNext();
    return node;
  }

  /** The closure of the schema at `where`; `base` is what its references are relative to. */
  compile(schema: unknown, base: string, where: string, depth: number): Node {
    if (schema === true) return pass;
    if (schema === false) return never;
    if (!isObject(schema)) throw new DefinitionError(`${where}: a schema must be an object or a boolean`);
    const slot = this.#slot(schema, base);
    if (slot.node !== pass) return slot.node;
    this.document.count(depth, where);
    const node = this.#compileObject(schema, base, where, depth);
    slot.node = node;
    return node;
  }

  /** A closure for what a reference points to, which may not be compiled yet. */
  refer(place: Place, where: string): Node {
    if (!isObject(place.schema)) return this.compile(place.schema, place.base, where, 0);
    const slot = this.#slot(place.schema, place.base);
    this.#queue.push(() => this.compile(place.schema, place.base, where, 0));
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

  #compileObject(raw: Record<string, unknown>, base: string, where: string, depth: number): Node {
    const schema = this.draft7 ? draft7View(raw) : raw;
    const site = new Site(this, schema, base, where, depth);
    site.map("$defs");
    site.map("definitions");
    const objects = objectNodes(site);
    const arrays = arrayNodes(site);
    const nodes = [...this.#assertions(schema, where), ...this.#references(schema, base, where), ...branchNodes(site)];
    this.#checkPatterns(schema, where);
    const node = all([...nodes, ...objects.early, ...arrays.early]);
    const late = [...objects.late, ...arrays.late];
    const whole = late.length === 0 ? node : withOwnSeen(node, all(late));
    return this.document.dynamicAnchors.size === 0 ? whole : inScope(base, whole);
  }

  /** Runs after the patterns were compiled, so `acceptPattern` sees only valid ones. */
  #checkPatterns({ pattern, patternProperties }: Record<string, unknown>, where: string): void {
    if (this.acceptPattern === undefined) return;
    const sources = [...(typeof pattern === "string" ? [pattern] : []), ...Object.keys(patternProperties ?? {})];
    const refused = sources.find((source) => !this.acceptPattern?.(source));
    if (refused !== undefined) throw new DefinitionError(`${where}: the pattern ${JSON.stringify(refused)} is refused`);
  }

  #assertions(schema: Record<string, unknown>, where: string): Node[] {
    const nodes: Node[] = [];
    for (const [keyword, make] of Object.entries(ASSERTIONS)) {
      if (schema[keyword] === undefined) continue;
      const made = make(schema[keyword]);
      if (typeof made === "string") throw new DefinitionError(`${where}/${keyword} must be ${made}`);
      nodes.push(made);
    }
    return nodes;
  }

  #references(schema: Record<string, unknown>, base: string, where: string): Node[] {
    const nodes: Node[] = [];
    const { $ref, $dynamicRef } = schema;
    if ($ref !== undefined) nodes.push(this.refer(this.#target($ref, base, `${where}/$ref`), `${where}/$ref`));
    if ($dynamicRef === undefined) return nodes;
    const at = `${where}/$dynamicRef`;
    const target = this.#target($dynamicRef, base, at);
    const fixed = this.refer(target, at);
    if (!isObject(target.schema) || target.anchor === undefined || target.schema.$dynamicAnchor !== target.anchor) {
      return [...nodes, fixed];
    }
    const suffix = `#${target.anchor}`;
    const byBase = new Map<string, Node>();
    for (const [name, place] of this.document.dynamicAnchors) {
      if (name === place.base + suffix) byBase.set(place.base, this.refer(place, at));
    }
    nodes.push((value, run, seen) => {
      const outermost = run.scope.find((scope) => byBase.has(scope));
      return (outermost === undefined ? fixed : byBase.get(outermost)!)(value, run, seen);
    });
    return nodes;
  }

  #target(reference: unknown, base: string, where: string) {
    if (typeof reference !== "string") throw new DefinitionError(`${where} must be a string`);
    return this.document.resolve(reference, base, where);
  }
}
