import { InputRequiredError, OutputError, RpcError } from "../protocol/errors.js";
import { INVALID_PARAMS } from "../protocol/jsonrpc/errors.js";
import type {
  CallToolResult,
  CompleteResult,
  ContentBlock,
  DiscoverResult,
  GetPromptResult,
  InputRequiredResult,
  ListPromptsResult,
  ListResourcesResult,
  ListResourceTemplatesResult,
  ListToolsResult,
  Meta,
  ReadResourceResult,
} from "../protocol/types/index.js";
import { parseStandard, type StandardSchema } from "../schema/standard-schema.js";

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

/** The outcome of a tool, once its result is known to fit, with the structured value as the caller's own schema reads it. */
export async function toParsedOutcome(
  tool: string,
  result: CallToolResult,
  schema: StandardSchema | undefined,
  fits: void | Promise<void>,
): Promise<ToolOutcome> {
  await fits;
  if (schema === undefined || result.isError === true) return toToolOutcome(result);
  const parsed = await parseStandard(schema, result.structuredContent);
  if (!parsed.ok) throw new OutputError(tool, parsed.issues, result);
  return toToolOutcome({ ...result, structuredContent: parsed.value });
}

/** The result itself. Throws for one that asks for input, which only a caller of `request` can answer by hand. */
export function completed<Result extends object>(method: string, result: Result | InputRequiredResult): Result {
  if ((result as InputRequiredResult).resultType !== "input_required") return result as Result;
  const message = `${method}: the server answered with input_required; answer its requests and call again`;
  throw new InputRequiredError("input_required", message, result as InputRequiredResult);
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
