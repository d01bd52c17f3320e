import { deepEqual, equal, match, rejects } from "node:assert/strict";
import type { CreateMessageParams, CreateMessageResult, SamplingMessage, Tool } from "bowline";
import { toolChoiceOf } from "bowline/client";
import { McpServer } from "bowline/server";
import { eachWire } from "../../support/each-wire.js";
import { askingServers } from "../../support/server-script.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const tools: Tool[] = [{ name: "not-registered", inputSchema: { type: "object" } }];
const text = (value: string) => ({ type: "text", text: value }) as const;
const use = (id: string) => ({ type: "tool_use", id, name: "not-registered", input: {} }) as const;
const result = (toolUseId: string) => ({ type: "tool_result", toolUseId, content: [text("r")] }) as const;
const user = (...content: unknown[]) => ({ role: "user", content }) as unknown as SamplingMessage;
const assistant = (...content: unknown[]) => ({ role: "assistant", content }) as unknown as SamplingMessage;
const said = (...content: unknown[]) => ({ role: "assistant", content, model: "m" }) as unknown as CreateMessageResult;

verifies(
  ["sampling:create:tools", "sampling:result:with-tools-array-content", "sampling:tool-use:order-free"],
  "a whole loop of tool use",
  eachWire,
  async ({ connect }) => {
    const first = { maxTokens: 1, tools, toolChoice: { mode: "auto" }, messages: [user(text("go"))] } as const;
    const seen: unknown[] = [];
    const server = new McpServer(me).tool("loop", {}, async (_, ctx) => {
      const turn = await ctx.sample(first as never);
      const results = [{ ...result("b"), _meta: { "x/r": 1 } }, result("a")];
      const messages = [...first.messages, { role: turn.role, content: turn.content }, user(...results)];
      const last = await ctx.sample({ ...first, messages } as never);
      return JSON.stringify([turn, last]);
    });
    const uses = said(text("let me see"), { ...use("a"), _meta: { "x/u": 1 } }, use("b"));
    const answers = [{ ...uses, stopReason: "toolUse" }, said(text("done"))];
    const client = await connect(server, {
      sampling: { tools: true },
      onSample: (params) => {
        seen.push(params);
        return answers[seen.length - 1] as CreateMessageResult;
      },
    });
    deepEqual(JSON.parse((await client.callTool("loop")).text), answers);
    deepEqual(seen[0], first);
    const { messages } = seen[1] as CreateMessageParams;
    deepEqual(messages.slice(1), [
      { role: "assistant", content: uses.content },
      user({ ...result("b"), _meta: { "x/r": 1 } }, result("a")),
    ]);
  },
);

verifies("sampling:tools:server-gated-by-capability", eachWire, async ({ connect, era }) => {
  for (const extra of [{ tools }, { toolChoice: { mode: "auto" } }] as const) {
    const params = { maxTokens: 1, messages: [user(text("go"))], ...extra } as CreateMessageParams;
    const server = new McpServer(me).tool("ask", {}, async (_, ctx) => (await ctx.sample(params)).model);
    let asked = 0;
    const client = await connect(server, {
      onSample: () => {
        asked++;
        return said(text("x"));
      },
    });
    if (era === "legacy") {
      const outcome = await client.callTool("ask");
      equal(outcome.isError, true);
      match(outcome.text, /sampling.*tools/);
    } else {
      const data = { requiredCapabilities: { sampling: { tools: {} } } };
      await rejects(client.callTool("ask"), { rpcCode: -32021, data });
    }
    equal(asked, 0);
    deepEqual(client.wire.serverRequests(), []);
  }
});

verifies("sampling:tools:client-rejects-undeclared", askingServers, async (server) => {
  let ran = 0;
  await server.connect({
    onSample: () => {
      ran++;
      return said(text("x"));
    },
  });
  for (const extra of [{ tools }, { toolChoice: { mode: "auto" } }]) {
    const reply = await server.ask("sampling/createMessage", { maxTokens: 1, messages: [user(text("go"))], ...extra });
    match(reply.message ?? "", /tools/);
    if (server.era === "legacy") equal(reply.code, -32602);
  }
  equal(ran, 0);
});

