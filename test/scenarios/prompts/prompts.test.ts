import { deepEqual, equal, match, rejects } from "node:assert/strict";
import type { PromptMessage } from "bowline";
import { embedded, image, link, McpServer, RpcError } from "bowline/server";
import * as z from "zod";
import { channelWires, eachWire } from "../../support/each-wire.js";
import { AskedClient } from "../../support/raw-client.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };

verifies("prompts:capability:declared", eachWire, async ({ connect }) => {
  const offered = async (server: McpServer) => (await connect(server)).server.capabilities.prompts !== undefined;
  equal(await offered(new McpServer(me).prompt("p", {}, () => "x")), true);
  equal(await offered(new McpServer(me).resource("a:b", { name: "r" }, () => "x")), false);
});

verifies("prompts:list:basic", eachWire, async ({ connect }) => {
  const icons = [{ src: "https://x.test/i.png" }];
  const args = {
    type: "object",
    properties: { code: { type: "string", title: "Code", description: "to read" }, tone: { type: "string" } },
    required: ["code"],
  };
  const server = new McpServer(me)
    .prompt("full", { title: "Full", description: "All", icons, meta: { "x/y": 1 }, arguments: args }, () => "x")
    .prompt("least", {}, () => "x");
  deepEqual(await (await connect(server)).prompts().all(), [
    {
      name: "full",
      title: "Full",
      description: "All",
      arguments: [{ name: "code", title: "Code", description: "to read", required: true }, { name: "tone" }],
      icons,
      _meta: { "x/y": 1 },
    },
    { name: "least" },
  ]);
  const empty = await connect(new McpServer(me, { capabilities: { prompts: true } }));
  deepEqual((await empty.request("prompts/list")).prompts, []);
});

verifies("prompts:get:no-args", eachWire, async ({ connect }) => {
  const client = await connect(new McpServer(me).prompt("p", { description: "d" }, () => "hello"));
  for (const args of [undefined, {}]) {
    const { description, messages } = await client.getPrompt("p", args);
    deepEqual(
      { description, messages },
      { description: "d", messages: [{ role: "user", content: { type: "text", text: "hello" } }] },
    );
  }
});

verifies("prompts:get:with-args", eachWire, async ({ connect }) => {
  const server = new McpServer(me).prompt(
    "p",
    { arguments: z.object({ code: z.string() }) },
    ({ code }) => `Review: ${code}`,
  );
  const { messages } = await (await connect(server)).getPrompt("p", { code: "1+1" });
  deepEqual(messages, [{ role: "user", content: { type: "text", text: "Review: 1+1" } }]);
});

verifies("prompts:get:multi-message", eachWire, async ({ connect }) => {
  const say = (role: "user" | "assistant", text: string): PromptMessage => ({ role, content: { type: "text", text } });
  const messages = [say("assistant", "one"), say("user", "two"), say("assistant", "three")];
  const server = new McpServer(me)
    .prompt("p", {}, () => messages)
    .prompt("system", {}, () => [{ ...messages[0], role: "system" } as never]);
  const client = await connect(server);
  deepEqual((await client.getPrompt("p")).messages, messages);
  await rejects(client.getPrompt("system"), { rpcCode: -32603, message: "Internal error" });
});

const data = Buffer.from([0, 250, 5]).toString("base64");

for (const type of ["image", "audio"] as const) {
  verifies(`prompts:get:content:${type}`, eachWire, async ({ connect }) => {
    const block = { type, data, mimeType: `${type}/x-test` };
    const server = new McpServer(me)
      .prompt("p", {}, () => block as never)
      .prompt("untyped", {}, () => ({ type, data }) as never)
      .prompt("empty", {}, () => ({ type, mimeType: "x/y" }) as never);
    const client = await connect(server);
    deepEqual((await client.getPrompt("p")).messages[0]?.content, block);
    await rejects(client.getPrompt("untyped"), { rpcCode: -32603 });
    await rejects(client.getPrompt("empty"), { rpcCode: -32603 });
  });
}

