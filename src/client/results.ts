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

/** Result types of the methods of the specification. */
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

/** Outcome of a tool call. */
export interface ToolOutcome<Structured = unknown> {
  /** Content blocks: text, images, audio and resources. */
  readonly content: readonly ContentBlock[];
  /** Structured value of the result, if the tool returned one. */
  readonly structured: Structured;
  /** True if the tool failed. Its content describes the failure. */
  readonly isError: boolean;
  /** Text of all text content, joined by line breaks. */
  readonly text: string;
  /** Member `_meta` of the result. */
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

/**
 * Creates the outcome of a tool call after its result was checked. The structured value is the output of the caller's
 * schema.
 */
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

/** Returns the result. Throws if it requests input, which only a caller of `request` can handle manually. */
export function completed<Result extends object>(method: string, result: Result | InputRequiredResult): Result {
  if ((result as InputRequiredResult).resultType !== "input_required") return result as Result;
  const message = `${method}: the server requires input; set input to "auto", or answer the inputRequests by request()`;
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
/** Message of many servers, whose error has no other mark of a missing resource. */
const SAID = /\bResource \S+ not found$/;

/**
 * True if `resources/read` failed because the resource does not exist. The error code depends on the protocol version.
 * For other methods the same codes have other meanings.
 */
export function isResourceNotFound(error: unknown): boolean {
  if (!(error instanceof RpcError) || error.local || error.method !== "resources/read") return false;
  const { rpcCode, data, message } = error;
  // Other invalid params have no `uri` in their data.
  const namesUri = typeof data === "object" && data !== null && typeof (data as { uri?: unknown }).uri === "string";
  return rpcCode === RESOURCE_NOT_FOUND || (rpcCode === INVALID_PARAMS && (namesUri || SAID.test(message)));
}

/** Returns the name to display: the title, the title in the annotations of a tool, or the name. */
export function displayName(item: {
  readonly name: string;
  readonly title?: string | undefined;
  readonly annotations?: object | undefined;
}): string {
  const { title } = (item.annotations ?? {}) as { readonly title?: unknown };
  return item.title || (typeof title === "string" && title) || item.name;
}
