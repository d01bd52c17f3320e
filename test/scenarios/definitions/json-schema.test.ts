import { deepEqual, equal, match, ok, rejects, throws } from "node:assert/strict";
import { execFile } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { TestContext } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { type CallOptions, JSON_SCHEMA_DIALECTS, OutputError } from "bowline/client";
import { McpServer } from "bowline/server";
import { defaultValidator, jsonSchemaValidator } from "#src/schema/json-schema/validator.js";
import { cpuTime } from "../../support/cpu-time.js";
import { channelWires, eachWire } from "../../support/each-wire.js";
import { RawServer } from "../../support/server-script.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const ERAS = ["modern", "legacy"] as const;

/** Calls a tool of a strange server, with this output schema and this result. */
async function judged(
  t: TestContext,
  era: (typeof ERAS)[number],
  outputSchema: unknown,
  structuredContent: unknown,
  rewrite: (frame: string) => string = (frame) => frame,
  options: CallOptions = {},
) {
  const raw = new RawServer({
    era,
    rewrite,
    handlers: {
      "tools/list": () => ({ tools: [{ name: "t", inputSchema: { type: "object" }, outputSchema }] }),
      "tools/call": () => ({ content: [], structuredContent }),
    },
  });
  const client = await raw.connect(t);
  await client.listTools();
  return client.callTool("t", {}, options);
}

verifies("jsonschema:server:default-is-2020-12", eachWire, async ({ connect }) => {
  let ran = 0;
  const input = {
    type: "object",
    properties: { pair: { prefixItems: [{ type: "string" }] } },
    dependentRequired: { a: ["b"] },
    unevaluatedProperties: false,
  };
  const client = await connect(new McpServer(me).tool("t", { input }, () => String(++ran)));
  for (const args of [{ pair: [1] }, { other: 1 }, { a: 1 }]) equal((await client.callTool("t", args)).isError, true);
  equal(ran, 0);
  equal((await client.callTool("t", { pair: ["x"] })).text, "1");
});

const tuple = { properties: { pair: { items: [{ type: "string" }], additionalItems: false } }, definitions: { a: {} } };

verifies("jsonschema:declared-dialect", eachWire, async ({ connect }) => {
  const server = new McpServer(me);
  const uris = ["http", "https"].flatMap((scheme) =>
    ["", "#"].map((end) => `${scheme}://json-schema.org/draft-07/schema${end}`),
  );
  for (const [n, $schema] of uris.entries())
    server.tool(`old-${n}`, { input: { $schema, type: "object", ...tuple } }, () => "ran");
  throws(() => server.tool("new", { input: { type: "object", ...tuple } }, () => ""), { code: "definition_error" });
  const client = await connect(server);
  for (const n of uris.keys()) {
    equal((await client.callTool(`old-${n}`, { pair: ["x"] })).text, "ran");
    equal((await client.callTool(`old-${n}`, { pair: [1] })).isError, true);
    equal((await client.callTool(`old-${n}`, { pair: ["x", 2] })).isError, true);
  }
});

