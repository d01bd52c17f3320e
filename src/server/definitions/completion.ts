import { DefinitionError } from "../../protocol/errors.js";
import type { Completion } from "../../protocol/types/index.js";
import type { Context } from "../context.js";

/** Suggests values for an argument. `others` are the arguments that are already filled in. */
export type Completer = (
  value: string,
  ctx: Context,
  others: Readonly<Record<string, string>>,
) => readonly string[] | Promise<readonly string[]>;

/** Completers by the names of the arguments or variables. */
export type Completers<Name extends string = string> = [Name] extends [never]
  ? { readonly [argument: string]: never }
  : { readonly [Argument in Name]?: Completer };

/** Maximum number of values in a result (MCP). */
const MOST = 100;

/** Throws for a completer of an argument or variable that does not exist, since it would never be called. */
export function assertCompleters(where: string, complete: Completers, known: readonly string[]): void {
  const unknown = Object.keys(complete).find((name) => !known.includes(name));
  if (unknown === undefined) return;
  const remedy = known.length === 0 ? "there is none" : `use ${known.join(", ")}`;
  throw new DefinitionError(`${where}: complete has no argument or variable ${unknown}; ${remedy}`);
}

/** Limits the values of a completion. Sets `hasMore` if values were removed. */
export function boundCompletion(completion: Completion): Completion {
  const { values } = completion;
  return values.length <= MOST ? completion : { ...completion, values: values.slice(0, MOST), hasMore: true };
}
