import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import type { ElicitFormParams, ElicitResult } from "bowline";
import { inputRequired, McpServer, type RpcError } from "bowline/server";
import * as z from "zod";
import { channelWires, eachWire, legacyChannels, type World } from "../../support/each-wire.js";
import { AskedClient } from "../../support/raw-client.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const FORM = { elicitation: { form: {} } };

/** A server whose one tool asks once and returns what it got, as JSON. */
function asking(schema: unknown, message = "Well?") {
  return new McpServer(me).tool("ask", {}, async (_, ctx) =>
    JSON.stringify(await ctx.elicit(message, schema as never)),
  );
}

verifies("elicitation:capability:declared", eachWire, async ({ connect, era }) => {
  const KEY = "io.modelcontextprotocol/clientCapabilities";
  const declared = ({ params = {} }: { params?: { [key: string]: unknown } }) =>
    era === "legacy" ? params.capabilities : ((params._meta ?? {}) as { [key: string]: unknown })[KEY];
  const method = era === "legacy" ? "initialize" : undefined;
  for (const onElicit of [undefined, () => ({ action: "decline" }) as const]) {
    const client = await connect(
      new McpServer(me).tool("t", {}, () => "x"),
      onElicit && { onElicit },
    );
    await client.callTool("t");
    await client.listTools();
    const frames = client.wire.requests(method);
    ok(frames.length >= (era === "legacy" ? 1 : 3));
    for (const frame of frames) {
      deepEqual((declared(frame) as { elicitation?: unknown }).elicitation, onElicit && { form: {} });
    }
  }
});

verifies("elicitation:capability:per-mode", eachWire, async ({ connect }) => {
  const onElicit = () => ({ action: "decline" }) as const;
  const configurations = [
    [{ onElicit }, { form: {} }],
    [{ onElicitUrl: onElicit }, { url: {} }],
    [
      { onElicit, onElicitUrl: onElicit },
      { form: {}, url: {} },
    ],
  ] as const;
  for (const [options, elicitation] of configurations) {
    let seen: unknown;
    const server = new McpServer(me).tool("t", {}, (_, ctx) => {
      seen = ctx.client.capabilities.elicitation;
      return "x";
    });
    await (await connect(server, options)).callTool("t");
    deepEqual(seen, elicitation);
  }
  for (const elicitation of [{}, { form: {} }, { url: {} }]) {
    // @ts-expect-error capabilities with handlers are declared by the handlers
    const declared = connect(new McpServer(me), { capabilities: { elicitation } });
    await rejects(declared, /capabilities: unknown option elicitation; use onElicit or onElicitUrl/);
  }
});

verifies("elicitation:capability:empty-is-form", channelWires, async (world) => {
  const server = asking({ type: "object", properties: {} }).tool("page", {}, async (_, ctx) => {
    await ctx.elicitUrl("Go", "https://x.test/");
    return "went";
  });
  const client = await AskedClient.open(world, server, {
    capabilities: { elicitation: {} },
    answer: () => ({ action: "accept", content: {} }),
  });
  equal((await client.call("tools/call", { name: "ask" })).result?.isError, undefined);
  equal(client.questions.length, 1);
  const refused = await client.call("tools/call", { name: "page" });
  if (world.era === "modern") equal(refused.error?.code, -32021);
  else equal(refused.result?.isError, true);
  equal(client.questions.length, 1);
});

verifies("elicitation:capability:server-respects-mode", channelWires, async (world) => {
  const caught: unknown[] = [];
  const server = new McpServer(me)
    .tool("form", {}, async (_, ctx) => {
      await ctx.elicit("m", { type: "object", properties: {} }).catch((error) => caught.push(error));
      return "ok";
    })
    .tool("url", {}, async (_, ctx) => {
      await ctx.elicitUrl("m", "https://x.test/").catch((error) => caught.push(error));
      return "ok";
    });
  const formOnly = await AskedClient.open(world, server, { capabilities: FORM });
  await formOnly.call("tools/call", { name: "url" });
  const urlOnly = await AskedClient.open(world, server, { capabilities: { elicitation: { url: {} } } });
  await urlOnly.call("tools/call", { name: "form" });
  deepEqual([...formOnly.questions, ...urlOnly.questions], []);
  equal(caught.length, 2);
  for (const error of caught) ok(["missing_capability", "rpc_error"].includes((error as RpcError).code));
});

verifies("elicitation:capability:not-declared", eachWire, async ({ connect, era }) => {
  const client = await connect(asking({ type: "object", properties: {} }));
  const call = client.callTool("ask");
  if (era === "legacy") {
    equal((await call).isError, true);
  } else {
    await rejects(call, (error: RpcError) => {
      equal(error.rpcCode, -32021);
      deepEqual(error.data, { requiredCapabilities: { elicitation: {} } });
      return true;
    });
  }
  equal(client.wire.serverRequests().length, 0);
});

