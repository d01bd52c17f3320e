import { RpcError } from "../protocol/errors.js";
import { INVALID_PARAMS } from "../protocol/jsonrpc/errors.js";
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

const RESOURCE_NOT_FOUND = -32002;
/** Many servers say it in these words alone. */
const SAID = /\bResource \S+ not found$/;

/**
 * Whether a read failed because the server has no such resource: versions differ in the code for it. The same codes mean
 * something else, or nothing, as answers to other methods.
 */
export function isResourceNotFound(error: unknown): boolean {
  if (!(error instanceof RpcError) || error.local || error.method !== "resources/read") return false;
  const { rpcCode, data, message } = error;
  // Bad params that are not about the resource name none.
  const namesUri = typeof data === "object" && data !== null && typeof (data as { uri?: unknown }).uri === "string";
  return rpcCode === RESOURCE_NOT_FOUND || (rpcCode === INVALID_PARAMS && (namesUri || SAID.test(message)));
}

/** What people call something that a server lists: its title, for tools also the one in its annotations, else its name. */
export function displayName(item: {
  readonly name: string;
  readonly title?: string | undefined;
  readonly annotations?: object | undefined;
}): string {
  const { title } = (item.annotations ?? {}) as { readonly title?: unknown };
  return item.title || (typeof title === "string" && title) || item.name;
}
