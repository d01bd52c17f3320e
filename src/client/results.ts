import type {
  CallToolResult,
  CompleteResult,
  ContentBlock,
  DiscoverResult,
  GetPromptResult,
  ListPromptsResult,
  ListResourcesResult,
  ListResourceTemplatesResult,
  ListToolsResult,
  Meta,
  ReadResourceResult,
} from "../protocol/types/index.js";

/** What each method of the specification answers with. */
export interface MethodResults {
  "tools/list": ListToolsResult;
  "tools/call": CallToolResult;
  "prompts/list": ListPromptsResult;
  "prompts/get": GetPromptResult;
  "resources/list": ListResourcesResult;
  "resources/templates/list": ListResourceTemplatesResult;
  "resources/read": ReadResourceResult;
  "completion/complete": CompleteResult;
  "server/discover": DiscoverResult;
}

/** What a tool came back with. */
export interface ToolOutcome<Structured = unknown> {
  readonly content: readonly ContentBlock[];
  /** The structured value, if the tool gives one. */
  readonly structured: Structured;
  /** The tool failed, and says so in its content. */
  readonly isError: boolean;
  /** All text of the content. */
  readonly text: string;
  readonly meta: Meta | undefined;
}

export function toToolOutcome<Structured>(result: CallToolResult): ToolOutcome<Structured> {
  const { content, structuredContent, isError, _meta } = result;
  return {
    content,
    structured: structuredContent as Structured,
    isError: isError === true,
    text: textOf(content),
    meta: _meta,
  };
}

function textOf(content: readonly ContentBlock[]): string {
  let text: string | undefined;
  for (const block of content) {
    if (block.type === "text") text = text === undefined ? block.text : `${text}\n${block.text}`;
  }
  return text ?? "";
}
