import type { Completion } from "../../protocol/types/index.js";
import type { Context } from "../context.js";

/** Suggests values for an argument. `others` are the arguments that are already filled in. */
export type Completer = (
  value: string,
  ctx: Context,
  others: Readonly<Record<string, string>>,
) => readonly string[] | Promise<readonly string[]>;

export type Completers = { readonly [argument: string]: Completer };

/** Maximum number of values in a result (MCP). */
const MOST = 100;

/** Limits the values of a completion. Sets `hasMore` if values were removed. */
export function boundCompletion(completion: Completion): Completion {
  const { values } = completion;
  return values.length <= MOST ? completion : { ...completion, values: values.slice(0, MOST), hasMore: true };
}
