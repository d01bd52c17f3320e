import { serveHttp, serveStdio } from "bowline/node";
import { type Context, detachStream, McpServer } from "bowline/server";
import * as z from "zod";
import { openCluster, stateKeys } from "./cluster.js";
import { ledger } from "./ledger.js";
import { announce, inputEnd } from "./listen.js";
import * as words from "./words.js";

/**
 * Bowline's own server, in both eras unless told `newest`: `node bowline.js stdio|http|json|resumable|newest`. With `redis`
 * or `postgres` it is one of several nodes that share their sessions by that engine.
 */
const mode = process.argv[2] ?? "stdio";
const cluster = mode === "redis" || mode === "postgres" ? await openCluster(mode) : undefined;

const server = new McpServer(
  { name: words.SERVER_NAME, version: "1.0.0" },
  {
    capabilities: { logging: true },
    http: {
      responseMode: mode === "json" ? "prefer-json" : "auto",
      resumable: mode === "resumable" || cluster !== undefined,
    },
    cluster,
    stateKeys,
    ...(mode === "newest" && { versions: ["2026-07-28"] }),
  },
)
  .tool("echo", { input: z.object({ text: z.string() }) }, ({ text }) => text)
  .tool("count", { input: z.object({ to: z.int(), key: z.string(), cut: z.boolean().optional() }) }, count)
  .tool(
    "add",
    { input: z.object({ a: z.number(), b: z.number() }), output: z.object({ sum: z.number() }) },
    ({ a, b }) => ({ sum: a + b }),
  )
  .tool("fail", {}, () => {
    throw new Error(words.FAILURE);
  })
  .tool("wait", { input: z.object({ key: z.string() }) }, async ({ key }, ctx) => {
    await ledger.untilCancelled(key, ctx.signal);
    return words.ENDLESS;
  })
  .tool("seen", { input: z.object({ key: z.string(), what: z.string() }) }, ({ key, what }) => ledger.seen(key, what))
  .tool("note", { input: z.object({ key: z.string() }) }, ({ key }) => ledger.note(key, "heard"))
  .tool("ask", {}, async (_, ctx) => {
    const answer = await ctx.elicit(words.QUESTION, z.object({ colour: z.string() }));
    return words.chosen(answer.action, answer.content?.colour);
  })
  .tool("sample", {}, async (_, ctx) => {
    const messages = [{ role: "user" as const, content: { type: "text" as const, text: "knot?" } }];
    const { content } = await ctx.sample({ messages, maxTokens: 10 });
    return [content].flat().map((block) => (block.type === "text" ? block.text : ""))[0];
  })
  .tool("roots", {}, async (_, ctx) => (await ctx.listRoots()).map(({ uri }) => uri).join(" "))
  .tool("log", {}, async (_, ctx) => {
    await ctx.log("debug", "too much");
    await ctx.log("info", "logged");
  })
  .tool("touch", { input: z.object({ uri: z.string().optional() }) }, ({ uri }): void => {
    if (uri === undefined) changes.toolsChanged();
    else changes.resourceUpdated(uri);
  })
  .resource(words.NOTE_URI, { name: "pinned" }, () => words.NOTE_TEXT)
  .resource(words.TEMPLATE, { name: "numbered" }, ({ id }) => words.numbered(String(id)))
  .prompt(
    "greet",
    { arguments: z.object({ city: z.string() }), complete: { city: (start: string) => words.suggested(start) } },
    ({ city }) => words.greeting(city),
  );

const { changes } = server;

/** Reports progress and, if `cut` is set, closes the stream after the first report, so that the client resumes it. */
async function count({ to, key, cut }: { to: number; key: string; cut?: boolean }, ctx: Context): Promise<string> {
  for (let i = 1; i <= to; i++) {
    await ctx.progress(i, to, `step ${i}`);
    if (cut === true && i === 1) detachStream(ctx, 10);
  }
  await ledger.seen(key, "heard");
  return `counted to ${to}`;
}

if (mode === "stdio") await serveStdio(server);
else {
  const running = await serveHttp(server);
  announce(running.url);
  await inputEnd();
  await running.close();
  await cluster?.close();
}
