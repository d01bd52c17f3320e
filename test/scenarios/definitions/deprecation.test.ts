import { deepEqual, equal, match, ok } from "node:assert/strict";
import { readFileSync } from "node:fs";
import { connect } from "bowline/client";
import { inputRequired, McpServer } from "bowline/server";
import { modernWires } from "../../support/each-wire.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };

/** The comment before a member, in the declarations that users get. */
function commentOn(file: string, member: string): string {
  const declarations = readFileSync(new URL(`../../../../dist/${file}.d.ts`, import.meta.url), "utf8");
  const [, comment = ""] =
    new RegExp(`/\\*\\*((?:(?!\\*/)[^])*)\\*/\\s*(?:readonly )?${member}[?(]`).exec(declarations) ?? [];
  return comment;
}

// What has been warned of is remembered for the whole process: the quiet cases come first.
proves(
  "deprecation:warn-on-negotiation",
  { wire: "modern-memory" },
  "once per feature and process, and not where nobody wants it",
  async (t) => {
    const warnings: unknown[] = [];
    const logger = {
      warn: (text: string, fields?: Record<string, unknown>) => {
        match(text, /^\w+ is deprecated by MCP \(SEP-2577\): .*; set warnDeprecated: false to hide this$/);
        warnings.push(fields?.code);
      },
    };
    const features = {
      roots: [],
      onSample: () => ({ model: "m", role: "assistant" as const, content: { type: "text" as const, text: "" } }),
    };
    const run = async (options: object, serverOptions: object, used: readonly string[] = ["t", "t", "t"]) => {
      const server = new McpServer(me, { capabilities: { logging: true }, ...serverOptions })
        .tool("t", {}, () => "")
        .tool("roots", {}, async (_, ctx) => JSON.stringify(await ctx.listRoots()))
        .tool("sampling", {}, () =>
          inputRequired({
            inputRequests: {
              model: {
                method: "sampling/createMessage",
                params: { messages: [{ role: "user", content: { type: "text", text: "?" } }], maxTokens: 1 },
              },
            },
          }),
        );
      const client = await connect(server, { ...features, ...options });
      t.after(() => client.close());
      for (const tool of used) await client.callTool(tool).catch(() => undefined);
    };
    await run({ era: "legacy", logger }, { logger });
    await run({ era: "modern", logger, warnDeprecated: false }, { logger, warnDeprecated: false });
    await run({ era: "modern" }, {});
    // A server that declares logging is no reason to warn the author of a client that does not use it.
    await run({ era: "modern", logger, roots: undefined, onSample: undefined, onNotification: () => {} }, {});
    deepEqual(warnings, []);
    await run({ era: "modern", roots: undefined, onSample: undefined }, { logger });
    deepEqual(warnings, ["deprecated_logging"]);
    // A client that declares what the server does not use is no reason to warn the author of the server.
    await run({ era: "modern" }, { logger });
    deepEqual(warnings, ["deprecated_logging"]);
    await run({ era: "legacy" }, { logger }, ["roots"]);
    deepEqual(warnings, ["deprecated_logging"]);
    await run({ era: "modern" }, { logger }, ["roots", "sampling", "roots", "sampling"]);
    deepEqual(warnings, ["deprecated_logging", "deprecated_roots", "deprecated_sampling"]);
    await run({ era: "modern", logger }, { logger });
    deepEqual(warnings, ["deprecated_logging", "deprecated_roots", "deprecated_sampling"]);
    const tagged = [
      ["server/context", "log"],
      ["server/context", "sample"],
      ["server/context", "listRoots"],
      ["client/options", "onSample"],
      ["client/options", "roots"],
      ["client/client", "setLogLevel"],
    ] as const;
    for (const [file, member] of tagged) match(commentOn(file, member), /@deprecated by SEP-2577; .*2027/, member);
    match(commentOn("protocol/types/sampling", "includeContext"), /@deprecated by SEP-2596/);
    equal(commentOn("server/context", "elicit").includes("@deprecated"), false);
  },
);

verifies("deprecation:still-functional", modernWires, async ({ connect: dial }) => {
  const server = new McpServer(me).tool("all", {}, async (_, ctx) => {
    ctx.log("info", "working");
    const roots = await ctx.listRoots();
    const { content } = await ctx.sample({
      messages: [{ role: "user", content: { type: "text", text: "?" } }],
      maxTokens: 1,
    });
    return `${roots[0]?.uri} ${!Array.isArray(content) && content.type === "text" && content.text}`;
  });
  const logs: unknown[] = [];
  const client = await dial(server, {
    roots: [{ uri: "file:///work" }],
    onSample: () => ({ model: "m", role: "assistant", content: { type: "text", text: "sampled" } }),
    onNotification: ({ method, params }) => {
      if (method === "notifications/message") logs.push(params?.data);
    },
  });
  await client.setLogLevel("debug");
  equal((await client.callTool("all")).text, "file:///work sampled");
  ok(logs.includes("working"));
});
