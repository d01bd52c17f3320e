import type { BaseMetadata, CacheableResult, Icon, JsonSchema, Meta, PaginatedResult, Result, Role } from "./base.js";
import type { ContentBlock, Resource, ResourceContents, ResourceTemplate } from "./content.js";

/** What a tool says about its own behaviour: hints, never guarantees. */
export interface ToolAnnotations {
  title?: string;
  readOnlyHint?: boolean;
  destructiveHint?: boolean;
  idempotentHint?: boolean;
  openWorldHint?: boolean;
}

/** The schema of a tool's arguments: always of an object. */
export interface ToolInputSchema extends JsonSchema {
  type: "object";
}

/** How a tool stands to calls that run as tasks. */
export interface ToolExecution {
  taskSupport?: "required" | "optional" | "forbidden";
}

/** A function the model may call. */
export interface Tool extends BaseMetadata {
  description?: string;
  inputSchema: ToolInputSchema;
  outputSchema?: JsonSchema;
  annotations?: ToolAnnotations;
  execution?: ToolExecution;
  icons?: Icon[];
  _meta?: Meta;
}

/** What a call of a tool gave. A tool's own failure is a result with `isError`. */
export interface CallToolResult extends Result {
  resultType?: "complete";
  content: ContentBlock[];
  structuredContent?: unknown;
  isError?: boolean;
}

/** One argument that a prompt takes. */
export interface PromptArgument extends BaseMetadata {
  description?: string;
  required?: boolean;
}

/** A message template the user may pick. */
export interface Prompt extends BaseMetadata {
  description?: string;
  arguments?: PromptArgument[];
  icons?: Icon[];
  _meta?: Meta;
}

/** One message of a filled-in prompt. */
export interface PromptMessage {
  role: Role;
  content: ContentBlock;
}

/** A prompt with its arguments filled in. */
export interface GetPromptResult extends Result {
  resultType?: "complete";
  description?: string;
  messages: PromptMessage[];
}

/** What was read: one resource, or several where the address names a collection. */
export interface ReadResourceResult extends CacheableResult {
  contents: ResourceContents[];
}

/** One page of tools. */
export interface ListToolsResult extends PaginatedResult {
  tools: Tool[];
}

/** One page of prompts. */
export interface ListPromptsResult extends PaginatedResult {
  prompts: Prompt[];
}

/** One page of resources. */
export interface ListResourcesResult extends PaginatedResult {
  resources: Resource[];
}

/** One page of resource templates. */
export interface ListResourceTemplatesResult extends PaginatedResult {
  resourceTemplates: ResourceTemplate[];
}

/** Completion is asked for an argument of this prompt. */
export interface PromptReference {
  type: "ref/prompt";
  name: string;
  title?: string;
}

/** Completion is asked for a variable of this resource template. */
export interface ResourceTemplateReference {
  type: "ref/resource";
  uri: string;
}

/** What a completion is asked for. */
export type CompletionReference = PromptReference | ResourceTemplateReference;

/** Suggestions, best first. */
export interface Completion {
  /** At most 100. */
  values: string[];
  /** How many there are in all. */
  total?: number;
  hasMore?: boolean;
}

/** Suggestions for the value of one argument. */
export interface CompleteResult extends Result {
  resultType?: "complete";
  completion: Completion;
}