const everyField = {
  type: "object",
  title: "Everything",
  properties: {
    name: { type: "string", title: "Name", description: "yours", minLength: 1, maxLength: 9 },
    mail: { type: "string", format: "email" },
    site: { type: "string", format: "uri" },
    day: { type: "string", format: "date" },
    moment: { type: "string", format: "date-time" },
    height: { type: "number", minimum: 0.5, maximum: 2.5, title: "Height", description: "in m" },
    age: { type: "integer", minimum: 0, maximum: 150 },
    sure: { type: "boolean", title: "Sure?", description: "really" },
  },
  required: ["name"],
} as const;

verifies(
  ["elicitation:form:basic", "elicitation:form:schema:primitives", "elicitation:form:action:accept"],
  eachWire,
  async ({ connect }) => {
    const seen: ElicitFormParams[] = [];
    const content = {
      name: "Ada",
      mail: "a@b.test",
      site: "https://x.test/",
      day: "2026-07-28",
      moment: "2026-07-28T10:00:00Z",
      height: 1.7,
      age: 36,
      sure: true,
    };
    const client = await connect(asking(everyField, "Tell me"), {
      onElicit: (params) => {
        seen.push(params);
        return { action: "accept", content };
      },
    });
    deepEqual(JSON.parse((await client.callTool("ask")).text), { action: "accept", content });
    deepEqual(seen, [{ mode: "form", message: "Tell me", requestedSchema: everyField }]);
  },
);

verifies(["elicitation:form:action:decline", "elicitation:form:action:cancel"], eachWire, async ({ connect }) => {
  for (const action of ["decline", "cancel"] as const) {
    const client = await connect(asking({ type: "object", properties: {} }), { onElicit: () => ({ action }) });
    const outcome = await client.callTool("ask");
    equal(outcome.isError, false);
    deepEqual(JSON.parse(outcome.text), { action });
  }
});

const options = [
  { const: "r", title: "Red" },
  { const: "g", title: "Green" },
];
const choices = {
  type: "object",
  properties: {
    one: { type: "string", enum: ["a", "b"] },
    titled: { type: "string", oneOf: options },
    many: { type: "array", items: { type: "string", enum: ["x", "y", "z"] }, minItems: 1, maxItems: 2 },
    titledMany: { type: "array", items: { anyOf: options }, minItems: 1, maxItems: 2 },
    old: { type: "string", enum: ["s", "m"], enumNames: ["Small", "Medium"] },
  },
};

verifies(
  ["elicitation:form:schema:enum-variants", "elicitation:form:schema:legacy-enum-names"],
  eachWire,
  async ({ connect }) => {
    const content = { one: "b", titled: "g", many: ["z", "x"], titledMany: ["r"], old: "m" };
    let seen: unknown;
    const client = await connect(asking(choices), {
      onElicit: ({ requestedSchema }) => {
        seen = requestedSchema;
        return { action: "accept", content };
      },
    });
    deepEqual(JSON.parse((await client.callTool("ask")).text).content, content);
    deepEqual(seen, choices);
  },
);

const refused: { readonly [what: string]: unknown } = {
  "a nested object": { type: "object", properties: { a: { type: "object", properties: {} } } },
  "an array of objects": { type: "object", properties: { a: { type: "array", items: { type: "object" } } } },
  "an array of free strings": { type: "object", properties: { a: { type: "array", items: { type: "string" } } } },
  "a union": { type: "object", properties: { a: { anyOf: [{ type: "string" }, { type: "null" }] } } },
  "a oneOf of types": { type: "object", properties: { a: { oneOf: [{ type: "string" }, { type: "number" }] } } },
  "a reference": { type: "object", properties: { a: { $ref: "#/$defs/a" } }, $defs: { a: { type: "string" } } },
  "a root that is no object": { type: "string" },
  "a root of alternatives": { type: "object", properties: {}, anyOf: [{ required: ["a"] }] },
};
const wrongDefaults: { readonly [what: string]: unknown } = {
  "a number for a text": { type: "object", properties: { a: { type: "string", default: 1 } } },
  "a choice that is not offered": { type: "object", properties: { a: { type: "string", enum: ["x"], default: "y" } } },
  "choices that are not offered": {
    type: "object",
    properties: { a: { type: "array", items: { type: "string", enum: ["x"] }, default: ["x", "y"] } },
  },
};

function refusesAll(table: { readonly [what: string]: unknown }, says: RegExp) {
  return async ({ connect }: World) => {
    const problems: string[] = [];
    const onError = (error: unknown) => void problems.push((error as Error).message);
    const server = new McpServer(me, { onError }).tool("ask", {}, async (_, ctx) => {
      for (const schema of Object.values(table)) {
        await ctx.elicit("m", schema as never).catch((error: Error) => problems.push(error.message));
      }
      return "done";
    });
    for (const [what, schema] of Object.entries(table)) {
      const params = { message: "m", requestedSchema: schema as never };
      server.tool(what, {}, () => inputRequired({ inputRequests: { q: { method: "elicitation/create", params } } }));
    }
    const asked: unknown[] = [];
    const client = await connect(server, {
      onElicit: (params) => {
        asked.push(params);
        return { action: "decline" };
      },
    });
    equal((await client.callTool("ask")).text, "done");
    for (const what of Object.keys(table)) await rejects(client.callTool(what), { rpcCode: -32603 });
    deepEqual(asked, []);
    deepEqual(client.wire.serverRequests(), []);
    equal(client.wire.responsesTo("tools/call").length, 1 + Object.keys(table).length);
    equal(problems.length, 2 * Object.keys(table).length);
    for (const problem of problems) match(problem, says);
  };
}

