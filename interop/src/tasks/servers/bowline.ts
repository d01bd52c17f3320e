import { setTimeout as sleep } from "node:timers/promises";
import { serveHttp, serveStdio } from "bowline/node";
import { McpServer, RpcError } from "bowline/server";
import { tasks } from "bowline/tasks/server";
import * as z from "zod";
import { ledger } from "../../servers/ledger.js";
import { announce, inputEnd } from "../../servers/listen.js";
import { FAILURE } from "../checks.js";

/**
 * Bowline's own server of tasks, in both eras: `node bowline.js stdio|http|lenient <folder>`. `lenient` is HTTP for
 * clients that send no `Mcp-Name`.
 */
const [mode] = process.argv.slice(2);

const name = z.object({ name: z.string() });
const server = new McpServer({ name: "interop-tasks", version: "1.0.0" })
  .extend(tasks({ pollIntervalMs: 100, requireName: mode !== "lenient" }))
  .tool("plain", {}, () => "plain")
  .tool("seen", { input: z.object({ key: z.string(), what: z.string() }) }, ({ key, what }) => ledger.seen(key, what))
  .tool("slow", { input: z.object({ text: z.string() }), task: "optional" }, async ({ text }) => {
    await sleep(200);
    return text;
  })
  .tool("always", { task: "required" }, () => "always")
  .tool("broken", { task: "optional" }, () => ({ content: [{ type: "text", text: "no paper" }], isError: true }))
  .tool("failing", { task: "optional" }, () => {
    throw new RpcError(FAILURE, "no ink");
  })
  .tool("wait", { input: z.object({ key: z.string() }), task: "optional" }, async ({ key }, ctx) => {
    await ledger.untilCancelled(key, ctx.signal);
    return "ended";
  })
  .tool("ask", { task: "optional" }, async (_, ctx) => {
    const { content } = await ctx.elicit("Your name?", name);
    return `Hello, ${content?.name}!`;
  })
  .tool("pair", { task: "optional" }, async (_, ctx) => {
    const answers = await Promise.all([ctx.elicit("First?", name), ctx.elicit("Second?", name)]);
    return answers.map(({ content }) => content?.name).join(" and ");
  })
  .tool("promoted", { input: z.object({ ms: z.string() }), task: { promoteAfterMs: 150 } }, async ({ ms }) => {
    await sleep(Number(ms));
    return "promoted";
  });

if (mode === "stdio") await serveStdio(server);
else {
  const running = await serveHttp(server);
  announce(running.url);
  await inputEnd();
  await running.close();
}
