import type { JsonObject, Meta, Role } from "./base.js";
import type { AudioContent, ContentBlock, ImageContent, TextContent } from "./content.js";
import type { Tool } from "./features.js";

/** Call of a tool that the model requests. */
export interface ToolUseContent {
  type: "tool_use";
  id: string;
  name: string;
  input: { [argument: string]: unknown };
  _meta?: Meta;
}

/** Result of the tool call with the id `toolUseId`. */
export interface ToolResultContent {
  type: "tool_result";
  toolUseId: string;
  content: ContentBlock[];
  structuredContent?: unknown;
  isError?: boolean;
  _meta?: Meta;
}

/** Block of content in a message to or from a model. */
export type SamplingContent = TextContent | ImageContent | AudioContent | ToolUseContent | ToolResultContent;

/** Message to or from a model. */
export interface SamplingMessage {
  role: Role;
  content: SamplingContent | SamplingContent[];
  _meta?: Meta;
}

/** Part of a model name that the server prefers. */
export interface ModelHint {
  name?: string;
}

/** Preferences of the server for the choice of a model. Each priority is from 0 to 1. */
export interface ModelPreferences {
  hints?: ModelHint[];
  costPriority?: number;
  speedPriority?: number;
  intelligencePriority?: number;
}

/** Controls whether the model may, must or must not use tools. */
export interface ToolChoice {
  mode?: "auto" | "required" | "none";
}

/** Parameters of a sampling request to the client's model. */
export interface CreateMessageParams {
  messages: SamplingMessage[];
  maxTokens: number;
  systemPrompt?: string;
  modelPreferences?: ModelPreferences;
  /**
   * Context of MCP servers to include in the prompt. Only `none` remains in the protocol permanently.
   * @deprecated by SEP-2596; may be removed in the first protocol revision released on or after 28 July 2027.
   */
  includeContext?: "none" | "thisServer" | "allServers";
  temperature?: number;
  stopSequences?: string[];
  metadata?: JsonObject;
  tools?: Tool[];
  toolChoice?: ToolChoice;
  _meta?: Meta;
}

/** Reason why the model stopped. Other strings are allowed. */
export type StopReason = "endTurn" | "stopSequence" | "maxTokens" | "toolUse" | (string & {});

/** Message of the client's model. */
export interface CreateMessageResult {
  role: Role;
  content: SamplingContent | SamplingContent[];
  model: string;
  stopReason?: StopReason;
  _meta?: Meta;
}
