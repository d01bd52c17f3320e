import { isInstance } from "../../protocol/brand.js";
import { DefinitionError, ToolError, toError } from "../../protocol/errors.js";
import { contentBlock } from "../../protocol/shapes/content.js";
import type { CallToolResult, ContentBlock, InputRequiredResult } from "../../protocol/types/index.js";
import type { Context } from "../context.js";
import { isContentBlock, text } from "./content.js";

/** A result that an author put together by hand. Made by `toolResult`. */
export class ToolResult {
  protected static readonly bowline: string = "ToolResult";
  static readonly [Symbol.hasInstance]: (value: unknown) => boolean = isInstance;
  constructor(readonly result: CallToolResult) {}
}

/** A result with content of the author's own beside, or instead of, a structured value. */
export function toolResult(result: Omit<CallToolResult, "content"> & { content?: ContentBlock[] }): ToolResult {
  return new ToolResult({ ...result, content: result.content ?? [] } as CallToolResult);
}

/** What went wrong, for the model. */
export function failed(message: string): CallToolResult {
  return { content: [text(message)], isError: true };
}

export function isInputRequired(value: unknown): value is InputRequiredResult {
  return (
    typeof value === "object" && value !== null && (value as { resultType?: unknown }).resultType === "input_required"
  );
}

/** A result from what a handler of a tool without output schema returned. */
export function toContent(value: unknown): CallToolResult {
  if (value === undefined || value === null) return { content: [] };
  if (typeof value === "string") return { content: [{ type: "text", text: value }] };
  if (isContentBlock(value)) return { content: [value] };
  if (Array.isArray(value) && value.length > 0 && value.every(isContentBlock)) return { content: value };
  return isResult(value) ? mirrored(value) : structured(value);
}

/** A structured value, with its text for those who read no other. */
export function structured(value: unknown): CallToolResult {
  const written = JSON.stringify(value);
  if (written === undefined) throw new TypeError("a tool returned a value that JSON cannot express");
  return { content: [text(written)], structuredContent: value };
}

/** Adds the text of a structured value where the author gave no text. */
export function mirrored(result: CallToolResult): CallToolResult {
  const { structuredContent, content, isError } = result;
  if (structuredContent === undefined || isError === true || content.some(({ type }) => type === "text")) return result;
  return { ...result, content: [...content, text(JSON.stringify(structuredContent))] };
}

/** Tells why content cannot be sent. Plain text, which cannot be wrong, is passed over. */
export function contentProblem(content: readonly ContentBlock[]): string | undefined {
  for (const [index, block] of content.entries()) {
    const problem = block.type === "text" ? undefined : contentBlock(block);
    if (problem !== undefined) return `/content/${index}${problem.path} must be ${problem.expected}`;
  }
  return undefined;
}

export function isGenerator(value: unknown): value is AsyncGenerator<unknown, unknown, void> {
  return (
    typeof value === "object" &&
    value !== null &&
    Symbol.asyncIterator in value &&
    typeof (value as { next?: unknown }).next === "function"
  );
}

function isResult(value: object): value is CallToolResult {
  const { content } = value as { content?: unknown };
  return Array.isArray(content) && content.every(isContentBlock);
}

/** Who hears of failures, and whether the model does. */
interface FailureOptions {
  readonly report: (error: unknown, tool: string) => void;
  readonly maskErrors: boolean;
}

/** A library's schema may throw instead of saying what is wrong: that is nothing to tell a caller. */
export function schemaThrew(name: string, what: string, cause: unknown, { report }: FailureOptions): never {
  report(new DefinitionError(`tool "${name}" ${what}: its schema threw`, { cause }), name);
  throw new ToolError(`Tool ${name} could not check its ${what}`);
}

/** A tool did not keep to its output schema. */
export function nonconforming(name: string, problem: string, { report, maskErrors }: FailureOptions): CallToolResult {
  const message = `Tool ${name} has an output schema and returned ${problem}`;
  report(new DefinitionError(message), name);
  return failed(maskErrors ? "The tool failed" : message);
}

/** What cannot be written is a defect of the server that a model cannot mend. */
export function unwritable(name: string, error: unknown): CallToolResult {
  if (error instanceof ToolError) return failed(error.message);
  throw new TypeError(`tool "${name}" returned what JSON cannot hold: ${toError(error).message}`, { cause: error });
}

/**
 * Runs a generator to its end: what it yields is shown as progress, what it returns is the result. When it returns
 * nothing, all that it yielded is.
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
