import type { ClientCapabilities, InputRequest } from "../protocol/types/index.js";

/** The first version in which the inclusion of context is a capability of its own. */
const CONTEXT_VERSION = "2025-11-25";

/** The part of the client's capabilities that a question needs and that was not declared; undefined when it may be asked. */
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
      // An empty object stands for form mode, as it did before modes existed.
      const form = elicitation !== undefined && (elicitation.form !== undefined || elicitation.url === undefined);
      return form ? undefined : { elicitation: elicitation === undefined ? {} : { form: {} } };
    }
  }
}
