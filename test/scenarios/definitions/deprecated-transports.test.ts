import { deepEqual, equal, match } from "node:assert/strict";
import { readFileSync } from "node:fs";
import type { TestContext } from "node:test";
import type { OAuthOptions } from "bowline/auth/client";
import { type ClientOptions, connect } from "bowline/client";
import { serveHttp } from "bowline/node";
import { McpServer, type ServerOptions } from "bowline/server";
import { AuthWorld } from "../../support/auth-world.js";
import { proves } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };

/** The comment before a member, in the declarations that users get. */
function commentOn(file: string, member: string): string {
  const declarations = readFileSync(new URL(`../../../../dist/${file}.d.ts`, import.meta.url), "utf8");
  const [, comment = ""] =
    new RegExp(`/\\*\\*((?:(?!\\*/)[^])*)\\*/\\s*(?:readonly )?${member}[?(]`).exec(declarations) ?? [];
  return comment.replaceAll(/\s*\n\s*\*\s*/g, " ");
}

proves("deprecation:api-marked", {}, "each says by what, and when it may go", () => {
  const with2577 =
    /@deprecated by SEP-2577; may be removed in the first protocol revision released on or after 28 July 2027/;
  const context =
    /@deprecated by SEP-2596; may be removed in the first protocol revision released on or after 28 July 2027/;
  const transport = /@deprecated by SEP-2596; may be removed three months after SEP-2596 is final/;
  const registration =
    /@deprecated by PR 2858 .*; may be removed in the first protocol revision released on or after 28 July 2027/;
  for (const [file, member, words] of [
    ["server/context", "log", with2577],
    ["server/context", "sample", with2577],
    ["server/context", "listRoots", with2577],
    ["client/options", "onSample", with2577],
    ["client/options", "tools", with2577],
    ["client/options", "roots", with2577],
    ["client/options", "rootsListChanged", with2577],
    ["client/options", "logLevel", with2577],
    ["client/client", "setLogLevel", with2577],
    ["client/client", "setRoots", with2577],
    ["client/client", "rootsChanged", with2577],
    ["server/options", "logLevel", with2577],
    ["server/options", "logging", with2577],
    ["server/server", "log", with2577],
    ["protocol/types/sampling", "includeContext", context],
    ["client/options", "context", context],
    ["client/options", "sse", transport],
    ["server/options", "sse", transport],
    ["auth/client/options", "registration", registration],
  ] as const) {
    match(commentOn(file, member), words, `${file} ${member}`);
  }
  for (const [file, member] of [
    ["server/context", "elicit"],
    ["client/options", "onElicit"],
    ["auth/client/options", "clientMetadataUrl"],
  ] as const) {
    equal(commentOn(file, member).includes("@deprecated"), false, member);
  }
});

/** Uses all that is deprecated, or what took its place, in one go. */
async function use(t: TestContext, deprecated: boolean, quiet: Pick<ServerOptions & OAuthOptions, "warnDeprecated">) {
  const server = new McpServer(me, { http: { sse: deprecated }, ...quiet }).tool("ask", {}, async (_, ctx) => {
    const question = { messages: [], maxTokens: 1 };
    await ctx.sample(deprecated ? { ...question, includeContext: "thisServer" } : question);
  });
  const running = await serveHttp(server);
  t.after(() => running.close());
  const options: ClientOptions = {
    ...quiet,
    onSample: () => ({ model: "m", role: "assistant", content: { type: "text", text: "" } }),
    sampling: { context: deprecated },
  };
  const client = await connect(deprecated ? new URL("/sse", running.url) : running.url, options);
  t.after(() => client.close());
  equal((await client.callTool("ask")).isError, false);
  const world = await AuthWorld.open(t, "modern");
  world.as.metadata.client_id_metadata_document_supported = !deprecated;
  const oauth = world.oauth({ ...quiet, clientMetadataUrl: "https://app.example/client.json" });
  equal((await (await world.connect(oauth)).callTool("echo")).text, "echo");
  equal(world.count("POST https://as.example/register"), deprecated ? 1 : 0);
}

// What has been warned of is remembered for the whole process: the quiet cases come first.
proves("deprecation:runtime-warning", {}, "once per feature and process, and not where nobody wants it", async (t) => {
  const emitted = t.mock.method(process, "emitWarning", () => {});
  await use(t, false, {});
  await use(t, true, { warnDeprecated: false });
  equal(emitted.mock.callCount(), 0);
  for (let n = 0; n < 2; n++) await use(t, true, {});
  const texts = emitted.mock.calls.map(({ arguments: [text] }) => String(text));
  const hide = "set warnDeprecated: false to hide this";
  deepEqual(texts, [
    `the HTTP+SSE transport is deprecated by MCP (SEP-2596): use Streamable HTTP; ${hide}`,
    `includeContext is deprecated by MCP (SEP-2596): leave it out, or use "none"; ${hide}`,
    `dynamic client registration is deprecated by MCP (PR 2858): set clientMetadataUrl to a client metadata document; ${hide}`,
  ]);
  const warnings = emitted.mock.calls.map(({ arguments: [, options] }) => options as unknown);
  deepEqual(
    warnings,
    ["http_sse", "include_context", "client_registration"].map((feature) => ({
      type: "DeprecationWarning",
      code: `deprecated_${feature}`,
    })),
  );
});
