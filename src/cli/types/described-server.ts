import type { Client } from "../../client/client.js";
import type { Prompt, ResourceTemplate, Tool } from "../../protocol/types/index.js";
import { ifSupported } from "../catalogue.js";

/** What a server says about itself and offers. Types and locks are made from it. */
export interface DescribedServer {
  readonly name: string | undefined;
  readonly title: string | undefined;
  readonly version: string | undefined;
  /** Protocol version in which it was described. */
  readonly protocol: string | undefined;
  readonly instructions: string | undefined;
  readonly tools: readonly Tool[];
  readonly prompts: readonly Prompt[];
  readonly templates: readonly ResourceTemplate[];
}

/** Asks a server for its description and for the lists that it announces. Of items with the same name, the first counts. */
export async function describeServer(client: Client): Promise<DescribedServer> {
  const { info, capabilities, instructions } = client.server;
  const isKnown = Object.keys(capabilities).length > 0;
  const has = (capability: object | undefined) => !isKnown || capability !== undefined;
  const [tools = [], prompts = [], templates = []] = await Promise.all([
    has(capabilities.tools) ? ifSupported(client.tools().all()) : undefined,
    has(capabilities.prompts) ? ifSupported(client.prompts().all()) : undefined,
    has(capabilities.resources) ? ifSupported(client.resourceTemplates().all()) : undefined,
  ]);
  return {
    name: info?.name,
    title: info?.title,
    version: info?.version,
    protocol: client.version,
    instructions,
    tools: sorted(tools, ({ name }) => name),
    prompts: sorted(prompts, ({ name }) => name),
    templates: sorted(templates, ({ uriTemplate }) => uriTemplate),
  };
}

/** Sorts items by their keys, so that their order on the server is no change. */
function sorted<T>(items: readonly T[], keyOf: (item: T) => string): T[] {
  const byKey = new Map<string, T>();
  for (const item of items) if (!byKey.has(keyOf(item))) byKey.set(keyOf(item), item);
  return [...byKey].sort(([one], [two]) => (one < two ? -1 : 1)).map(([, item]) => item);
}
