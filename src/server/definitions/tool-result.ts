import { isInstance } from "../../protocol/brand.js";
import { DefinitionError, ToolError, toError } from "../../protocol/errors.js";
import type { Problem } from "../../protocol/json.js";
import { BYTES, findLost } from "../../protocol/json-value.js";
import { contentBlock } from "../../protocol/shapes/content.js";
import type { CallToolResult, ContentBlock, InputRequiredResult, Meta } from "../../protocol/types/index.js";
import type { JsonSchema } from "../../schema/json-schema/types.js";
import type { Context } from "../context.js";
import { CONTENT_TYPES, isContentBlock, text } from "./content.js";

/** Complete result of a tool. Created by {@link toolResult}. */
export class ToolResult {
  protected static readonly bowline: string = "ToolResult";
  static readonly [Symbol.hasInstance]: (value: unknown) => boolean = isInstance;
  readonly result: CallToolResult;

  /** @internal */
  constructor(result: CallToolResult) {
    this.result = result;
  }
}

/** Creates a result with custom content, with or without a structured value. */
export function toolResult(
  result: Omit<CallToolResult, "content"> & { content?: ContentBlock[] | undefined },
): ToolResult {
  return new ToolResult({ ...result, content: result.content ?? [] } as CallToolResult);
}

/** Result in MCP's own shape. A tool with an output schema may return it instead of the plain value. */
export type PlainToolResult<S> =
  | { readonly content: readonly ContentBlock[]; readonly structuredContent: S; readonly _meta?: Meta }
  | { readonly content: readonly ContentBlock[]; readonly isError: boolean; readonly _meta?: Meta };

/**
 * Returns the complete result that a handler created: by `toolResult`, or, for a tool with an output schema, as an
 * object in MCP's own shape. A schema with a property `content` excludes the latter.
 */
export function resultOf(value: unknown, output: JsonSchema | undefined): CallToolResult | undefined {
  if (value instanceof ToolResult) return value.result;
  if (output === undefined || typeof value !== "object" || value === null || !isResult(value)) return undefined;
  return "content" in ((output.properties as object | undefined) ?? {}) ? undefined : value;
}

/** Creates a result with an error message for the model. */
export function failed(message: string): CallToolResult {
  return { content: [text(message)], isError: true };
}

/** Beginning of the codes of failures of the state that processes share. */
const STATE = "cluster_";

/**
 * Returns what the model is told of an error that a handler threw. The message of a failure of the state that processes
 * share names hosts, statements and keys, so it is for the author only. A handler may have had effects before it failed, so
 * no such failure says that the call can be repeated safely.
 */
export function toldOf(error: unknown): string {
  const { code } = Object(error) as { readonly code?: unknown };
  if (typeof code !== "string" || !code.startsWith(STATE)) return toError(error, "the tool").message;
  if (code === `${STATE}unavailable`)
    return "The tool failed: the state of the server is not available. Try again later";
  if (code === `${STATE}unknown_outcome`)
    return "The tool failed: the state of the server is not available, and a change of it may have been made";
  return "The tool failed: the server could not read or change its state";
}

export function isInputRequired(value: unknown): value is InputRequiredResult {
  return (
    typeof value === "object" && value !== null && (value as { resultType?: unknown }).resultType === "input_required"
  );
}

/** Converts the return value of a tool without an output schema to a result. */
export function toContent(value: unknown): CallToolResult {
  if (value === undefined || value === null) return { content: [] };
  if (typeof value === "string") return { content: [{ type: "text", text: value }] };
  if (isContentBlock(value)) return { content: [value] };
  if (isContent(value)) return { content: value };
  return isResult(value) ? mirrored(value) : structured(value);
}

/** Creates a result with a structured value, and with its JSON as text for clients that read text only. */
export function structured(value: unknown): CallToolResult {
  return { content: [text(written(value))], structuredContent: value };
}

/** Adds the JSON of the structured value as text if the content has no text. */
export function mirrored(result: CallToolResult): CallToolResult {
  const { structuredContent, content, isError } = result;
  if (structuredContent === undefined) return result;
  if (isError === true || content.some(({ type }) => type === "text")) {
    assertKept(structuredContent, []);
    return result;
  }
  return { ...result, content: [...content, text(written(structuredContent))] };
}