verifies(
  "elicitation:form:schema:restricted-subset",
  "is refused before anything is sent",
  eachWire,
  refusesAll(refused, /form|property/),
);
verifies(
  "elicitation:form:defaults:type-match",
  eachWire,
  refusesAll(wrongDefaults, /"a" has an invalid default: it must be /),
);
verifies(
  "elicitation:form:schema:required-known",
  eachWire,
  refusesAll({ stray: { type: "object", properties: {}, required: ["x"] } }, /"x"/),
);

verifies(
  "elicitation:form:schema:restricted-subset",
  "what changes no shape is kept",
  eachWire,
  async ({ connect }) => {
    const schema = {
      type: "object",
      title: "T",
      "x-layout": "wide",
      properties: { code: { type: "string", pattern: "^[a-z]+$", "x-hint": 1 } },
    };
    let seen: unknown;
    const client = await connect(asking(schema), {
      onElicit: ({ requestedSchema }) => {
        seen = requestedSchema;
        return { action: "accept", content: { code: "abc" } };
      },
    });
    await client.callTool("ask");
    deepEqual(seen, schema);
  },
);

verifies("elicitation:form:schema:restricted-subset", "is refused by type", eachWire, async ({ connect }) => {
  const server = new McpServer(me).tool("ask", {}, async (_, ctx) => {
    // @ts-expect-error a form is flat
    const nested = ctx.elicit("m", z.object({ home: z.object({ street: z.string() }) }));
    // @ts-expect-error a form is flat
    const plain = ctx.elicit("m", { type: "object", properties: { home: { type: "object" } } });
    const settled = await Promise.allSettled([nested, plain]);
    return settled.map(({ status }) => status).join();
  });
  const client = await connect(server, { onElicit: () => ({ action: "decline" }) });
  equal((await client.callTool("ask")).text, "rejected,rejected");
});

verifies(
  ["elicitation:form:mode-omitted-to-old-peers", "elicitation:form:schema:old-peers"],
  legacyChannels,
  async (world) => {
    const server = asking({
      type: "object",
      properties: { colour: { type: "string", title: "C", oneOf: options } },
    }).tool("many", {}, async (_, ctx) => {
      const many = { type: "array", items: { type: "string", enum: ["x"] } } as const;
      await ctx.elicit("m", { type: "object", properties: { many } });
      return "asked";
    });
    const client = await AskedClient.open(world, server, {
      version: "2025-06-18",
      capabilities: { elicitation: {} },
      answer: () => ({ action: "accept", content: { colour: "g" } }),
    });
    match(JSON.stringify((await client.call("tools/call", { name: "ask" })).result), /accept/);
    const colour = { type: "string", title: "C", enum: ["r", "g"], enumNames: ["Red", "Green"] };
    deepEqual(client.questions[0]?.params, {
      message: "Well?",
      requestedSchema: { type: "object", properties: { colour } },
    });
    equal((await client.call("tools/call", { name: "many" })).result?.isError, true);
    equal(client.questions.length, 1);
  },
);

verifies("elicitation:form:response-validation:server", channelWires, async (world) => {
  const server = asking({ type: "object", properties: { age: { type: "number" } } });
  const answers: ElicitResult[] = [
    { action: "accept", content: { age: "old", extra: "x" } },
    { action: "accept", content: { age: 7, extra: "x" } },
  ];
  let at = 0;
  const client = await AskedClient.open(world, server, { capabilities: FORM, answer: () => answers[at++] as never });
  const first = await client.call("tools/call", { name: "ask" });
  // Asked again where that is a matter of one more round, and an error where it is not.
  const text = (message: typeof first) => ((message.result?.content ?? []) as { text: string }[])[0]?.text ?? "";
  if (world.era === "legacy") {
    equal(first.result?.isError, true);
    match(text(first), /\/content\/age/);
  }
  const final = world.era === "legacy" ? await client.call("tools/call", { name: "ask" }) : first;
  deepEqual(JSON.parse(text(final)), { action: "accept", content: { age: 7 } });
});

verifies("elicitation:form:content-value-types", "the server's side", channelWires, async (world) => {
  for (const value of [{ b: 1 }, null, ["x", 1]]) {
    const server = asking({ type: "object", properties: { a: { type: "string" } } });
    const client = await AskedClient.open(world, server, {
      capabilities: FORM,
      answer: () => ({ action: "accept", content: { a: value } }),
    });
    const { result, error } = await client.call("tools/call", { name: "ask" });
    if (world.era === "legacy") equal(result?.isError, true);
    else equal(error?.code, -32602);
  }
});
