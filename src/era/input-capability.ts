import type { ClientCapabilities, InputRequest } from "../schema/types.js";

/** The part of the client's capabilities that a question needs and that was not declared; undefined when it may be asked. */
export function missingCapability(request: InputRequest, declared: ClientCapabilities): ClientCapabilities | undefined {
  switch (request.method) {
    case "roots/list":
      return declared.roots === undefined ? { roots: {} } : undefined;
    case "sampling/createMessage": {
      if (declared.sampling === undefined) return { sampling: {} };
      const needsTools = request.params.tools !== undefined || request.params.toolChoice !== undefined;
      return needsTools && declared.sampling.tools === undefined ? { sampling: { tools: {} } } : undefined;
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
