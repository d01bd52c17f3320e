import { lazyModule } from "../../call/lazy.js";
import { andThen, type MaybePromise } from "../../call/maybe-promise.js";
import type { Check } from "../../protocol/json.js";
import type { CallToolResult, ContentBlock, InputRequiredResult } from "../../protocol/types/index.js";
import type { SchemaIssue } from "../../schema/json-schema/types.js";
import { isContentBlock, text } from "./content.js";

/** A result that an author put together by hand. Made by `toolResult`. */
export class ToolResult {
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
  if (typeof value === "string") return { content: [text(value)] };
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

/** What keeps content from being sent. Plain text, which cannot be wrong, is passed over, and needs no promise. */
export function contentProblem(content: readonly ContentBlock[]): MaybePromise<string | undefined> {
  if (content.every(({ type }) => type === "text")) return undefined;
  return andThen(contentChecks(), ({ contentBlock }) => problemIn(content, contentBlock));
}

function problemIn(content: readonly ContentBlock[], check: Check): string | undefined {
  for (const [index, block] of content.entries()) {
    const problem = block.type === "text" ? undefined : check(block);
    if (problem !== undefined) return `/content/${index}${problem.path} must be ${problem.expected}`;
  }
  return undefined;
}

/** All issues with their places, so that one more attempt can mend them all. */
export function describeIssues(issues: readonly SchemaIssue[]): string {
  return issues.map(({ path, message }) => `${path || "/"} ${message}`).join("; ");
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

/** What results of authors are held to, loaded with the first that is more than text. */
export const contentChecks = lazyModule(() => import("../../protocol/shapes/content.js"));