/** Returns the reason why content cannot be sent. */
export function contentProblem(content: readonly ContentBlock[]): string | undefined {
  for (const [index, block] of content.entries()) {
    if (block?.type === "text" && typeof block.text === "string") continue;
    const problem = isContentBlock(block) ? contentBlock(block) : UNKNOWN_TYPE;
    if (problem !== undefined)
      return `/content/${index}${problem.path} must be ${problem.expected}; for data, use toolResult({ structuredContent })`;
  }
  return undefined;
}

const UNKNOWN_TYPE: Problem = { path: "/type", expected: CONTENT_TYPES.join(" or ") };

export function isGenerator(value: unknown): value is AsyncGenerator<unknown, unknown, void> {
  return (
    typeof value === "object" &&
    value !== null &&
    Symbol.asyncIterator in value &&
    typeof (value as { next?: unknown }).next === "function"
  );
}

/**
 * True for an object in the shape of a `tools/call` result. Either all content has a known type, or the object has only
 * members of a result. So a misspelt type is refused instead of sent as data. An empty `content` beside other
 * members may be an empty page of data.
 */
function isResult(value: object): value is CallToolResult {
  const { content } = value as { content?: unknown };
  if (!Array.isArray(content)) return false;
  const isMember = (name: string) => /^(content|structuredContent|isError|_meta)$/.test(name);
  const isShown = (content.length > 0 || "isError" in value) && content.every(isContentBlock);
  return isShown || (content.every(hasType) && Object.keys(value).every(isMember));
}

/** True for a list of blocks, at least one of which has a known type. */
function isContent(value: unknown): value is ContentBlock[] {
  return Array.isArray(value) && value.every(hasType) && value.some(isContentBlock);
}

function hasType(value: unknown): boolean {
  return typeof (value as { type?: unknown } | null | undefined)?.type === "string";
}

/** Returns the JSON of a value. Throws if JSON would drop a part or write it without its contents. */
function written(value: unknown): string {
  let json: string;
  try {
    json = JSON.stringify(value);
  } catch (cause) {
    assertKept(value, []);
    throw cause;
  }
  assertKept(value);
  return json;
}

/** Throws for a value of which JSON loses a part. */
function assertKept(value: unknown, above?: object[]): void {
  const lost = findLost(value, above);
  if (lost === undefined) return;
  const remedy = lost.endsWith(BYTES) ? ", or return them by image(), audio() or embedded({ uri, blob })" : "";
  throw new TypeError(`value${lost}${remedy}`);
}

/** Handling of failures. `maskErrors` hides the message from the model. */
interface FailureOptions {
  readonly report: (error: unknown, tool: string) => void;
  readonly maskErrors: boolean;
}

/** Reports a schema that threw instead of returning issues. Throws a `ToolError` without details for the client. */
export function schemaThrew(name: string, what: string, cause: unknown, { report }: FailureOptions): never {
  report(new DefinitionError(`tool "${name}": its ${what} schema threw an error`, { cause }), name);
  throw new ToolError(`The ${what} of tool ${name} could not be checked`);
}

/** Reports a return value that does not match the output schema. Returns a result with `isError`. */
export function nonconforming(name: string, problem: string, { report, maskErrors }: FailureOptions): CallToolResult {
  const message = `Tool ${name} returned ${problem}`;
  report(new DefinitionError(message), name);
  return failed(maskErrors ? "The tool failed" : message);
}

/**
 * Returns a result with `isError` for a `ToolError`. Throws for a value that cannot be written as JSON, since the model
 * cannot correct that.
 */
export function unwritable(name: string, error: unknown): CallToolResult {
  if (error instanceof ToolError) return failed(error.message);
  throw new TypeError(`Tool "${name}" returned a value that JSON cannot represent: ${toError(error).message}`, {
    cause: error,
  });
}

/**
 * Runs a generator. Sends yielded values as progress. Returns its return value, or, if that is undefined, all yielded
 * content. Stops the generator and throws when the signal aborts.
 */
export async function drain(generator: AsyncGenerator<unknown, unknown, void>, ctx: Context): Promise<unknown> {
  const shown: ContentBlock[] = [];
  for (;;) {
    const { done, value } = await generator.next();
    if (done === true) return value === undefined && shown.length > 0 ? shown : value;
    const { content } = toContent(value);
    for (const block of content) shown.push(block);
    await ctx.partial(content, textOf(content));
    if (ctx.signal.aborted) {
      await generator.return(undefined);
      throw ctx.signal.reason;
    }
  }
}

function textOf(content: readonly ContentBlock[]): string | undefined {
  const texts = content.flatMap((block) => (block.type === "text" ? [block.text] : []));
  return texts.length === 0 ? undefined : texts.join("\n");
}
