import { Refusal } from "../protocol/jsonrpc/errors.js";
import type {
  ClientCapabilities,
  InputRequest,
  ServerCapabilities,
  SubscriptionFilter,
} from "../protocol/types/index.js";
import { MISSING_CAPABILITY } from "./versions.js";

/** Returns the part of `required` that the client did not declare, or undefined if it declared all of it. */
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

/** Creates the refusal of a request that needs capabilities which the client did not declare. */
export function missingCapability(requiredCapabilities: ClientCapabilities): Refusal {
  const message = `The client did not declare capabilities that this request needs: ${JSON.stringify(requiredCapabilities)}`;
  return new Refusal(MISSING_CAPABILITY, message, { requiredCapabilities });
}

/** First version in which `sampling.context` is a capability. */
const CONTEXT_VERSION = "2025-11-25";

/**
 * Returns the capabilities that a request to the client needs and that the client did not declare. Returns undefined if
 * the request may be sent.
 */
export function undeclaredFor(
  request: InputRequest,
  declared: ClientCapabilities,
  version = CONTEXT_VERSION,
): ClientCapabilities | undefined {
  switch (request.method) {
    case "roots/list":
      return declared.roots === undefined ? { roots: {} } : undefined;
    case "sampling/createMessage": {
      if (declared.sampling === undefined) return { sampling: {} };
      const { tools, toolChoice, includeContext = "none" } = request.params;
      const needsTools = tools !== undefined || toolChoice !== undefined;
      const needsContext = includeContext !== "none" && version >= CONTEXT_VERSION;
      const missing = {
        ...(needsTools && declared.sampling.tools === undefined && { tools: {} }),
        ...(needsContext && declared.sampling.context === undefined && { context: {} }),
      };
      return Object.keys(missing).length === 0 ? undefined : { sampling: missing };
    }
    case "elicitation/create": {
      const { elicitation } = declared;
      if (request.params.mode === "url")
        return elicitation?.url === undefined ? { elicitation: { url: {} } } : undefined;
      // An empty object means form mode, as in the version before modes existed.
      const form = elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
      return form ? undefined : { elicitation: elicitation === undefined ? {} : { form: {} } };
    }
  }
}

/** Returns the part of a subscription filter that a server with these capabilities can serve. */
export function honouredFilter(filter: SubscriptionFilter, capabilities: ServerCapabilities): SubscriptionFilter {
  const { tools, prompts, resources } = capabilities;
  const uris = filter.resourceSubscriptions ?? [];
  return {
    ...(filter.toolsListChanged === true && tools?.listChanged === true && { toolsListChanged: true }),
    ...(filter.promptsListChanged === true && prompts?.listChanged === true && { promptsListChanged: true }),
    ...(filter.resourcesListChanged === true && resources?.listChanged === true && { resourcesListChanged: true }),
    ...(uris.length > 0 && resources?.subscribe === true && { resourceSubscriptions: [...new Set(uris)] }),
  };
}
