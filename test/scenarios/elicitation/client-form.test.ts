import { deepEqual, equal, match, ok } from "node:assert/strict";
import type { ElicitFormParams, ElicitResult } from "bowline";
import type { ClientOptions } from "bowline/client";
import { askingServers, legacyAsking } from "../../support/server-script.js";
import { verifies } from "../../support/verifies.js";

const form = { message: "Who?", requestedSchema: { type: "object", properties: { name: { type: "string" } } } };
const accepting = (content: ElicitResult["content"] = {}): Required<Pick<ClientOptions, "onElicit">> => ({
  onElicit: () => ({ action: "accept", content: content as NonNullable<ElicitResult["content"]> }),
});

verifies("elicitation:form:not-supported", legacyAsking, async (server) => {
  await server.connect();
  equal((await server.ask("elicitation/create", form)).code, -32602);
  equal((await server.ask("elicitation/create", { ...form, mode: "form" })).code, -32602);
});

verifies(
  ["elicitation:capability:mode-mismatch", "elicitation:url:not-supported"],
  "a mode that was not declared is refused with -32602, and its handler does not run",
  legacyAsking,
  async (server) => {
    let ran = 0;
    const onElicit = () => {
      ran++;
      return { action: "accept" } as const;
    };
    await server.connect({ onElicit });
    equal((await server.ask("elicitation/create", { mode: "url", message: "m", url: "https://x.test/" })).code, -32602);
    equal((await server.ask("elicitation/create", { ...form, mode: "carrier-pigeon" })).code, -32602);
    equal(ran, 0);
  },
);

verifies("elicitation:capability:mode-mismatch", "a form for a client of pages", legacyAsking, async (server) => {
  await server.connect({ onElicitUrl: () => ({ action: "accept" }) });
  equal((await server.ask("elicitation/create", { ...form, mode: "form" })).code, -32602);
});

verifies("elicitation:form:mode-omitted-default", askingServers, async (server) => {
  await server.connect(accepting({ name: "Ada" }));
  deepEqual((await server.ask("elicitation/create", form)).answer, { action: "accept", content: { name: "Ada" } });
});

verifies("elicitation:form:mode-omitted-default", "is no mode of a url-only client", askingServers, async (server) => {
  await server.connect({ onElicitUrl: () => ({ action: "accept" }) });
  const reply = await server.ask("elicitation/create", form);
  match(reply.message ?? "", /mode/);
  equal(reply.answer, undefined);
  if (server.era === "legacy") equal(reply.code, -32602);
});

verifies(
  "elicitation:form:message-required",
  "the client refuses a form without one",
  askingServers,
  async (server) => {
    await server.connect(accepting());
    for (const member of ["message", "requestedSchema"] as const) {
      const { [member]: _, ...rest } = form;
      const reply = await server.ask("elicitation/create", rest);
      match(reply.message ?? "", new RegExp(member));
      if (server.era === "legacy") equal(reply.code, -32602);
      else ok(reply.failure instanceof Error);
    }
  },
);

verifies("elicitation:form:schema:inbound-lenient", askingServers, async (server) => {
  const seen: ElicitFormParams[] = [];
  await server.connect({
    onElicit: (params) => {
      seen.push(params);
      return { action: "decline" };
    },
  });
  const odd = [
    { type: "object", properties: { age: { anyOf: [{ type: "number" }, { type: "null" }] } } },
    { type: "object", properties: { home: { type: "object", properties: { street: { type: "string" } } } } },
    { $ref: "#/$defs/form", $defs: { form: { type: "object" } } },
  ];
  for (const requestedSchema of odd) {
    const asked = { mode: "form", message: "odd", requestedSchema };
    deepEqual((await server.ask("elicitation/create", asked)).answer, { action: "decline" });
    deepEqual(seen.at(-1), asked);
  }
});

const everyDefault = {
  text: { type: "string", default: "t" },
  number: { type: "number", default: 1.5 },
  integer: { type: "integer", default: 2 },
  yes: { type: "boolean", default: true },
  one: { type: "string", enum: ["a", "b"], default: "b" },
  many: { type: "array", items: { type: "string", enum: ["x", "y"] }, default: ["y"] },
};

verifies("elicitation:form:defaults", askingServers, async (server) => {
  const given: ElicitResult["content"][] = [{}, { text: "", number: 0, integer: 0, yes: false, one: "a", many: [] }];
  const forms: unknown[] = [];
  const client = await server.connect({
    onElicit: (params) => {
      forms.push(params.requestedSchema);
      return { action: "accept", content: given[forms.length - 1] as NonNullable<ElicitResult["content"]> };
    },
  });
  const requestedSchema = { type: "object", properties: everyDefault };
  const ask = async () => (await server.ask("elicitation/create", { message: "m", requestedSchema })).answer?.content;
  deepEqual(await ask(), { text: "t", number: 1.5, integer: 2, yes: true, one: "b", many: ["y"] });
  deepEqual(await ask(), given[1]);
  deepEqual(forms, [requestedSchema, requestedSchema]);
  deepEqual(client.capabilities.elicitation, { form: {} });
});

verifies("elicitation:form:defaults", "a client may leave them alone", askingServers, async (server) => {
  await server.connect({ ...accepting({}), applyDefaults: false });
  const requestedSchema = { type: "object", properties: everyDefault };
  deepEqual((await server.ask("elicitation/create", { message: "m", requestedSchema })).answer?.content, {});
});

