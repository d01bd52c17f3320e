import type { Completion } from "../../protocol/types/index.js";
import type { Context } from "../context.js";

/** Suggests values for one argument; `others` are the arguments that have been filled in already. */
export type Completer = (
  value: string,
  ctx: Context,
  others: Readonly<Record<string, string>>,
) => readonly string[] | Promise<readonly string[]>;

export type Completers = { readonly [argument: string]: Completer };

/** The most suggestions that one answer may hold. */
const MOST = 100;

/** No more suggestions than an answer may hold; that there are more is said. */
export function boundCompletion(completion: Completion): Completion {
  const { values } = completion;
  return values.length <= MOST ? completion : { ...completion, values: values.slice(0, MOST), hasMore: true };
}
