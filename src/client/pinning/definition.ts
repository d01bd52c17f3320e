import { digestOf } from "../../protocol/digest.js";
import { sortedJson } from "../../protocol/sorted-json.js";
import type { Tool } from "../../protocol/types/index.js";

/** What a user or a model decides by when it uses a tool: names, texts, schemas and hints. */
export type ToolDefinition = Pick<
  Tool,
  "name" | "title" | "description" | "inputSchema" | "outputSchema" | "annotations"
>;

/** Returns the definition of a listed tool, without what may differ between connections: icons and `_meta`. */
export function definitionOf(tool: Tool): ToolDefinition {
  const { name, title, description, inputSchema, outputSchema, annotations } = tool;
  return {
    name,
    inputSchema,
    ...(title !== undefined && { title }),
    ...(description !== undefined && { description }),
    ...(outputSchema !== undefined && { outputSchema }),
    ...(annotations !== undefined && { annotations }),
  };
}

/** Returns the digest of a definition. Equal definitions have equal digests, whatever the order of their members. */
export function definitionDigest(definition: object): Promise<string> {
  return digestOf(new TextEncoder().encode(sortedJson(definition)));
}
