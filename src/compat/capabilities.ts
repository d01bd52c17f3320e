import { defined, isObject } from "../protocol/json.js";
import type { JsonObject } from "../protocol/types/index.js";
import type { ServerOptions } from "../server/options.js";

/**
 * Capabilities of a server as in the official SDK. Those that are not named here, such as `completions`, follow from the
 * definitions.
 */
export interface CompatCapabilities {
  readonly tools?: { readonly listChanged?: boolean };
  readonly prompts?: { readonly listChanged?: boolean };
  readonly resources?: { readonly listChanged?: boolean; readonly subscribe?: boolean };
  readonly logging?: object;
  readonly experimental?: { readonly [name: string]: JsonObject };
  readonly extensions?: { readonly [name: string]: JsonObject };
  readonly [capability: string]: unknown;
}

/** Capabilities as an option of a Bowline server, which reads them whenever a client asks for them. */
export type DeclaredCapabilities = { -readonly [Name in keyof Declared]: Declared[Name] };

type Declared = NonNullable<ServerOptions["capabilities"]>;

/** Converts capabilities of the official SDK. */
export function toCapabilities(given: CompatCapabilities): DeclaredCapabilities {
  const { tools, prompts, resources, logging, experimental, extensions } = given;
  return defined<DeclaredCapabilities>({
    tools,
    prompts,
    resources,
    experimental,
    extensions,
    logging: logging && true,
  });
}

/** Adds capabilities. A capability that is declared already gets the further members. */
export function addCapabilities(declared: DeclaredCapabilities, more: CompatCapabilities): void {
  const added = Object.entries(toCapabilities(more)).map(([name, value]) => {
    const present = declared[name as keyof Declared];
    return [name, isObject(present) && isObject(value) ? { ...present, ...value } : value];
  });
  Object.assign(declared, Object.fromEntries(added));
}