verifies(
  ["prompts:get:content:embedded-resource", "prompts:get:content:resource-link"],
  eachWire,
  async ({ connect }) => {
    const contents = [
      embedded({ uri: "a:1", mimeType: "text/plain", text: "t" }),
      embedded({ uri: "a:2", mimeType: "x/y", blob: data }),
      link({ uri: "a:3", name: "three", mimeType: "text/plain" }),
      image(Buffer.from([1]), "image/png"),
    ];
    const server = new McpServer(me)
      .prompt("p", {}, () => contents.map((content) => ({ role: "user", content })))
      .prompt("neither", {}, () => embedded({ uri: "a:1", mimeType: "text/plain" } as never));
    const client = await connect(server);
    deepEqual(
      (await client.getPrompt("p")).messages.map(({ content }) => content),
      contents,
    );
    await rejects(client.getPrompt("neither"), { rpcCode: -32603 });
  },
);

verifies("prompts:get:unknown-name", eachWire, async ({ connect }) => {
  const server = new McpServer(me).prompt("p", {}, () => "x").prompt("off", {}, () => "x");
  server.edit.prompt("off").disable();
  const client = await connect(server);
  await rejects(client.getPrompt("nope"), { rpcCode: -32602 });
  await rejects(client.getPrompt("off"), { rpcCode: -32602 });
  const own = new McpServer(me).method("prompts/get", {}, () => {
    throw new RpcError(-32602, "Unknown prompt");
  });
  const other = await connect(own);
  await rejects(other.getPrompt("nope"), { rpcCode: -32602, message: "Unknown prompt" });
  for (const { wire } of [client, other]) {
    for (const { error } of wire.responsesTo("prompts/get")) equal(error?.code, -32602);
  }
});

verifies("prompts:get:missing-required-args", eachWire, async ({ connect }) => {
  let ran = 0;
  const server = new McpServer(me).prompt("p", { arguments: z.object({ code: z.string() }) }, () => {
    ran++;
    return "x";
  });
  const client = await connect(server);
  for (const args of [undefined, {}, { other: "x" }]) {
    await rejects(client.getPrompt("p", args), { rpcCode: -32602, message: /code/ });
  }
  equal(ran, 0);
});

verifies("prompts:get:internal-error", eachWire, async ({ connect }) => {
  const reported: unknown[] = [];
  const server = new McpServer(me, { onError: (error) => reported.push(error) }).prompt("p", {}, () => {
    throw new Error("password is hunter2");
  });
  await rejects((await connect(server)).getPrompt("p"), {
    rpcCode: -32603,
    message: "Internal error",
    data: undefined,
  });
  match((reported[0] as Error).message, /hunter2/);
});

verifies("prompts:args:string-values", channelWires, async (world) => {
  const seen: unknown[] = [];
  const server = new McpServer(me).prompt("p", { arguments: z.object({ n: z.coerce.number() }) }, ({ n }) => {
    seen.push(n);
    return "x";
  });
  const client = await AskedClient.open(world, server);
  equal((await client.request("prompts/get", { name: "p", arguments: { n: 5 } })).error?.code, -32602);
  equal((await client.request("prompts/get", { name: "p", arguments: { n: "5" } })).error, undefined);
  deepEqual(seen, [5]);
});

verifies("prompts:get:input-required", eachWire, async ({ connect }) => {
  const server = new McpServer(me).prompt("p", {}, async (_, ctx) => {
    const answer = await ctx.elicit("Tone?", z.object({ tone: z.string() }));
    return answer.action === "accept" ? `Be ${answer.content.tone}` : "Be yourself";
  });
  const client = await connect(server, { onElicit: () => ({ action: "accept", content: { tone: "kind" } }) });
  deepEqual((await client.getPrompt("p")).messages, [{ role: "user", content: { type: "text", text: "Be kind" } }]);
});
