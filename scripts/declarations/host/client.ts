import { bearer, clientCredentials, createAuthSteps, oauth } from "bowline/auth/client";
import { connect, createGroup, memoryCache, retry } from "bowline/client";
import { traceClient } from "bowline/otel";
import { SkillCatalogue, SkillsClient } from "bowline/skills/client";
import { withFaults } from "bowline/testing";
import { Harbour, loose, type modern, server } from "harbour";
import * as z from "zod";

type Exactly<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false;
function isExactly<A, B>(_same: Exactly<A, B>): void {}

export const client = await connect<typeof server>(server, { interceptors: [traceClient(), retry()] });
export const plain = connect(
  "https://b.example/mcp",
  oauth({ issuer: "https://a.example", client: { id: "a", secret: "b" }, grant: clientCredentials() }),
);
export const token = bearer({ token: () => "a" });
export const login = oauth({ redirectUrl: "http://127.0.0.1/", authorize: () => undefined });
export const steps = createAuthSteps("https://b.example/mcp");
export const store = memoryCache();
export const group = createGroup<{ harbour: typeof server; modern: typeof modern }>({ mcpServers: {} });
export const untyped = await connect<typeof loose>(loose);
export const faulty = withFaults(new Harbour().pair[0], {});

/** Uses the types of a server through its declarations. */
export async function useServer() {
  const forecast = await client.callTool("zod", { city: "Oslo" });
  isExactly<typeof forecast.structured, { celsius: number }>(true);
  const { structured } = await client.callTool("valibot", { id: 1 });
  isExactly<typeof structured, { name: string }>(true);
  const { length } = (await client.callTool("arktype", { word: "knot" })).structured;
  isExactly<typeof length, number>(true);
  // @ts-expect-error no such tool
  await client.callTool("zot");
  // @ts-expect-error no such tool
  await group.callTool("harbour__zot");
  // @ts-expect-error the city is missing
  await group.callTool("harbour__zod", {});
  await client.callTool("late");
  await client.getPrompt("bye");
  await untyped.callTool("any", { a: 1 });
  await group.callTool("other__any", { a: 1 });
  await group.callTool(`harbour__${String("plain")}`);
  await (await group.client("other")).callTool("any");
  // @ts-expect-error the city is a text
  await client.callTool("zod", { city: 1 });
  // @ts-expect-error the id is a number
  await client.callTool("valibot", { id: "1" });
  // @ts-expect-error the word is a text
  await client.callTool("arktype", { word: 1 });
  // @ts-expect-error the code is missing
  await client.getPrompt("review", {});
  // @ts-expect-error the id is missing
  await client.readResource("note://{id}", { variables: {} });
  return { forecast, group: await group.callTool("harbour__zod", { city: "Oslo" }) };
}

/** Values with inferred types of all kinds. The compiler must be able to name them. */
export const uses = {
  tools: () => client.tools(),
  list: () => client.listTools(),
  prompt: () => client.getPrompt("review", { code: "a" }),
  read: () => client.readResource("note://{id}", { variables: { id: "a" } }),
  complete: () => client.complete({ type: "ref/prompt", name: "hello" }, { name: "name", value: "" }),
  watch: () => client.watch({ toolsListChanged: true }),
  discover: () => client.discover(),
  request: () => client.request("com.example/count", { from: 1 }),
  manual: () => client.request("tools/call", { name: "plain" }, { input: "manual" }),
  result: () => client.request("com.example/count", { from: 1 }, { result: z.object({ from: z.number() }) }),
  checked: () => client.callTool("json", {}, { output: z.object({ a: z.number() }) }),
  server: () => client.server,
  saved: () => ({ prior: client.prior, session: client.session, stats: client.cacheStats }),
  group: () => ({ tools: group.tools(), watch: group.watch(), status: group.status() }),
};

export const skills = new SkillsClient(client);
export const catalogue = new SkillCatalogue(group, { approve: () => true });
export const loaded = {
  list: () => skills.list(),
  held: () => skills.load("skill://a/SKILL.md"),
  approved: () => catalogue.load({ server: "a", uri: "skill://a/SKILL.md" }),
  everything: () => catalogue.list(),
};
