import type { Operation } from "../../http/exchange.js";
import { DefinitionError } from "../../protocol/errors.js";
import type { Known } from "../../protocol/known-options.js";
import { isScope } from "../scopes.js";

/** Returns true if the granted scopes include, or imply, the required one. */
export type Satisfies = (granted: readonly string[], required: string) => boolean;

/** Options that determine the scopes of requests. */
export interface ScopeOptions {
  /** Scopes that every request needs. */
  readonly scopes?: readonly string[] | undefined;
  /**
   * Returns the scopes that a request needs in addition to `scopes` and to those of the tool, prompt or resource that
   * it names.
   */
  readonly scopesFor?: ((operation: Operation) => readonly string[] | undefined) | undefined;
  /**
   * Decides whether granted scopes include a required one, for scopes that imply others.
   * @default exact match
   */
  readonly satisfies?: Satisfies | undefined;
}

export const SCOPE_OPTIONS: Known<ScopeOptions> = {
  scopes: [{ array: "string" }],
  scopesFor: "function",
  satisfies: "function",
};

/** Scope for the authorization server only. It yields refresh tokens, which do not concern a resource. */
const OFFLINE_ACCESS = "offline_access";

/** Returns distinct scopes without `offline_access`. Throws for an invalid scope. */
export function toScopes(option: string, scopes: readonly string[]): readonly string[] {
  for (const scope of scopes) {
    if (!isScope(scope)) {
      throw new DefinitionError(`protect: ${option}: ${JSON.stringify(scope)} is not a valid scope`);
    }
  }
  return [...new Set(scopes)].filter((scope) => scope !== OFFLINE_ACCESS);
}

/** Returns a warning if the scopes of an option contain `offline_access`; otherwise none. */
export function offlineWarning(option: string, scopes: readonly string[] = []): readonly string[] {
  if (!scopes.includes(OFFLINE_ACCESS)) return [];
  return [`protect: ${option} contains offline_access, which is for the authorization server only; it is ignored`];
}

/** Scopes that requests need, and their comparison with those of a token. */
export class ScopeRules {
  readonly base: readonly string[];
  readonly #scopesFor: ScopeOptions["scopesFor"];
  readonly #satisfies: Satisfies;

  constructor({ scopes = [], scopesFor, satisfies = includes }: ScopeOptions) {
    this.base = toScopes("scopes", scopes);
    this.#scopesFor = scopesFor;
    this.#satisfies = satisfies;
  }

  /** True if the granted scopes include all needed ones. */
  cover(granted: readonly string[], needed: readonly string[]): boolean {
    return needed.every((scope) => this.#satisfies(granted, scope));
  }

  /** Returns all scopes that the operations need in addition to `base`. */
  neededFor(operations: readonly Operation[]): readonly string[] {
    const needed = operations.flatMap((operation) => [...operation.scopes, ...this.#scopesOf(operation)]);
    return needed.length === 0 ? needed : toScopes("scopesFor or requires.scopes", needed);
  }

  #scopesOf(operation: Operation): readonly string[] {
    const scopes = this.#scopesFor?.(operation) ?? [];
    if (Array.isArray(scopes)) return scopes;
    throw new DefinitionError(`protect: scopesFor must return a list of strings, got ${typeof scopes}`);
  }
}

function includes(granted: readonly string[], required: string): boolean {
  return granted.includes(required);
}
