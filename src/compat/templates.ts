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

const COMPLETABLE = Symbol.for("mcp.completable");

/** Adds completions to the schema of a prompt's argument. */
export function completable<S extends object>(schema: S, complete: Complete): S {
  Object.defineProperty(schema, COMPLETABLE, { value: { complete } });
  return schema;
}

interface Member {
  readonly [COMPLETABLE]?: { readonly complete: Complete };
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
  return member && (member[COMPLETABLE]?.complete ?? findCompletions((member._zod?.def ?? member._def)?.innerType));
}
