import type { BaseMetadata, CacheableResult, Icon, JsonSchema, Meta, PaginatedResult, Result, Role } from "./base.js";
import type { ContentBlock, Resource, ResourceContents, ResourceTemplate } from "./content.js";

/** Hints about the behaviour of a tool. They are not guarantees. */
export interface ToolAnnotations {
  /** Name for people. A tool's own `title` comes first. */
  title?: string;
  /** The tool changes nothing. */
  readOnlyHint?: boolean;
  /** The tool may delete or overwrite. Hosts assume so if it is not set. */
  destructiveHint?: boolean;
  /** Calling the tool again with the same arguments changes nothing more. */
  idempotentHint?: boolean;
  /** The tool reaches beyond the server, such as the web. Hosts assume so if it is not set. */
  openWorldHint?: boolean;
}

/** Schema of a tool's arguments, which are always an object. */
export interface ToolInputSchema extends JsonSchema {
  type: "object";
}

/** Execution properties of a tool, such as its support for tasks. */
export interface ToolExecution {
  taskSupport?: "required" | "optional" | "forbidden";
}

/** Function that the model may call. */
export interface Tool extends BaseMetadata {
  description?: string;
  inputSchema: ToolInputSchema;
  outputSchema?: JsonSchema;
  annotations?: ToolAnnotations;
  execution?: ToolExecution;
  icons?: Icon[];
  _meta?: Meta;
}

/** Result of a tool call. A failure of the tool itself is a result with `isError`. */
export interface CallToolResult extends Result {
  resultType?: "complete";
  content: ContentBlock[];
  structuredContent?: unknown;
  isError?: boolean;
}

/** Argument of a prompt. */
export interface PromptArgument extends BaseMetadata {
  description?: string;
  required?: boolean;
}

/** Message template that the user can select. */
export interface Prompt extends BaseMetadata {
  description?: string;
  arguments?: PromptArgument[];
  icons?: Icon[];
  _meta?: Meta;
}

/** Message of a prompt whose arguments are filled in. */
export interface PromptMessage {
  role: Role;
  content: ContentBlock;
}

/** Prompt whose arguments are filled in. */
export interface GetPromptResult extends Result {
  resultType?: "complete";
  description?: string;
  messages: PromptMessage[];
}

/** Contents that were read. There are several if the URI names a collection. */
export interface ReadResourceResult extends CacheableResult {
  contents: ResourceContents[];
}

/** Page of tools. */
export interface ListToolsResult extends PaginatedResult {
  tools: Tool[];
}

/** Page of prompts. */
export interface ListPromptsResult extends PaginatedResult {
  prompts: Prompt[];
}

/** Page of resources. */
export interface ListResourcesResult extends PaginatedResult {
  resources: Resource[];
}

/** Page of resource templates. */
export interface ListResourceTemplatesResult extends PaginatedResult {
  resourceTemplates: ResourceTemplate[];
}

/** Reference to the prompt whose argument is completed. */
export interface PromptReference {
  type: "ref/prompt";
  name: string;
  title?: string;
}

/** Reference to the resource template whose variable is completed. */
export interface ResourceTemplateReference {
  type: "ref/resource";
  uri: string;
}

/** Target of a completion request. */
export type CompletionReference = PromptReference | ResourceTemplateReference;

/** Suggestions, best first. */
export interface Completion {
  /** Suggested values, at most 100. */
  values: string[];
  /** Total number of suggestions. */
  total?: number;
  hasMore?: boolean;
}

/** Suggestions for the value of an argument. */
export interface CompleteResult extends Result {
  resultType?: "complete";
  completion: Completion;
}
