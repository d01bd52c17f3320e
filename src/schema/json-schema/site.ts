import { DefinitionError } from "../errors.js";
import { baseOf } from "./schema-document.js";
import { isObject, type Node, pointerTo } from "./types.js";

/** What turns a subschema into a closure. */
export interface SubschemaCompiler {
  readonly draft7: boolean;
  readonly acceptPattern: ((source: string) => boolean) | undefined;
  compile(schema: unknown, base: string, where: string, depth: number): Node;
}

/** One schema object on its way to a closure, as the keyword groups see it. */
export class Site {
  constructor(
    readonly compiler: SubschemaCompiler,
    readonly schema: Record<string, unknown>,
    readonly base: string,
    readonly where: string,
    readonly depth: number,
  ) {}

  /** The subschema under a keyword. */
  one(keyword: string): Node | undefined {
    const value = this.schema[keyword];
    return value === undefined ? undefined : this.#compile(value, `/${keyword}`);
  }

  /** The subschemas in a list under a keyword. */
  list(keyword: string): readonly Node[] | undefined {
    const value = this.schema[keyword];
    if (value === undefined) return undefined;
    if (!Array.isArray(value)) throw this.wrong(keyword, "a list of schemas");
    return value.map((schema, index) => this.#compile(schema, `/${keyword}/${index}`));
  }

  /** The subschemas in an object under a keyword. */
  map(keyword: string): readonly (readonly [string, Node])[] | undefined {
    const value = this.schema[keyword];
    if (value === undefined) return undefined;
    if (!isObject(value)) throw this.wrong(keyword, "an object of schemas");
    return Object.entries(value).map(([key, schema]) => [key, this.#compile(schema, `/${keyword}${pointerTo(key)}`)]);
  }

  wrong(keyword: string, expected: string): DefinitionError {
    return new DefinitionError(`${this.where}/${keyword} must be ${expected}`);
  }

  #compile(schema: unknown, pointer: string): Node {
    const base = isObject(schema) ? baseOf(schema, this.base) : this.base;
    return this.compiler.compile(schema, base, this.where + pointer, this.depth + 1);
  }
}
