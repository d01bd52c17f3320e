import { deepEqual, equal, rejects } from "node:assert/strict";
import { McpServer } from "bowline/server";
import * as z from "zod";
import { channelWires, eachWire, legacyChannels, modernWires } from "../../support/each-wire.js";
import { AskedClient } from "../../support/raw-client.js";
import { askingServers } from "../../support/server-script.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const LANGUAGES = ["python", "typescript", "perl"];
const prompt = { type: "ref/prompt", name: "review" } as const;
const template = { type: "ref/resource", uri: "db://{table}/{id}" } as const;

function completing() {
  return new McpServer(me)
    .prompt(
      "review",
      {
        arguments: z.object({ language: z.string(), framework: z.string(), plain: z.string().optional() }),
        complete: {
          language: (value) => LANGUAGES.filter((name) => name.startsWith(value)),
          framework: async (value, _, { language = "any" }) => [`${language}-${value}`],
        },
      },
      () => "x",
    )
    .prompt("off", { complete: { a: () => ["b"] } }, () => "x")
    .resource(template.uri, { name: "row", complete: { table: (value) => [`${value}s`] } }, () => "x");
}

verifies("completion:capability:declared", eachWire, async ({ connect }) => {
  deepEqual((await connect(completing())).server.capabilities.completions, {});
  const none = await connect(new McpServer(me).prompt("p", {}, () => "x"));
  equal(none.server.capabilities.completions, undefined);
  await rejects(none.complete({ type: "ref/prompt", name: "p" }, { name: "a", value: "" }), { rpcCode: -32601 });
});

verifies("completion:capability:declared", "in every version that has it", legacyChannels, async (world) => {
  for (const version of ["2025-03-26", "2025-06-18", "2025-11-25"]) {
    const client = await AskedClient.open(world, completing(), { version });
    const { capabilities } = client.received[0]?.result ?? {};
    deepEqual((capabilities as { completions?: unknown }).completions, {});
  }
});

verifies("completion:complete:not-supported", eachWire, async ({ connect }) => {
  const client = await connect(new McpServer(me).tool("t", {}, () => "x"));
  await rejects(client.complete(prompt, { name: "a", value: "" }), { rpcCode: -32601 });
});

verifies(["completion:prompt-arg", "completion:context-arguments"], eachWire, async ({ connect }) => {
  const client = await connect(completing());
  deepEqual((await client.complete(prompt, { name: "language", value: "p" })).values, ["python", "perl"]);
  const framework = { name: "framework", value: "f" };
  deepEqual((await client.complete(prompt, framework)).values, ["any-f"]);
  deepEqual((await client.complete(prompt, framework, { language: "perl" })).values, ["perl-f"]);
  const sent = client.wire.requests("completion/complete").map(({ params }) => params?.context);
  deepEqual(sent, [undefined, undefined, { arguments: { language: "perl" } }]);
});

verifies("completion:resource-template-arg", eachWire, async ({ connect }) => {
  const client = await connect(completing());
  deepEqual((await client.complete(template, { name: "table", value: "user" })).values, ["users"]);
});

verifies("completion:resource-template-arg", "by a URI of the family", modernWires, async ({ connect }) => {
  const client = await connect(completing());
  const ref = { type: "ref/resource", uri: "db://users/7" } as const;
  deepEqual((await client.complete(ref, { name: "table", value: "user" })).values, ["users"]);
});

verifies(["completion:error:invalid-ref", "completion:error:missing-argument"], channelWires, async (world) => {
  const server = completing();
  server.edit.prompt("off").disable();
  const client = await AskedClient.open(world, server);
  const argument = { name: "language", value: "" };
  for (const params of [
    { ref: { type: "ref/prompt", name: "nope" }, argument },
    { ref: { type: "ref/prompt", name: "off" }, argument: { name: "a", value: "" } },
    { ref: { type: "ref/resource", uri: "nope://x" }, argument },
    { ref: { type: "ref/tool", name: "review" }, argument },
    { ref: prompt },
    { ref: prompt, argument: { value: "" } },
    { ref: template },
  ]) {
    equal((await client.request("completion/complete", params)).error?.code, -32602, JSON.stringify(params));
  }
});

verifies(["completion:no-completer-empty", "completion:unknown-argument-empty"], eachWire, async ({ connect }) => {
  const client = await connect(completing());
  for (const [ref, name] of [
    [prompt, "plain"],
    [template, "id"],
    [prompt, "nope"],
    [template, "nope"],
    [prompt, "constructor"],
  ] as const) {
    deepEqual(await client.complete(ref, { name, value: "x" }), { values: [], total: 0, hasMore: false });
  }
});

verifies(["completion:truncate", "completion:order-preserved"], eachWire, async ({ connect }) => {
  const many = Array.from({ length: 250 }, (_, index) => `v${(index * 7919) % 250}`);
  const server = new McpServer(me).prompt(
    "p",
    { complete: { many: () => many, hundred: () => many.slice(0, 100) } },
    () => "x",
  );
  const client = await connect(server);
  const ref = { type: "ref/prompt", name: "p" } as const;
  deepEqual(await client.complete(ref, { name: "many", value: "" }), {
    values: many.slice(0, 100),
    total: 250,
    hasMore: true,
  });
  equal((await client.complete(ref, { name: "hundred", value: "" })).hasMore, false);
});

verifies("completion:result-shape", "a client needs the values alone", askingServers, async (server) => {
  server.results.set("completion/complete", { completion: { values: ["a"] } });
  const client = await server.connect();
  deepEqual(await client.complete(prompt, { name: "language", value: "" }), { values: ["a"] });
});

verifies("completion:result-shape", "a method of the author's own is bounded too", eachWire, async ({ connect }) => {
  const values = Array.from({ length: 101 }, (_, index) => String(index));
  const client = await connect(new McpServer(me).method("completion/complete", {}, () => ({ completion: { values } })));
  deepEqual(await client.complete(prompt, { name: "a", value: "" }), { values: values.slice(0, 100), hasMore: true });
});

verifies("completion:handler-throws", eachWire, async ({ connect }) => {
  const server = new McpServer(me).prompt(
    "p",
    {
      complete: {
        a: () => {
          throw new Error("password is hunter2");
        },
      },
    },
    () => "x",
  );
  const call = (await connect(server)).complete({ type: "ref/prompt", name: "p" }, { name: "a", value: "" });
  await rejects(call, { rpcCode: -32603, message: "Internal error" });
});
