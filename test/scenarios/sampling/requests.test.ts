import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import type { CreateMessageParams, CreateMessageResult } from "bowline";
import { type Context, McpServer, UserRejectedError } from "bowline/server";
import {
  channelWires,
  eachWire,
  legacyChannels,
  legacyWires,
  modernWires,
  type World,
} from "../../support/each-wire.js";
import { AskedClient } from "../../support/raw-client.js";
import { askingServers, legacyAsking } from "../../support/server-script.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const hello: CreateMessageParams = {
  messages: [{ role: "user", content: { type: "text", text: "hi" } }],
  maxTokens: 9,
};
const said: CreateMessageResult = {
  role: "assistant",
  content: { type: "text", text: "ho" },
  model: "m-1",
  stopReason: "endTurn",
};

function sampling(params: CreateMessageParams) {
  return new McpServer(me).tool("ask", {}, async (_, ctx) => JSON.stringify(await ctx.sample(params)));
}

verifies("sampling:capability:declare", eachWire, async ({ connect }) => {
  let seen: unknown;
  const server = new McpServer(me).tool("t", {}, (_, ctx) => {
    seen = ctx.client.capabilities.sampling;
    return "x";
  });
  const onSample = () => said;
  for (const [options, declared] of [
    [{}, undefined],
    [{ onSample }, {}],
    [{ onSample, sampling: { tools: true } }, { tools: {} }],
    [{ onSample, sampling: { context: true } }, { context: {} }],
    [{ sampling: { tools: true } }, undefined],
  ] as const) {
    await (await connect(server, options)).callTool("t");
    deepEqual(seen, declared);
  }
});

const full: CreateMessageParams = {
  ...hello,
  systemPrompt: "Be brief",
  temperature: 0.25,
  stopSequences: ["\n", "END"],
  metadata: { vendor: { top_k: 5 } },
  modelPreferences: {
    hints: [{ name: "b" }, { name: "a" }],
    costPriority: 0,
    speedPriority: 0.5,
    intelligencePriority: 1,
  },
};

verifies(
  [
    "sampling:create:basic",
    "sampling:create:params-intact",
    "sampling:create:system-prompt",
    "sampling:create:model-preferences",
  ],
  eachWire,
  async ({ connect }) => {
    const seen: unknown[] = [];
    const client = await connect(sampling(full), {
      onSample: (params) => {
        seen.push(params);
        return said;
      },
    });
    deepEqual(JSON.parse((await client.callTool("ask")).text), said);
    deepEqual(seen, [full]);
  },
);

/** What the server's own side refuses, with nothing sent. */
async function refuses({ connect }: World, params: object, says: RegExp): Promise<void> {
  let asked = 0;
  const client = await connect(sampling(params as never), {
    sampling: { tools: true },
    onSample: () => {
      asked++;
      return said;
    },
  });
  const outcome = await client.callTool("ask");
  equal(outcome.isError, true);
  match(outcome.text, says);
  equal(asked, 0);
  deepEqual(client.wire.serverRequests(), []);
  equal(client.wire.responsesTo("tools/call").length, 1);
}

verifies(
  ["sampling:create:params-intact", "sampling:create:model-preferences"],
  "what makes no sense is not sent",
  eachWire,
  async (world) => {
    await refuses(world, { messages: hello.messages }, /maxTokens/);
    await refuses(world, { ...hello, modelPreferences: { costPriority: 2 } }, /costPriority/);
  },
);

verifies("sampling:create:params-intact", "a request without maxTokens is refused", askingServers, async (server) => {
  await server.connect({ onSample: () => said });
  const reply = await server.ask("sampling/createMessage", { messages: hello.messages });
  match(reply.message ?? "", /maxTokens/);
  if (server.era === "legacy") equal(reply.code, -32602);
});

verifies("sampling:create:include-context", eachWire, async ({ connect }) => {
  const seen: unknown[] = [];
  const options = {
    sampling: { context: true },
    onSample: (params: CreateMessageParams) => {
      seen.push(params.includeContext, "includeContext" in params);
      return said;
    },
  };
  for (const includeContext of ["none", "thisServer", "allServers"] as const) {
    await (await connect(sampling({ ...hello, includeContext }), options)).callTool("ask");
  }
  await (await connect(sampling(hello), options)).callTool("ask");
  deepEqual(seen, ["none", true, "thisServer", true, "allServers", true, undefined, false]);
});

verifies("sampling:context:server-gated-by-capability", channelWires, async (world) => {
  for (const includeContext of ["thisServer", "allServers"] as const) {
    const client = await AskedClient.open(world, sampling({ ...hello, includeContext }), {
      capabilities: { sampling: {} },
    });
    const { result, error } = await client.call("tools/call", { name: "ask" });
    if (world.era === "legacy") equal(result?.isError, true);
    else equal(error?.code, -32021);
    deepEqual(client.questions, []);
  }
});

verifies("sampling:context:server-gated-by-capability", "before it was one", legacyChannels, async (world) => {
  const client = await AskedClient.open(world, sampling({ ...hello, includeContext: "allServers" }), {
    version: "2025-06-18",
    capabilities: { sampling: {} },
    answer: () => ({ ...said }),
  });
  equal((await client.call("tools/call", { name: "ask" })).result?.isError, undefined);
  equal(client.questions[0]?.params?.includeContext, "allServers");
});

