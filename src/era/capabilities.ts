import { Refusal } from "../protocol/jsonrpc/errors.js";
import type { ClientCapabilities } from "../protocol/types/index.js";
import { MISSING_CAPABILITY } from "./reserved-codes.js";

/** The part of `required` that was not declared; undefined when all of it was. */
export function undeclared(
  required: ClientCapabilities | undefined,
  declared: ClientCapabilities,
): ClientCapabilities | undefined {
  if (required === undefined) return undefined;
  const missing = absent(required as Members, declared as Members);
  return Object.keys(missing).length > 0 ? missing : undefined;
}

type Members = { readonly [key: string]: unknown };

function absent(required: Members, declared: Members): Members {
  const missing: Record<string, unknown> = {};
  for (const [key, wanted] of Object.entries(required)) {
    const given = Object.hasOwn(declared, key) ? declared[key] : undefined;
    if (!isMembers(given)) missing[key] = wanted;
    else if (isMembers(wanted)) {
      const parts = absent(wanted, given);
      if (Object.keys(parts).length > 0) missing[key] = parts;
    }
  }
  return missing;
}

function isMembers(value: unknown): value is Members {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

export function missingCapability(requiredCapabilities: ClientCapabilities): Refusal {
  const names = Object.keys(requiredCapabilities).join(", ");
  const message = `The client did not declare a capability that this request needs: ${names}`;
  return new Refusal(MISSING_CAPABILITY, message, { requiredCapabilities });
}
