import { DefinitionError } from "../../protocol/errors.js";
import { isObject, pointerTo } from "../../protocol/json.js";
import { type Dialect, DRAFT_4, isBareReference } from "./dialect.js";
import type { SchemaLimits } from "./limits.js";

const ROOT = "bowline:///";
/** Maximum length of a URI. Each schema below it holds a copy. */
const MAX_URI = 2048;

/** Keywords whose value is a schema or a list of schemas. */
const ONE_OR_LIST = [
  "additionalItems",
  "additionalProperties",
  "allOf",
  "anyOf",
  "contains",
  "contentSchema",
  "else",
  "if",
  "items",
  "not",
  "oneOf",
  "prefixItems",
  "propertyNames",
  "then",
  "unevaluatedItems",
  "unevaluatedProperties",
];
/** Keywords whose value is an object of schemas. */
const MAPS = ["$defs", "definitions", "dependencies", "dependentSchemas", "patternProperties", "properties"];

/** Schema with the base URI of its references. */
export interface Place {
  readonly schema: unknown;
  readonly base: string;
}

/** Parts of a schema by the names that references use. Nothing outside the schema is looked up. */
export class SchemaDocument {
  readonly root: Place;
  /** Places of each `$dynamicAnchor`, by its name. The name of a `$recursiveAnchor` is empty. */
  readonly dynamicAnchors = new Map<string, Place[]>();
  readonly #resources = new Map<string, Place>();
  readonly #anchors = new Map<string, Place>();
  #count = 0;

  constructor(
    schema: unknown,
    readonly limits: SchemaLimits,
    readonly dialect: Dialect,
  ) {
    this.root = { schema, base: this.#index(schema, ROOT, "#", 0) };
    this.#resources.set(ROOT, this.root);
  }

  /** Counts a subschema against the limits: once when it is indexed and once when it is compiled. */
  count(depth: number, where: string): void {
    const { maxDepth, maxSubschemas } = this.limits;
    this.#count += 1;
    if (depth > maxDepth) throw new DefinitionError(`${where}: nested more than ${maxDepth} deep (limits.maxDepth)`);
    if (this.#count > 2 * maxSubschemas) {
      throw new DefinitionError(`more than ${maxSubschemas} subschemas (limits.maxSubschemas)`);
    }
  }

  resolve(reference: string, base: string, where: string): Place & { readonly anchor: string | undefined } {
    const uri = resolveUri(reference, base);
    const hash = uri === undefined ? 0 : uri.indexOf("#");
    const resource = uri === undefined ? undefined : this.#resources.get(hash < 0 ? uri : uri.slice(0, hash));
    if (uri === undefined || resource === undefined) {
      throw new DefinitionError(
        `${where}: the reference ${JSON.stringify(reference)} points outside the schema; copy its target into $defs`,
      );
    }
    const fragment = hash < 0 ? "" : decode(uri.slice(hash + 1));
    if (fragment === "") return { ...resource, anchor: fragment };
    const found = fragment.startsWith("/")
      ? this.#follow(resource, fragment)
      : this.#anchors.get(`${resource.base}#${fragment}`);
    if (found === undefined) {
      throw new DefinitionError(`${where}: the reference ${JSON.stringify(reference)} has no target in the schema`);
    }
    return { ...found, anchor: fragment.startsWith("/") ? undefined : fragment };
  }

  #follow(from: Place, pointer: string): Place | undefined {
    let { schema, base } = from;
    for (const part of pointer.slice(1).split("/")) {
      const key = part.replaceAll("~1", "/").replaceAll("~0", "~");
      if (typeof schema !== "object" || schema === null || !Object.hasOwn(schema, key)) return undefined;
      schema = (schema as Record<string, unknown>)[key];
      if (!isObject(schema) || this.#idOf(schema) === undefined) continue;
      this.count(0, pointer);
      base = this.baseOf(schema, base);
    }
    return { schema, base };
  }

  /** Returns the base URI inside a schema: its id, if it has one that names a resource. */
  baseOf(schema: Record<string, unknown>, outer: string): string {
    const id = this.#idOf(schema);
    if (id === undefined || id.startsWith("#")) return outer;
    return resolveUri(id, outer)?.replace(/#$/, "") ?? outer;
  }

  #idOf(schema: Record<string, unknown>): string | undefined {
    const id = this.dialect === DRAFT_4 ? schema.id : schema.$id;
    return typeof id === "string" && !isBareReference(schema, this.dialect) ? id : undefined;
  }

  #index(schema: unknown, outer: string, where: string, depth: number): string {
    if (!isObject(schema)) return outer;
    this.count(depth, where);
    const base = this.baseOf(schema, outer);
    const place: Place = { schema, base };
    if (base !== outer) this.#resources.set(base, place);
    const { $anchor, $recursiveAnchor, $dynamicAnchor = $recursiveAnchor === true ? "" : undefined } = schema;
    const id = this.#idOf(schema);
    if (id?.startsWith("#")) this.#anchors.set(base + id, place);
    if (typeof $anchor === "string") this.#anchors.set(`${base}#${$anchor}`, place);
    if (typeof $dynamicAnchor === "string") {
      this.#anchors.set(`${base}#${$dynamicAnchor}`, place);
      const places = this.dynamicAnchors.get($dynamicAnchor);
      if (places === undefined) this.dynamicAnchors.set($dynamicAnchor, [place]);
      else places.push(place);
    }
    eachSubschema(schema, (child, pointer) => this.#index(child, base, where + pointer, depth + 1));
    return base;
  }
}

/** Receives a subschema, its pointer from its parent, its keyword and, inside a map or list, its key. */
type Visit = (child: Record<string, unknown>, pointer: string, keyword: string, key?: PropertyKey) => void;

/** Calls `visit` for each direct subschema of `schema`. Data, such as `const` and `default`, is not a schema. */
export function eachSubschema(schema: Record<string, unknown>, visit: Visit): void {
  for (const keyword of ONE_OR_LIST) {
    const value = schema[keyword];
    if (isObject(value)) visit(value, `/${keyword}`, keyword);
    else if (Array.isArray(value)) visitAll(value.entries(), keyword, visit);
  }
  for (const keyword of MAPS) {
    const value = schema[keyword];
    if (isObject(value)) visitAll(Object.entries(value), keyword, visit);
  }
}

function resolveUri(reference: string, base: string): string | undefined {
  if (reference.startsWith("#")) return base + reference;
  if (reference.length > MAX_URI || !URL.canParse(reference, base)) return undefined;
  const { href } = new URL(reference, base);
  return href.length > MAX_URI ? undefined : href;
}

function decode(fragment: string): string {
  try {
    return decodeURIComponent(fragment);
  } catch {
    return fragment;
  }
}

function visitAll(entries: Iterable<readonly [PropertyKey, unknown]>, keyword: string, visit: Visit): void {
  for (const [key, child] of entries) {
    if (isObject(child)) visit(child, `/${keyword}${pointerTo(key)}`, keyword, key);
  }
}
