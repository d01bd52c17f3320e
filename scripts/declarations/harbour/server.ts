import { toStandardJsonSchema } from "@valibot/to-json-schema";
import { type } from "arktype";
import { createIssuer } from "bowline/auth/issuer";
import { authOf, introspectionVerifier, jwtVerifier, protect } from "bowline/auth/server";
import { McpServer as CompatServer, completable, Server as LowLevelServer, ResourceTemplate } from "bowline/compat";
import { jsonSchemaValidator } from "bowline/json-schema";
import { fileResource, serveHttp, serveStdio, skillFolder, toNodeListener } from "bowline/node";
import { traceServer } from "bowline/otel";
import {
  type Context,
  inputRequired,
  McpServer,
  ServerExtension,
  text,
  toolResult,
  withJsonSchema,
} from "bowline/server";
import { McpServer as ModernServer } from "bowline/server/modern";
import { skills } from "bowline/skills/server";
import { createArrayExchange, createChannelPair, FakeClock, WireRecorder } from "bowline/testing";
import * as v from "valibot";
import * as z from "zod";

declare module "bowline/server" {
  interface AuthInfo {
    readonly tenant?: string;
  }
}

export const issuer = createIssuer({
  issuer: "https://a.example",
  resources: ["https://b.example"],
  user: () => ({ id: "c" }),
});
export const gate = protect({
  resource: "https://b.example",
  authorizationServers: ["https://a.example"],
  verify: jwtVerifier({ issuer: "https://a.example" }),
});
export const verify = introspectionVerifier({
  endpoint: "https://a.example/introspect",
  client: { id: "a", secret: "b" },
});

export const parcels = new ServerExtension({
  id: "com.example/parcels",
  settings: { carriers: ["sea"] },
  clientSettings: z.object({ tracking: z.boolean().optional() }),
})
  .method("com.example/parcels/track", { params: z.object({ id: z.string() }) }, ({ id }) => ({ id }))
  .onNotification("notifications/com.example/lost", {}, () => undefined);

/** Server with every kind of definition, in one chain. */
export const server = new McpServer(
  { name: "harbour", version: "1.0.0" },
  { http: { gate }, validator: jsonSchemaValidator() },
)
  .extend(parcels)
  .use(traceServer())
  .use((call, next) => next(call))
  .use(async (call, next) => {
    const { isError } = await next(call);
    // @ts-expect-error: a call shows nothing of the server
    void call.wire;
    return { isError, tenant: call.auth?.tenant, kept: call.header("x-kept") };
  })
  .tool("caller", {}, (_args, ctx) => `${ctx.auth?.subject} of ${ctx.auth?.tenant}`)
  .tool(
    "zod",
    { input: z.object({ city: z.string(), days: z.number().default(1) }), output: z.object({ celsius: z.number() }) },
    ({ city, days }) => ({ celsius: city.length + days }),
  )
  .tool(
    "valibot",
    {
      input: toStandardJsonSchema(v.object({ id: v.number() })),
      output: toStandardJsonSchema(v.object({ name: v.string() })),
    },
    ({ id }) => ({ name: `no. ${id}` }),
  )
  .tool("arktype", { input: type({ "word?": "string" }), output: type({ length: "number" }) }, ({ word = "" }) => ({
    length: word.length,
  }))
  .tool("json", { input: { type: "object", properties: { a: { type: "string" } } } }, ({ a }) => String(a))
  .tool("annotated", { input: withJsonSchema(z.object({ a: z.string() }), { type: "object" }) }, ({ a }) => text(a))
  .tool("plain", () => "text")
  .tool("late", () => new Promise((resolve) => setTimeout(() => resolve("late"), 300)))
  .tool("asks", async (_, ctx) => {
    const answer = await ctx.elicit("How many?", z.object({ count: z.number() }));
    return answer.action === "accept" ? String(answer.content.count) : "none";
  })
  .tool("whole", { output: z.object({ a: z.number() }) }, () =>
    toolResult({ structured: { a: 1 }, content: [text("a")] }),
  )
  .prompt("review", { arguments: z.object({ code: z.string(), style: z.string().optional() }) }, ({ code }) => code)
  .prompt("hello", { complete: { name: (value: string) => [value] } }, () => "hello")
  .prompt("bye", () => "bye")
  .resource("note://{id}", { name: "note", complete: { id: (value) => [value] } }, ({ id }) => `note ${id}`)
  .resource("search://notes{?q,limit}", { name: "search" }, ({ q = "" }) => `found ${q}`)
  .resource("tree://{+path}{/rest*}", { name: "tree" }, ({ path }) => path)
  .resource("about://me", { name: "about" }, () => "me")
  .method("com.example/count", { params: z.object({ from: z.number() }) }, ({ from }) => ({ from }))
  .onNotification("notifications/com.example/seen", {}, () => undefined);