verifies("elicitation:form:response-validation:client", askingServers, async (server) => {
  const problems: Error[] = [];
  await server.connect({ ...accepting({ age: "old" }), onError: (error) => problems.push(error) });
  const requestedSchema = { type: "object", properties: { age: { type: "number" } } };
  const reply = await server.ask("elicitation/create", { message: "m", requestedSchema });
  const error = server.era === "legacy" ? problems[0] : (reply.failure as Error);
  match(error?.message ?? "", /\/content\/age/);
  if (server.era === "legacy") equal(reply.code, -32603);
  else equal(server.requests("tools/call").length, 1);
});

verifies(
  "elicitation:form:response-validation:client",
  "a form that cannot be understood is not judged",
  askingServers,
  async (server) => {
    await server.connect(accepting({ age: "old" }));
    const requestedSchema = { type: "object", properties: { age: { type: "number", pattern: "(" } } };
    const reply = await server.ask("elicitation/create", {
      message: "m",
      requestedSchema: { ...requestedSchema, $ref: "https://x.test/s" },
    });
    deepEqual(reply.answer, { action: "accept", content: { age: "old" } });
  },
);

verifies("elicitation:form:content-value-types", "the client's side", askingServers, async (server) => {
  const bad = [{ a: { b: 1 } }, { a: null }, { a: ["x", 1] }];
  let at = 0;
  await server.connect({ onElicit: () => ({ action: "accept", content: bad[at++] as never }), onError: () => {} });
  const requestedSchema = { type: "object", properties: { a: {} } };
  for (const _ of bad) {
    const reply = await server.ask("elicitation/create", { message: "m", requestedSchema });
    equal(reply.answer, undefined);
    if (server.era === "legacy") equal(reply.code, -32603);
  }
});

verifies(
  ["elicitation:form:action:decline", "elicitation:form:action:cancel"],
  "content that the handler attached is not sent",
  askingServers,
  async (server) => {
    let action: ElicitResult["action"] = "decline";
    await server.connect({ onElicit: () => ({ action, content: { name: "secret" } }) });
    deepEqual((await server.ask("elicitation/create", form)).answer, { action: "decline" });
    action = "cancel";
    deepEqual((await server.ask("elicitation/create", form)).answer, { action: "cancel" });
  },
);

verifies("mrtr:client:same-handlers", askingServers, async (server) => {
  const asked: string[] = [];
  await server.connect({
    onElicit: () => {
      asked.push("form");
      return { action: "decline" };
    },
    onElicitUrl: () => {
      asked.push("url");
      return { action: "cancel" };
    },
    onSample: () => {
      asked.push("sample");
      return { role: "assistant", content: { type: "text", text: "hi" }, model: "m" };
    },
    roots: () => {
      asked.push("roots");
      return [];
    },
  });
  equal((await server.ask("elicitation/create", form)).answer?.action, "decline");
  equal(
    (await server.ask("elicitation/create", { mode: "url", message: "m", url: "https://x.test" })).answer?.action,
    "cancel",
  );
  equal((await server.ask("sampling/createMessage", { messages: [], maxTokens: 1 })).answer?.model, "m");
  deepEqual((await server.ask("roots/list")).answer, { roots: [] });
  deepEqual(asked, ["form", "url", "sample", "roots"]);
});

verifies(
  ["jsonschema:bounds:pattern", "elicitation:form:response-validation:client"],
  "a server's pattern meets the server's default in linear time",
  askingServers,
  async (server) => {
    const problems: Error[] = [];
    await server.connect({ ...accepting(), onError: (error) => problems.push(error) });
    const text = `${"a".repeat(300_000)}!`;
    const properties = { a: { type: "string", pattern: "^(?:aa|aaa)*$", default: text } };
    const reply = await server.ask("elicitation/create", {
      message: "m",
      requestedSchema: { type: "object", properties },
    });
    const error = server.era === "legacy" ? problems[0] : (reply.failure as Error);
    match(error?.message ?? "", /\/content\/a must match \^\(\?:aa\|aaa\)\*\$/);
  },
);

verifies(
  ["jsonschema:bounds:pattern", "elicitation:form:schema:inbound-lenient"],
  "a server's pattern that cannot be matched is reported, and the answer is sent",
  askingServers,
  async (server) => {
    const warnings: string[] = [];
    await server.connect({ ...accepting({ b: "b" }), logger: { warn: (message: string) => warnings.push(message) } });
    const properties = {
      a: { type: "string", pattern: "^(?!b)", default: "b" },
      b: { type: "string", pattern: "(" },
    };
    const { answer } = await server.ask("elicitation/create", {
      message: "m",
      requestedSchema: { type: "object", properties },
    });
    deepEqual(answer?.content, { a: "b", b: "b" });
    const [warning, ...more] = warnings.filter((message) => message.startsWith("elicitation/create"));
    match(warning ?? "", /the response is not checked against the pattern/);
    deepEqual(more, []);
  },
);

verifies(
  ["jsonschema:bounds:pattern", "elicitation:form:schema:inbound-lenient"],
  "a check of a server's form that costs too much is given up and reported, and the answer is sent",
  askingServers,
  async (server) => {
    const warnings: string[] = [];
    await server.connect({ ...accepting(), logger: { warn: (message: string) => warnings.push(message) } });
    const properties = { a: { type: "string", pattern: "(?:é?){900}x$", default: "é".repeat(20_000) } };
    const requestedSchema = { type: "object", properties };
    const { answer } = await server.ask("elicitation/create", { message: "m", requestedSchema });
    equal(JSON.stringify(answer?.content).length, 20_008);
    const [warning, ...more] = warnings.filter((message) => message.startsWith("elicitation/create"));
    match(warning ?? "", /more than 4000000 steps/);
    deepEqual(more, []);
  },
);