for (const era of ERAS) {
  const wire = { wire: `${era}-memory` };

  proves("jsonschema:declared-dialect", wire, "on the client", async (t) => {
    const $schema = "https://json-schema.org/draft-07/schema";
    const old = { $schema, type: "object", ...tuple };
    ok((await judged(t, era, old, { pair: ["x"] })).structured);
    await rejects(judged(t, era, old, { pair: [1] }), OutputError);
    await rejects(judged(t, era, { type: "object", ...tuple }, { pair: ["x"] }), OutputError);
  });

  proves(
    ["jsonschema:no-network-ref", "jsonschema:unresolved-ref-rejected", "jsonschema:network-ref-opt-in"],
    wire,
    "nothing is fetched",
    async (t) => {
      let visits = 0;
      const canary = createServer((_, response) => {
        visits++;
        response.end("{}");
      }).listen(0, "127.0.0.1");
      await once(canary, "listening");
      t.after(() => canary.close());
      const url = `http://127.0.0.1:${(canary.address() as AddressInfo).port}/schema.json`;
      const schemas = [
        { type: "object", properties: { a: { $ref: url } } },
        { type: "object", properties: { a: { $dynamicRef: `${url}#a` } } },
        { type: "object", $id: url, properties: { a: { $ref: "other.json" } } },
        { type: "object", properties: { a: { $ref: "file:///etc/hostname" } } },
      ];
      const dialect = { type: "object", $schema: url };
      const reports: unknown[] = [];
      const server = new McpServer(me, { onError: (error) => reports.push(error) });
      for (const schema of schemas) {
        throws(() => server.tool("in", { input: schema }, () => ""), { code: "definition_error" });
        throws(() => server.tool("out", { output: schema }, () => ({})), { code: "definition_error" });
        await rejects(judged(t, era, schema, { a: 1 }), OutputError);
      }
      throws(() => server.tool("in", { input: dialect }, () => ""), { code: "definition_error" });
      ok((await judged(t, era, dialect, { a: 1 })).structured);
      ok(
        (
          await judged(
            t,
            era,
            { type: "object", $id: url, properties: { a: { $ref: "#/$defs/a" } }, $defs: { a: true } },
            { a: 1 },
          )
        ).structured,
      );
      for (const option of [true, [url], "all"]) {
        const options = { fetch: option, allowHosts: option, loadSchema: option } as object;
        throws(() => jsonSchemaValidator(options).compile(schemas[0] ?? {}), { code: "definition_error" });
      }
      equal(visits, 0);
    },
  );

  proves("jsonschema:bounds", wire, "a hostile schema costs next to nothing", async (t) => {
    const levels = 30_000;
    const deep = `{"type":"object",${'"properties":{"a":{'.repeat(levels)}"type":"string"${"}}".repeat(levels)}}`;
    const $defs: Record<string, unknown> = { n0: { type: "string" } };
    for (let level = 1; level < 40; level++) {
      $defs[`n${level}`] = {
        anyOf: [{ $ref: `#/$defs/n${level - 1}` }, { allOf: [{ $ref: `#/$defs/n${level - 1}` }] }],
      };
    }
    const wide = { type: "object", $defs, properties: { a: { $ref: "#/$defs/n39" } } };
    const hostile = ["deep", wide, { type: "object", properties: { a: { type: "string", pattern: "^(a+)+$" } } }];
    const values = [{ a: {} }, { a: 1 }, { a: `${"a".repeat(60)}!` }];
    for (const [n, schema] of hostile.entries()) {
      const tookMs = cpuTime();
      await rejects(
        judged(t, era, schema, values[n], (frame) => frame.replace('"deep"', deep)),
        OutputError,
      );
      ok(tookMs() < 2_000, `took ${tookMs()} ms`);
    }
  });

  proves("jsonschema:bounds:pattern", wire, "a pattern fails its own schema alone", async (t) => {
    const schema = (pattern: string) => ({ type: "object", properties: { a: { type: "string", pattern } } });
    await rejects(judged(t, era, schema("(unclosed"), { a: "x" }), OutputError);
    await rejects(judged(t, era, schema("^a+$"), { a: "b" }), OutputError);
    ok((await judged(t, era, schema("^a+$"), { a: "aaa" })).structured);
  });

  proves("jsonschema:bounds:pattern", wire, "no pattern takes a call beyond its deadline", async (t) => {
    const schema = (pattern: string) => ({ type: "object", properties: { a: { type: "string", pattern } } });
    const text = "a".repeat(400_000);
    const hostile = ["^(?:aa|aaa)*$", "^(?:a+){1,30}$", "^(a+)+$", "\\w+\\d$", `${"a*".repeat(30)}b`, "^(?:\\w|a)*$"];
    for (const pattern of hostile) {
      const call = judged(t, era, schema(pattern), { a: `${text}!` }, undefined, { deadlineMs: 20_000 });
      await rejects(call, (error) => error instanceof OutputError && error.issues[0]?.path === "/a", pattern);
    }
  });

  proves(
    "jsonschema:bounds:pattern",
    wire,
    "one that cannot be matched is reported once and fails nothing",
    async (t) => {
      const warnings: string[] = [];
      const outputSchema = {
        type: "object",
        properties: { a: { type: "string", pattern: "^(?!b)" }, b: { type: "string", pattern: "a{100000}" } },
      };
      const raw = new RawServer({
        era,
        handlers: {
          "tools/list": () => ({ tools: [{ name: "t", inputSchema: { type: "object" }, outputSchema }] }),
          "tools/call": () => ({ content: [], structuredContent: { a: "b", b: "b" } }),
        },
      });
      const client = await raw.connect(t, { logger: { warn: (message: string) => warnings.push(message) } });
      await client.listTools();
      for (let call = 0; call < 3; call++) ok((await client.callTool("t")).structured);
      const [warning, ...more] = warnings.filter((message) => message.startsWith("tool t"));
      deepEqual(more, []);
      match(warning ?? "", /^tool t: its output is not checked against the pattern "\^\(\?!b\)".*\(and 1 more\)$/);
    },
  );

  proves("jsonschema:bounds", wire, "a check that costs too much is given up, with words", async (t) => {
    const outputSchema = {
      type: "object",
      properties: { a: { items: { anyOf: Array.from({ length: 900 }, () => ({ type: "string" })) } } },
    };
    await rejects(judged(t, era, outputSchema, { a: new Array(20_000).fill(0) }), (error) => {
      ok(error instanceof OutputError);
      match(
        error.issues[0]?.message ?? "",
        /^takes more than 4000000 steps to check; raise limits\.maxSteps of jsonSchemaValidator$/,
      );
      return true;
    });
  });
}

