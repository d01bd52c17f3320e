import { DefinitionError } from "../../protocol/errors.js";
import { assertOptions } from "../../protocol/known-options.js";

/** What other SDKs call an option, and what it is called here: a schema that is passed over would check nothing. */
const OTHER_NAMES: Readonly<Record<string, string>> = {
  inputSchema: "input",
  parameters: "input",
  outputSchema: "output",
  argsSchema: "arguments",
  args: "arguments",
};

/** Says at the definition what programs without types get wrong. */
export function assertDefinition(
  noun: string,
  name: unknown,
  options: unknown,
  handler: unknown,
  known: { readonly [name: string]: 1 },
): void {
  const where = `${noun} ${JSON.stringify(name)}`;
  if (typeof name !== "string") throw new DefinitionError(`${where}: the name must be a text`);
  if (typeof options !== "object" || options === null || typeof handler !== "function")
    throw new DefinitionError(`${where}: must be given as (name, options, handler); the options may be {}`);
  for (const other in OTHER_NAMES)
    if (other in options)
      throw new DefinitionError(`${where}: has no option ${other}; it is called ${OTHER_NAMES[other]}`);
  assertOptions(where, options, known);
}
