import { isObject } from "../../protocol/json.js";

/** Hints of a tool, with what they say if they are true and if they are false. */
const HINTS = [
  ["readOnlyHint", "only reads", "changes things"],
  ["destructiveHint", "may destroy things", "destroys nothing"],
  ["idempotentHint", "may be repeated", "not to be repeated"],
  ["openWorldHint", "reaches other systems", "reaches no other systems"],
] as const;

/** Names of the hints of a tool. */
export const HINT_NAMES: readonly string[] = HINTS.map(([name]) => name);

/** Returns the hints of a tool as a sentence, or undefined if it has none. */
export function hintsText(annotations: unknown): string | undefined {
  const given = isObject(annotations) ? annotations : {};
  const said = HINTS.flatMap(([name, yes, no]) => (given[name] === true ? [yes] : given[name] === false ? [no] : []));
  return said.length === 0 ? undefined : `Hints: ${said.join(", ")}.`;
}