verifies("jsonschema:bounds:pattern", "of an author", eachWire, async ({ connect }) => {
  const schema = (pattern: string) => ({ type: "object", properties: { a: { type: "string", pattern } } });
  const server = new McpServer(me).tool("t", { input: schema("^(?:aa|aaa)*$") }, () => "ran");
  for (const pattern of ["^(?!b)", "(a)\\1", "a{100000}"]) {
    throws(() => server.tool("bad", { input: schema(pattern) }, () => ""), {
      code: "definition_error",
      message: /^tool "bad".*#\/properties\/a\/pattern: the pattern/,
    });
  }
  const client = await connect(server);
  equal((await client.callTool("t", { a: "a".repeat(60) })).text, "ran");
  equal((await client.callTool("t", { a: `${"a".repeat(100_000)}!` })).isError, true);
});

verifies("jsonschema:server:unsupported-dialect", eachWire, async ({ connect }) => {
  const $schema = "https://example.com/own-dialect";
  const reports: string[] = [];
  const form = { $schema, type: "object", properties: { a: { type: "string" } } } as const;
  const server = new McpServer(me, { onError: (error) => reports.push(String(error)) }).tool(
    "ask",
    {},
    async (_, ctx) => {
      await ctx.elicit("?", form);
      return "asked";
    },
  );
  throws(() => server.tool("t", { input: form }, () => ""), { code: "definition_error", message: /own-dialect/ });
  throws(() => server.tool("t", { output: form }, () => ({})), { code: "definition_error", message: /own-dialect/ });
  const client = await connect(server, { onElicit: () => ({ action: "cancel" }) });
  equal((await client.callTool("ask")).isError, true);
  match(reports[0] ?? "", /own-dialect/);
});

verifies("jsonschema:server:invalid-schema-refused", eachWire, async ({ connect }) => {
  const server = new McpServer(me).tool("fine", {}, () => "");
  for (const property of [{ type: "strng" }, { required: "a" }, { minimum: "1" }]) {
    const input = { type: "object", properties: { a: property } };
    throws(() => server.tool("bad", { input }, () => ""), { code: "definition_error", message: /#\/properties\/a/ });
  }
  const client = await connect(server);
  equal((await client.listTools()).tools.length, 1);
});

verifies("jsonschema:bounds:instance-depth", channelWires, async (world) => {
  const input = {
    type: "object",
    properties: { a: { $ref: "#/$defs/list" } },
    $defs: { list: { type: "array", items: { $ref: "#/$defs/list" } } },
  };
  const server = new McpServer(me).tool("t", { input }, () => "ran").tool("fine", {}, () => "served");
  const client = await world.connect(server);
  const nested = `${"[".repeat(100_000)}${"]".repeat(100_000)}`;
  const channel = await world.channel(server);
  const answered = new Promise<string>((resolve) => {
    void channel.open({
      onFrame: (frame) => frame.includes('"deep"') && resolve(frame),
      onProblem: () => {},
      onClose: () => {},
    });
  });
  const meta = `{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`;
  if (world.era === "legacy") {
    await channel.send(
      `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"c","version":"1"}}}`,
    );
    await channel.send('{"jsonrpc":"2.0","method":"notifications/initialized"}');
  }
  const envelope = world.era === "modern" ? `,"_meta":${meta}` : "";
  await channel.send(
    `{"jsonrpc":"2.0","id":"deep","method":"tools/call","params":{"name":"t","arguments":{"a":${nested}}${envelope}}}`,
  );
  match(await answered, /"isError":true/);
  equal((await client.callTool("fine")).text, "served");
});

proves("jsonschema:bounds:instance-depth", {}, "whoever asks", () => {
  let value: unknown[] = [];
  for (let level = 0; level < 100_000; level++) value = [value];
  const check = defaultValidator.compile({
    $ref: "#/$defs/list",
    $defs: { list: { type: "array", items: { $ref: "#/$defs/list" } } },
  });
  equal(check(value).length, 1);
});

proves("jsonschema:dialects-documented", {}, "the list is the page's list, and each of it works", () => {
  const page = readFileSync(new URL("../../../../docs/json-schema.md", import.meta.url), "utf8");
  const documented = [...page.matchAll(/^- `(.*)`$/gm)].map(([, uri]) => uri);
  equal(documented.join(), JSON_SCHEMA_DIALECTS.join());
  for (const $schema of JSON_SCHEMA_DIALECTS) {
    const check = jsonSchemaValidator().compile({ $schema, type: "object", required: ["a"] });
    equal(check({ a: 1 }).length, 0);
    equal(check({}).length, 1);
  }
});

proves("validation:no-eval", {}, "where code may not be made from strings", async () => {
  const tests = fileURLToPath(new URL("../../unit/schema/json-schema/validator.test.js", import.meta.url));
  const { NODE_TEST_CONTEXT: _, BOWLINE_PROOFS: __, ...env } = process.env;
  const { stdout } = await promisify(execFile)(process.execPath, ["--disallow-code-generation-from-strings", tests], {
    env,
  });
  match(stdout, /fail 0/);
  ok(!/pass 0/.test(stdout));
});
