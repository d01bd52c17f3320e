import type { ProtocolVersion } from "bowline/client";
import { type Client, type ClientOptions, connect } from "bowline/client";
import { authFor } from "./auth.js";
import { listSkills, refuseSkill } from "./skills.js";

/** Version that is an era of its own. */
const MODERN = "2026-07-28";

/** Parameters of a run that the suite gives. */
export interface Run {
  readonly url: string;
  /** Protocol version to use. */
  readonly version: string;
  readonly context: { readonly [key: string]: unknown };
}

export type Scenario = (run: Run) => Promise<void>;

const scenarios: ReadonlyMap<string, Scenario> = new Map<string, Scenario>([
  ["initialize", listTools],
  ["tools_call", callAddNumbers],
  ["elicitation-sep1034-client-defaults", acceptDefaults],
  ["sse-retry", callReconnecting],
  ["json-schema-2020-12-preservation", echoSchema],
  ["request-metadata", declareAll],
  ["sep-2322-client-request-state", answerInRounds],
  ["http-standard-headers", useEveryMethod],
  ["http-custom-headers", callAsTold],
  ["http-invalid-tool-headers", callAllExposed],
  ["json-schema-ref-no-deref", listTools],
  ["sep-2640-client-no-prefetch", withClient(listSkills)],
  ["sep-2640-client-verify-digest", withClient(refuseSkill)],
  ["sep-2640-client-verify-frontmatter", withClient(refuseSkill)],
  ["sep-2640-client-verify-size", withClient(refuseSkill)],
]);

/** Returns a scenario by its name. All scenarios about authorization are the same: connect, and call a tool. */
export function scenarioOf(name: string): Scenario | undefined {
  if (!name.startsWith("auth/")) return scenarios.get(name);
  return async (run) => {
    await using client = await open(run, await authFor(name, run.context, run.url));
    await toolsOf(client);
    await client.callTool("test-tool", {});
  };
}

function withClient(use: (client: Client) => Promise<void>): Scenario {
  return async (run) => {
    await using client = await open(run);
    await use(client);
  };
}

async function listTools(run: Run): Promise<void> {
  await using client = await open(run);
  await toolsOf(client);
}

async function callAddNumbers(run: Run): Promise<void> {
  await using client = await open(run);
  await toolsOf(client);
  await client.callTool("add_numbers", { a: 5, b: 3 });
}

async function acceptDefaults(run: Run): Promise<void> {
  await using client = await open(run, { onElicit: () => ({ action: "accept", content: {} }) });
  await toolsOf(client);
  await client.callTool("test_client_elicitation_defaults", {});
}

async function callReconnecting(run: Run): Promise<void> {
  await using client = await open(run);
  await toolsOf(client);
  await client.callTool("test_reconnection", {});
}

async function echoSchema(run: Run): Promise<void> {
  await using client = await open(run);
  const tool = (await toolsOf(client)).find(({ name }) => name === "json_schema_2020_12_tool");
  await client.callTool("json_schema_echo", { schema: tool?.inputSchema });
}

async function declareAll(run: Run): Promise<void> {
  await using client = await open(run, {
    roots: [{ uri: "file:///workspace" }],
    onElicit: () => ({ action: "decline" }),
    onSample: () => ({ role: "assistant", model: "none", content: { type: "text", text: "" } }),
  });
  await toolsOf(client);
}

async function answerInRounds(run: Run): Promise<void> {
  await using client = await open(run, { onElicit: () => ({ action: "accept", content: { confirmed: true } }) });
  await toolsOf(client);
  for (const name of ["echo_state", "no_state", "unrelated", "no_result_type"]) {
    await client.callTool(`test_mrtr_${name}`, {});
  }
}

async function useEveryMethod(run: Run): Promise<void> {
  await using client = await open(run);
  await toolsOf(client);
  await client.callTool("test_headers", {});
  for await (const _ of client.resources()) {
    // Requests all pages.
  }
  await client.readResource("file:///path/to/file%20name.txt");
  for await (const _ of client.prompts()) {
    // Requests all pages.
  }
  await client.getPrompt("test_prompt");
}

async function callAsTold(run: Run): Promise<void> {
  await using client = await open(run);
  await toolsOf(client);
  const calls = run.context.toolCalls as { name: string; arguments: Record<string, unknown> }[];
  for (const call of calls) await client.callTool(call.name, call.arguments);
}

async function callAllExposed(run: Run): Promise<void> {
  await using client = await open(run);
  for (const { name } of await toolsOf(client)) await client.callTool(name, { region: "us-west1" });
}

/** Connects. Only this version is allowed, but the client still negotiates it, as a host does. One version is not. */
function open({ url, version }: Run, options: ClientOptions = {}): Promise<Client> {
  const info = { name: "bowline-conformance", version: "1.0.0" };
  const allowed = version === MODERN ? { era: "modern" as const } : { versions: [version as ProtocolVersion] };
  return connect(url, { info, ...allowed, ...options });
}

async function toolsOf(client: Client) {
  const tools = [];
  for await (const tool of client.tools()) tools.push(tool);
  return tools;
}