export const modern = new ModernServer({ name: "modern", version: "1.0.0" }).tool("plain", () => "text");

/** Server whose definitions are not chained. Its type has none of them. */
export const loose = new McpServer({ name: "loose", version: "1.0.0" });
loose.tool("plain", () => "text");

/** Definitions that the compiler must refuse. */
export const refused = (server: McpServer) => [
  // @ts-expect-error the result has no member celsius
  server.tool("a", { output: z.object({ celsius: z.number() }) }, () => ({})),
  // @ts-expect-error the template has no variable idd
  server.resource("note://{id}", { name: "note", complete: { idd: () => [] } }, ({ id }) => id),
  // @ts-expect-error the prompt has no argument idd
  server.prompt("b", { arguments: z.object({ id: z.string() }), complete: { idd: () => [] } }, ({ id }) => id),
  // @ts-expect-error there is no such hint
  server.tool("c", { annotations: { readonlyHint: true } }, () => ""),
];

/** Members with inferred types of all kinds. The compiler must be able to name them. */
export class Harbour {
  readonly server = server;
  readonly clock = new FakeClock();
  readonly recorder = new WireRecorder();
  readonly pair = createChannelPair();
  readonly exchange = createArrayExchange({ method: "POST", url: "http://127.0.0.1/" });
  readonly listener = toNodeListener(server);
  readonly edits = {
    tool: server.edit.tool("zod"),
    prompt: server.edit.prompt("review"),
    resource: server.edit.resource("note://{id}"),
  };
  readonly changes = server.changes;
  readonly serve = () => ({ http: serveHttp(server), stdio: serveStdio(server) });
  readonly accept = () => server.accept(this.pair[0]);
  readonly files = fileResource(".");
  readonly whoIs = (ctx: Context) => authOf(ctx);
  readonly question = inputRequired;
}
export const handlers = {
  elicit: (ctx: Context) => ctx.elicit("a", z.object({ a: z.string() })),
  sample: (ctx: Context) => ctx.sample({ messages: [], maxTokens: 1 }),
  roots: (ctx: Context) => ctx.listRoots(),
  step: (ctx: Context) => ctx.step("a", () => 1),
  client: (ctx: Context) => ctx.client,
  settings: (ctx: Context) => parcels.settingsOf(ctx),
};

export const moved = new CompatServer({ name: "moved", version: "1.0.0" });
export const movedParts = {
  tool: moved.registerTool("t", { inputSchema: { a: z.string() } }, ({ a }) => ({
    content: [{ type: "text", text: a }],
  })),
  prompt: moved.registerPrompt("p", { argsSchema: { a: completable(z.string(), () => []) } }, () => ({ messages: [] })),
  resource: moved.registerResource("r", "note://1", {}, () => ({ contents: [] })),
  template: moved.registerResource("n", new ResourceTemplate("n://{id}"), {}, () => ({ contents: [] })),
  ask: () => moved.server.elicitInput({ message: "a" }),
  sample: () => moved.server.createMessage({ messages: [], maxTokens: 1 }),
};
export const low = new LowLevelServer({ name: "low", version: "1.0.0" });

export const offered = skills([
  skillFolder("./skills"),
  { frontmatter: { name: "a", description: "b" }, body: "" },
  () => [],
]);
export const skilled = {
  server: new McpServer({ name: "skilled", version: "1.0.0" }).extend(offered),
  entries: () => offered.entries,
  reload: () => offered.reload(),
};