const bytes = Buffer.from([0, 255, 1, 254]).toString("base64");
for (const kind of ["image", "audio"] as const) {
  verifies(`sampling:create-message:${kind}-content`, eachWire, async ({ connect }) => {
    const content = { type: kind, data: bytes, mimeType: `${kind}/x-test` } as const;
    let seen: unknown;
    const client = await connect(sampling({ ...hello, messages: [{ role: "user", content }] }), {
      onSample: ({ messages }) => {
        seen = messages;
        return { ...said, content };
      },
    });
    deepEqual(JSON.parse((await client.callTool("ask")).text).content, content);
    deepEqual(seen, [{ role: "user", content }]);
  });
}

const malformed = {
  "a role of its own": { role: "system", content: { type: "text", text: "x" } },
  "no content": { role: "user" },
};

verifies("sampling:message:role-and-content", "the sender refuses", eachWire, async (world) => {
  for (const message of Object.values(malformed)) {
    await refuses(world, { ...hello, messages: [message] }, /\/messages\/0/);
  }
});

verifies("sampling:message:role-and-content", "the receiver refuses", askingServers, async (server) => {
  let ran = 0;
  await server.connect({
    onSample: () => {
      ran++;
      return said;
    },
  });
  for (const message of Object.values(malformed)) {
    const reply = await server.ask("sampling/createMessage", { messages: [message], maxTokens: 1 });
    match(reply.message ?? "", /\/messages\/0/);
    if (server.era === "legacy") equal(reply.code, -32602);
    else ok(reply.failure instanceof Error);
  }
  equal(ran, 0);
});

verifies("sampling:message:content-cardinality", eachWire, async ({ connect }) => {
  const block = { type: "text", text: "x" } as const;
  for (const content of [block, [block], [block, block]]) {
    let seen: unknown;
    const client = await connect(sampling({ ...hello, messages: [{ role: "user", content }] }), {
      onSample: ({ messages }) => {
        seen = messages[0]?.content;
        return { ...said, content };
      },
    });
    deepEqual(JSON.parse((await client.callTool("ask")).text).content, content);
    deepEqual(seen, content);
  }
});

verifies("sampling:message:legacy-single-content", "to an older client", legacyChannels, async (world) => {
  const block = { type: "text", text: "x" } as const;
  const open = (content: CreateMessageParams["messages"][0]["content"]) =>
    AskedClient.open(world, sampling({ ...hello, messages: [{ role: "user", content }] }), {
      version: "2025-06-18",
      capabilities: { sampling: {} },
      answer: () => ({ ...said }),
    });
  const one = await open([block]);
  equal((await one.call("tools/call", { name: "ask" })).result?.isError, undefined);
  deepEqual(one.questions[0]?.params?.messages, [{ role: "user", content: block }]);
  const many = await open([block, block]);
  equal((await many.call("tools/call", { name: "ask" })).result?.isError, true);
  deepEqual(many.questions, []);
});

verifies("sampling:result:stop-reason-open", eachWire, async ({ connect }) => {
  const { stopReason: _, ...without } = said;
  for (const result of [{ ...said, stopReason: "vendor/odd" }, without]) {
    const client = await connect(sampling(hello), { onSample: () => result });
    deepEqual(JSON.parse((await client.callTool("ask")).text), result);
  }
});

verifies("sampling:create-message:not-supported", eachWire, async ({ connect, era }) => {
  const client = await connect(sampling(hello));
  if (era === "legacy") equal((await client.callTool("ask")).isError, true);
  else await rejects(client.callTool("ask"), { rpcCode: -32021, data: { requiredCapabilities: { sampling: {} } } });
  equal(client.wire.serverRequests().length, 0);
});

verifies("sampling:create-message:not-supported", "who asks anyway is answered", legacyAsking, async (server) => {
  await server.connect();
  const reply = await server.ask("sampling/createMessage", { messages: [], maxTokens: 1 });
  ok(typeof reply.code === "number");
});

verifies("sampling:error:user-rejected", legacyWires, async ({ connect }) => {
  let caught: unknown;
  const server = new McpServer(me).tool("ask", {}, async (_, ctx: Context) => {
    await ctx.sample(hello).catch((error) => {
      caught = error;
    });
    return "kept";
  });
  const client = await connect(server, {
    onSample: () => {
      throw new UserRejectedError();
    },
  });
  equal((await client.callTool("ask")).text, "kept");
  ok(caught instanceof UserRejectedError);
  ok(client.wire.frames.some(({ from, message }) => from === "client" && message?.error?.code === -1));
});

verifies("sampling:no-retention", modernWires, async ({ connect }) => {
  const seen: unknown[] = [];
  const server = new McpServer(me).tool("ask", {}, async (_, ctx) => {
    await ctx.sample({ ...hello, messages: [{ role: "user", content: { type: "text", text: "one" } }] });
    await ctx.sample({ ...hello, messages: [{ role: "user", content: { type: "text", text: "two" } }] });
    return "done";
  });
  const client = await connect(server, {
    onSample: ({ messages }) => {
      seen.push(messages);
      return said;
    },
  });
  await client.callTool("ask");
  deepEqual(seen, [
    [{ role: "user", content: { type: "text", text: "one" } }],
    [{ role: "user", content: { type: "text", text: "two" } }],
  ]);
});

verifies("sampling:message:legacy-single-content", "to an older server", legacyAsking, async (server) => {
  const block = { type: "text", text: "x" } as const;
  server.version = "2025-06-18";
  let content: CreateMessageResult["content"] = [block];
  await server.connect({ onSample: () => ({ ...said, content }), onError: () => {} });
  deepEqual((await server.ask("sampling/createMessage", { ...hello })).answer, { ...said, content: block });
  content = [block, block];
  equal((await server.ask("sampling/createMessage", { ...hello })).code, -32603);
});
