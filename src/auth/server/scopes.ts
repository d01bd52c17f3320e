import type { Operation } from "../../http/exchange.js";
import { DefinitionError } from "../../protocol/errors.js";
import { isScope } from "../scopes.js";

/** Whether what was granted covers a scope. */
export type Satisfies = (granted: readonly string[], required: string) => boolean;

export interface ScopeOptions {
  /** What every request needs. */
  readonly scopes?: readonly string[] | undefined;
  /** What a request needs beyond that and beyond what the definition that it names requires. */
  readonly scopesFor?: ((operation: Operation) => readonly string[] | undefined) | undefined;
  /** Decides whether granted scopes cover a required one, where one implies others. Exact match by default. */
  readonly satisfies?: Satisfies | undefined;
}

/** It is for the authorization server alone: refresh tokens are no business of a resource. */
const OFFLINE_ACCESS = "offline_access";

/** Scopes as they are asked for: each once, without the one that no resource asks for. Throws for what is no scope. */
export function toScopes(option: string, scopes: readonly string[]): readonly string[] {
  for (const scope of scopes) {
    if (!isScope(scope)) {
      throw new DefinitionError(`${option}: ${JSON.stringify(scope)} is not a scope`);
    }
  }
  return [...new Set(scopes)].filter((scope) => scope !== OFFLINE_ACCESS);
}

/** What to tell an author who asks for what a resource does not ask for. */
export function offlineWarning(option: string, scopes: readonly string[] = []): readonly string[] {
  if (!scopes.includes(OFFLINE_ACCESS)) return [];
  return [`protect: ${option} has offline_access, which is between client and authorization server; it is left out`];
}

/** Which scopes requests need, and whether those of a token do. */
export class ScopeRules {
  readonly base: readonly string[];
  readonly #scopesFor: ScopeOptions["scopesFor"];
  readonly #satisfies: Satisfies;

  constructor({ scopes = [], scopesFor, satisfies = includes }: ScopeOptions) {
    this.base = toScopes("scopes", scopes);
    this.#scopesFor = scopesFor;
    this.#satisfies = satisfies;
  }

  /** Whether all are covered. */
  cover(granted: readonly string[], needed: readonly string[]): boolean {
    return needed.every((scope) => this.#satisfies(granted, scope));
  }

  /** All that these operations need together, beyond the base. */
  neededFor(operations: readonly Operation[]): readonly string[] {
    const needed = operations.flatMap((operation) => [...operation.scopes, ...(this.#scopesFor?.(operation) ?? [])]);
    return needed.length === 0 ? needed : toScopes("requires.scopes", needed);
  }
}

function includes(granted: readonly string[], required: string): boolean {
  return granted.includes(required);
}
