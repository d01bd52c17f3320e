import type { ServerCapabilities, SubscriptionFilter } from "../protocol/types/index.js";

/** The part of a filter that a server with these capabilities can serve. */
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
