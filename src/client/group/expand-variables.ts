import { DefinitionError } from "../../protocol/errors.js";

/** The values of variables: by name, or by asking. */
export type Variables = Readonly<Record<string, string | undefined>> | ((name: string) => string | undefined);

const VARIABLE = /\$\{([^{}]*)\}/g;

/**
 * Puts values in the place of `${NAME}`, `${env:NAME}` and `${NAME:-default}`. What a value holds is not looked at again.
 * Throws for a variable that is not set; the error names the place and the variable, and no value.
 */
export function expandVariables(text: string, variables: Variables, place: string): string {
  return text.replaceAll(VARIABLE, (_, inside: string) => {
    const cut = inside.indexOf(":-");
    const name = cut === -1 ? inside : inside.slice(0, cut);
    const value = lookUp(name, variables);
    // As in shells: `:-` is for what is empty too.
    if (cut !== -1) return value === undefined || value === "" ? inside.slice(cut + 2) : value;
    if (value === undefined) throw new DefinitionError(`${place}: the variable ${JSON.stringify(name)} is not set`);
    return value;
  });
}

function lookUp(name: string, variables: Variables): string | undefined {
  if (typeof variables === "function") return variables(name);
  const key = name.startsWith("env:") ? name.slice(4) : name;
  return Object.hasOwn(variables, key) ? variables[key] : undefined;
}

/** The environment of this process, where the runtime has one. */
export function environment(): Variables {
  const { process } = globalThis as { process?: { env?: Record<string, string | undefined> } };
  return process?.env ?? {};
}
