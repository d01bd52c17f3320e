import type { JsonObject, Meta, Role } from "./base.js";
import type { AudioContent, ContentBlock, ImageContent, TextContent } from "./content.js";
import type { Tool } from "./features.js";

/** The model wants a tool called. */
export interface ToolUseContent {
  type: "tool_use";
  id: string;
  name: string;
  input: { [argument: string]: unknown };
  _meta?: Meta;
}

/** What the tool call with that id gave. */
export interface ToolResultContent {
  type: "tool_result";
  toolUseId: string;
  content: ContentBlock[];
  structuredContent?: unknown;
  isError?: boolean;
  _meta?: Meta;
}

/** One piece of a message to or from a model. */
export type SamplingContent = TextContent | ImageContent | AudioContent | ToolUseContent | ToolResultContent;

/** A message to or from a model. */
export interface SamplingMessage {
  role: Role;
  content: SamplingContent | SamplingContent[];
  _meta?: Meta;
}

/** A part of a model's name that the server would like. */
export interface ModelHint {
  name?: string;
}

/** What matters to the server in the choice of a model; each priority from 0 to 1. */
export interface ModelPreferences {
  hints?: ModelHint[];
  costPriority?: number;
  speedPriority?: number;
  intelligencePriority?: number;
}

/** Whether the model may, must or must not use tools. */
export interface ToolChoice {
  mode?: "auto" | "required" | "none";
}

/** What the server asks of the client's model. */
export interface CreateMessageParams {
  messages: SamplingMessage[];
  maxTokens: number;
  systemPrompt?: string;
  modelPreferences?: ModelPreferences;
  /**
   * Only `none` is there to stay.
   * @deprecated by SEP-2596; may go with the first revision that is released on or after 28 July 2027.
   */
  includeContext?: "none" | "thisServer" | "allServers";
  temperature?: number;
  stopSequences?: string[];
  metadata?: JsonObject;
  tools?: Tool[];
  toolChoice?: ToolChoice;
  _meta?: Meta;
}

/** Why a model stopped; other words are allowed. */
export type StopReason = "endTurn" | "stopSequence" | "maxTokens" | "toolUse" | (string & {});

/** What the client's model said. */
export interface CreateMessageResult {
  role: Role;
  content: SamplingContent | SamplingContent[];
  model: string;
  stopReason?: StopReason;
  _meta?: Meta;
}