verifies("sampling:tool-choice:default-auto", askingServers, async (server) => {
  const modes: string[] = [];
  await server.connect({
    sampling: { tools: true },
    onSample: (params) => {
      modes.push(toolChoiceOf(params));
      return said(text("x"));
    },
  });
  const params = { maxTokens: 1, messages: [user(text("go"))], tools };
  for (const extra of [
    {},
    { toolChoice: {} },
    { toolChoice: { mode: "required" } },
    { toolChoice: { mode: "none" } },
  ]) {
    await server.ask("sampling/createMessage", { ...params, ...extra });
  }
  deepEqual(modes, ["auto", "auto", "required", "none"]);
  const reply = await server.ask("sampling/createMessage", { ...params, toolChoice: { mode: "maybe" } });
  match(reply.message ?? "", /toolChoice\/mode/);
  equal(modes.length, 4);
});

verifies(
  ["sampling:tool-choice:none-no-tool-use", "sampling:result:no-tools-single-content"],
  "a model may not use what it was not offered",
  askingServers,
  async (server) => {
    const problems: Error[] = [];
    await server.connect({
      sampling: { tools: true },
      onSample: () => said(use("a")),
      onError: (error) => problems.push(error),
    });
    const ask = (extra: object) =>
      server.ask("sampling/createMessage", { maxTokens: 1, messages: [user(text("go"))], ...extra });
    for (const extra of [{}, { tools, toolChoice: { mode: "none" } }]) {
      const reply = await ask(extra);
      equal(reply.answer, undefined);
      if (server.era === "legacy") equal(reply.code, -32603);
      match((problems.at(-1) ?? (reply.failure as Error)).message, /tool_use/);
    }
    for (const mode of ["auto", "required"]) {
      deepEqual((await ask({ tools, toolChoice: { mode } })).answer, said(use("a")));
    }
  },
);

const unbalanced: { readonly [what: string]: readonly SamplingMessage[] } = {
  "a missing result": [assistant(use("a"), use("b")), user(result("a"))],
  "an extra result": [assistant(use("a")), user(result("a"), result("b"))],
  "a wrong id": [assistant(use("a")), user(result("z"))],
  "a result one message late": [assistant(use("a")), user(text("wait")), user(result("a"))],
  "a trailing use": [user(text("go")), assistant(use("a"))],
  "a result without a use": [user(text("go")), user(result("a"))],
  "two results for one use": [assistant(use("a")), user(result("a"), result("a"))],
};
const mixed = [assistant(use("a")), user(result("a"), text("and this"))];

verifies(
  ["sampling:tool-use:result-balance", "sampling:tool-result:no-mixed-content"],
  "on receipt",
  askingServers,
  async (server) => {
    let ran = 0;
    await server.connect({
      sampling: { tools: true },
      onSample: () => {
        ran++;
        return said(text("x"));
      },
    });
    for (const messages of [...Object.values(unbalanced), mixed]) {
      const reply = await server.ask("sampling/createMessage", { maxTokens: 1, tools, messages });
      match(reply.message ?? "", /\/messages\/\d/);
      if (server.era === "legacy") equal(reply.code, -32602);
    }
    equal(ran, 0);
  },
);

verifies(
  ["sampling:tool-use:server-preflight", "sampling:tool-result:no-mixed-content"],
  "before sending",
  eachWire,
  async ({ connect }) => {
    const problems: string[] = [];
    const server = new McpServer(me).tool("ask", {}, async (_, ctx) => {
      for (const messages of [...Object.values(unbalanced), mixed]) {
        await ctx
          .sample({ maxTokens: 1, tools, messages: [...messages] })
          .catch((error) => problems.push(error.message));
      }
      return "done";
    });
    let asked = 0;
    const client = await connect(server, {
      sampling: { tools: true },
      onSample: () => {
        asked++;
        return said(text("x"));
      },
    });
    equal((await client.callTool("ask")).text, "done");
    equal(problems.length, Object.keys(unbalanced).length + 1);
    for (const problem of problems) match(problem, /\/messages\/\d/);
    equal(asked, 0);
    deepEqual(client.wire.serverRequests(), []);
    equal(client.wire.responsesTo("tools/call").length, 1);
  },
);
