import type { Patterns } from "./pattern.js";
import type { Node } from "./types.js";

/** Compiles a subschema to a closure. */
export interface SubschemaCompiler {
  readonly patterns: Patterns;
  /** `outer` is the base of the schema that it is a part of. */
  compileBelow(schema: unknown, outer: string): Node;
}

/** Schema object that is being compiled, as the groups of keywords see it. */
export class Site {
  constructor(
    readonly compiler: SubschemaCompiler,
    readonly schema: Record<string, unknown>,
    readonly base: string,
  ) {}

  /** Compiles the subschema of a keyword. */
  one(keyword: string): Node | undefined {
    const value = this.schema[keyword];
    return value === undefined ? undefined : this.#compile(value);
  }

  /** Compiles the list of subschemas of a keyword. */
  list(keyword: string): readonly Node[] | undefined {
    const value = this.schema[keyword] as readonly unknown[] | undefined;
    return value?.map((schema) => this.#compile(schema));
  }

  /** Compiles the named subschemas of a keyword. */
  map(keyword: string): readonly (readonly [string, Node])[] | undefined {
    const value = this.schema[keyword];
    return value === undefined
      ? undefined
      : Object.entries(value as object).map(([key, schema]) => [key, this.#compile(schema)]);
  }

  #compile(schema: unknown): Node {
    return this.compiler.compileBelow(schema, this.base);
  }
}
