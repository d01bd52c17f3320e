import type { Problem } from "./json.js";
import type { CreateMessageParams, CreateMessageResult, SamplingContent, SamplingMessage } from "./types/index.js";

/**
 * Returns the first problem of a conversation that the check of its shape does not find. Only the assistant uses tools,
 * with different ids, and only the user sends their results. A message with tool results must contain nothing else.
 * Every tool use must have exactly one result in the next message.
 */
export function findSamplingProblem({ messages }: CreateMessageParams): Problem | undefined {
  let open: readonly string[] = [];
  for (const [index, message] of messages.entries()) {
    const blocks = blocksOf(message);
    const results = blocks.flatMap((block) => (block.type === "tool_result" ? [block.toolUseId] : []));
    const uses = blocks.flatMap((block) => (block.type === "tool_use" ? [block.id] : []));
    const expected =
      misplaced(message, blocks, results.length, uses.length) ?? unbalanced(open, results) ?? repeated(uses);
    if (expected !== undefined) return { path: `/messages/${index}/content`, expected };
    open = uses;
  }
  if (open.length === 0) return undefined;
  return {
    path: `/messages/${messages.length}`,
    expected: "a message with the results of the tool_use blocks of the previous message",
  };
}

/** Returns the problem of a model's answer, given the request. The model may use tools only if they were offered. */
export function findSamplingAnswerProblem(
  params: CreateMessageParams,
  result: CreateMessageResult,
): Problem | undefined {
  const usesTool = blocksOf(result).some((block) => block.type === "tool_use");
  if (!usesTool) return undefined;
  if (params.tools === undefined) return { path: "/content", expected: "free of tool_use: no tools were offered" };
  if (toolChoiceOf(params) === "none") return { path: "/content", expected: "free of tool_use: toolChoice is none" };
  return undefined;
}

/** Returns the tool choice of a request. */
export function toolChoiceOf(params: CreateMessageParams): "auto" | "required" | "none" {
  return params.toolChoice?.mode ?? "auto";
}

function blocksOf({ content }: SamplingMessage | CreateMessageResult): readonly SamplingContent[] {
  return Array.isArray(content) ? content : [content];
}

function misplaced(
  { role }: SamplingMessage,
  blocks: readonly SamplingContent[],
  results: number,
  uses: number,
): string | undefined {
  if (uses > 0 && role !== "assistant") return "free of tool_use: only the assistant uses tools";
  if (results === 0) return undefined;
  if (role !== "user") return "free of tool_result: results come from the user";
  return results === blocks.length ? undefined : "only tool_result blocks, since it contains one";
}

function unbalanced(uses: readonly string[], results: readonly string[]): string | undefined {
  const same = uses.length === results.length && uses.every((id) => results.includes(id));
  return same ? undefined : "exactly one tool_result for each tool_use of the previous message";
}

function repeated(uses: readonly string[]): string | undefined {
  return new Set(uses).size === uses.length ? undefined : "tool_use blocks with different ids";
}
