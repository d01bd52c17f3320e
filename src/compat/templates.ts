import type { Completers } from "../server/definitions/completion.js";
import type { EnumeratedResource } from "../server/definitions/resource.js";
import type { HandlerExtra } from "./extra.js";
import { isSchema, type SchemaOrShape } from "./shape.js";

/** Returns completions of a partly typed value. */
export type Complete = (
  value: string,
  context?: { readonly arguments?: Readonly<Record<string, string>> },
) => readonly string[] | Promise<readonly string[]>;

type Listing = { readonly resources: readonly EnumeratedResource[] };

/** URI template with functions that list its resources and complete its variables. */
export class ResourceTemplate {
  readonly uriTemplate: string;
  readonly callbacks: {
    readonly list?: ((extra: HandlerExtra) => Listing | Promise<Listing>) | undefined;
    readonly complete?: { readonly [variable: string]: Complete };
  };

  constructor(uriTemplate: string | { toString(): string }, callbacks: ResourceTemplate["callbacks"] = {}) {
    this.uriTemplate = String(uriTemplate);
    this.callbacks = callbacks;
  }
}

/** Member of a schema that has completions. It is the same in all versions of the official SDK. */
export const COMPLETABLE_SYMBOL: unique symbol = Symbol.for("mcp.completable");

/** @deprecated Nothing has this name any more. It is exported by version 1 of the official SDK. */
export const McpZodTypeKind = { Completable: "McpCompletable" } as const;

/** Adds completions to the schema of a prompt's argument. */
export function completable<S extends object>(schema: S, complete: Complete): S {
  Object.defineProperty(schema, COMPLETABLE_SYMBOL, { value: { complete } });
  return schema;
}

/** True if {@link completable} added completions to a schema. */
export function isCompletable(schema: unknown): boolean {
  return typeof schema === "object" && schema !== null && COMPLETABLE_SYMBOL in schema;
}

/** Returns the function that {@link completable} added to a schema. */
export function getCompleter(schema: object): Complete | undefined {
  return (schema as Member)[COMPLETABLE_SYMBOL]?.complete;
}

/** Returns the schema itself. @deprecated A schema with completions is no wrapper. */
export function unwrapCompletable<S extends object>(schema: S): S {
  return schema;
}

interface Member {
  readonly [COMPLETABLE_SYMBOL]?: { readonly complete: Complete };
  readonly _zod?: { readonly def?: { readonly innerType?: Member } };
  /** Definition in zod 3. */
  readonly _def?: { readonly innerType?: Member };
}

/** Collects the completions that {@link completable} added to the members of a shape, or of a zod object. */
export function completersOf(
  schema: SchemaOrShape,
  toCompleter: (complete: Complete) => Completers[string],
): Completers {
  const shape = isSchema(schema) ? (schema as { readonly shape?: unknown }).shape : schema;
  const members = Object.entries((shape ?? {}) as Record<string, Member>);
  const found = members.map(([name, member]) => [name, findCompletions(member)] as const);
  return Object.fromEntries(found.flatMap(([name, complete]) => (complete ? [[name, toCompleter(complete)]] : [])));
}

/** Finds the completions of a schema, or of the schema within a wrapper such as `.optional()`. */
function findCompletions(member: Member | undefined): Complete | undefined {
  return member && (getCompleter(member) ?? findCompletions((member._zod?.def ?? member._def)?.innerType));
}
