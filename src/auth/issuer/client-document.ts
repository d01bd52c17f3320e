import type { MetadataRules } from "./client-metadata.js";
import type { DocumentClients } from "./clients.js";
import { OAuthProblem } from "./oauth-problem.js";
import type { ClientDocumentOptions } from "./options.js";

export function createDocumentClients(
  _options: ClientDocumentOptions,
  _rules: MetadataRules,
  _now: () => number,
): DocumentClients {
  return {
    find: async () => {
      throw new OAuthProblem("invalid_client", "not yet");
    },
  };
}
