import { type Client, type ClientOptions, RpcError } from "bowline/client";
import type { PublishedCall, PublishedServer } from "../published-servers.js";

/** What a client found at a server. A replay must show the same. */
export interface Visit {
  readonly server: unknown;
  readonly instructions: string | undefined;
  readonly tools: unknown;
  readonly prompts: unknown;
  readonly resources: unknown;
  readonly templates: unknown;
  readonly calls: readonly unknown[];
}

/** Tool that no server has. Each answers the call by itself, whether it has an account or not. */
const UNKNOWN: PublishedCall = { tool: "no-such-tool", arguments: {} };

/** Options of the clients that visit. They answer each question in the same way. */
export const VISITOR: ClientOptions = {
  info: { name: "interop", version: "1.0.0" },
  onElicit: () => ({ action: "accept", content: { name: "Aurora" } }),
  onSample: () => ({ role: "assistant", model: "interop", content: { type: "text", text: "a bowline" } }),
  roots: [{ uri: "file:///harbour", name: "harbour" }],
  warnDeprecated: false,
  logger: { error: () => {}, warn: () => {} },
};

/** Lists everything that a server offers, and makes the calls that need no network. */
export async function visit(client: Client, { calls = [] }: PublishedServer): Promise<Visit> {
  const { info, capabilities, instructions } = client.server;
  const has = (name: "tools" | "prompts" | "resources") => capabilities?.[name] !== undefined;
  const seen = {
    server: info,
    instructions,
    tools: has("tools") ? await outcomeOf(all(client.tools())) : [],
    prompts: has("prompts") ? await outcomeOf(all(client.prompts())) : [],
    resources: has("resources") ? await outcomeOf(all(client.resources())) : [],
    templates: has("resources") ? await outcomeOf(all(client.resourceTemplates())) : [],
  };
  const results: unknown[] = [];
  for (const call of [...calls, UNKNOWN]) results.push(await callOf(client, call));
  return JSON.parse(JSON.stringify({ ...seen, calls: results })) as Visit;
}

async function callOf(client: Client, { tool, arguments: args }: PublishedCall): Promise<object> {
  const progress: { readonly progress: number }[] = [];
  // The handler of a call that asks begins again in 2026-07-28, and so do its reports.
  const onProgress = (report: { readonly progress: number }) => {
    if (report.progress > (progress.at(-1)?.progress ?? 0)) progress.push(report);
  };
  const outcome = await outcomeOf(
    client.callTool(tool, args, { onProgress }).then((result) => ({
      content: result.content,
      structured: result.structured,
      isError: result.isError,
    })),
  );
  return { tool, outcome, progress };
}

/** Returns a result, or the error that the server answered with. */
async function outcomeOf(work: Promise<unknown>): Promise<unknown> {
  try {
    return await work;
  } catch (error) {
    if (error instanceof RpcError) return { error: error.rpcCode, message: error.message };
    throw error;
  }
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
}
