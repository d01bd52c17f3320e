import { deepEqual, equal, match } from "node:assert/strict";
import type { ClientOptions, ToolCallOptions } from "bowline/client";
import { answerAll, scripted } from "../../support/http-script.js";
import { proves } from "../../support/verifies.js";

const wire = { wire: "modern-http" };
type Properties = Record<string, unknown>;

function tool(name: string, properties: Properties, more: object = {}) {
  return { name, inputSchema: { type: "object", properties, ...more } };
}

function listing(...tools: object[]) {
  return { resultType: "complete", tools, ttlMs: 0, cacheScope: "private" };
}

const called = { resultType: "complete", content: [] };
const good = tool("good", { region: { type: "string", "x-mcp-header": "Region" } });
const header = (value: unknown, type: unknown = "string") => ({ a: { type, "x-mcp-header": value } });

const INVALID: Record<string, object[]> = {
  "client-transport:x-mcp-header:not-empty": ["", 5, null, true, {}].map((value, n) => tool(`e${n}`, header(value))),
  "client-transport:x-mcp-header:token-syntax": ["a b", "a:b", "a\tb", "é", "a\r\nb"].map((value, n) =>
    tool(`t${n}`, header(value)),
  ),
  "client-transport:x-mcp-header:unique-ci": [
    tool("u0", { a: { type: "string", "x-mcp-header": "Region" }, b: { type: "string", "x-mcp-header": "Region" } }),
    tool("u1", {
      a: { type: "string", "x-mcp-header": "Region" },
      o: { type: "object", properties: { b: { type: "string", "x-mcp-header": "REGION" } } },
    }),
  ],
  "client-transport:x-mcp-header:primitive-only": [
    ...["number", "array", "object", "null", ["string", "null"]].map((type, n) =>
      tool(`p${n}`, header("Region", type)),
    ),
    tool("p-untyped", { a: { "x-mcp-header": "Region" } }),
  ],
  "client-transport:x-mcp-header:static-path": [
    ...["items", "not", "if", "then", "else", "additionalProperties", "contains", "propertyNames"].map((keyword) =>
      tool(`s-${keyword}`, { o: { [keyword]: { type: "string", "x-mcp-header": "R" } } }),
    ),
    ...["oneOf", "anyOf", "allOf", "prefixItems"].map((keyword) =>
      tool(`s-${keyword}`, { o: { [keyword]: [{ type: "string", "x-mcp-header": "R" }] } }),
    ),
    ...["$defs", "patternProperties", "dependentSchemas"].map((keyword) =>
      tool(`s-${keyword}`, { o: { [keyword]: { k: { type: "string", "x-mcp-header": "R" } } } }),
    ),
    tool("s-root", {}, { "x-mcp-header": "R" }),
  ],
};

for (const [id, tools] of Object.entries(INVALID)) {
  proves(
    [id, "client-transport:x-mcp-header:warn"],
    wire,
    "such tools are left out, each with a word why",
    async (t) => {
      const warnings: unknown[][] = [];
      const logger: ClientOptions["logger"] = { warn: (...said) => warnings.push(said) };
      const { connectTo } = await scripted(
        t,
        answerAll((received) => received.result(listing(good, ...tools))),
      );
      const client = await connectTo({ logger });
      const { tools: left } = await client.listTools();
      deepEqual(
        left.map(({ name }) => name),
        ["good"],
      );
      equal(warnings.length, tools.length);
      for (const [n, bad] of tools.entries()) {
        match(JSON.stringify(warnings[n]), new RegExp((bad as { name: string }).name.replace("$", "\\$")));
        match(JSON.stringify(warnings[n]), /x-mcp-header|used twice/);
      }
    },
  );
}

proves("client-transport:x-mcp-header:static-path", wire, "what only looks like an annotation is none", async (t) => {
  const data = { "x-mcp-header": "R" };
  const innocent = tool("innocent", {
    "x-mcp-header": { type: "string" },
    a: { default: data, const: data, enum: [data], examples: [data] },
  });
  const tokens = tool("tokens", { a: { type: "string", "x-mcp-header": "!#$%&'*+-.^_`|~09azAZ" } });
  const { connectTo } = await scripted(
    t,
    answerAll((received) => received.result(listing(innocent, tokens))),
  );
  const client = await connectTo();
  deepEqual(
    (await client.listTools()).tools.map(({ name }) => name),
    ["innocent", "tokens"],
  );
});

proves("client-transport:x-mcp-header:token-syntax", wire, "each character of a token, and any name", async (t) => {
  const tchars = "!#$%&'*+-.^_`|~0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  const tools = [tool("tokens", header(tchars)), tool("reserved", header("Method"))];
  const { script, connectTo } = await scripted(
    t,
    answerAll((received) => received.result(received.rpcMethod === "tools/list" ? listing(...tools) : called)),
  );
  const client = await connectTo();
  equal((await client.listTools()).tools.length, 2);
  for (const name of ["tokens", "reserved"]) await client.callTool(name, { a: "x" });
  const [tokens, reserved] = script.all("tools/call").map(({ headers }) => headers);
  equal(tokens?.[`mcp-param-${tchars.toLowerCase()}`], "x");
  deepEqual([reserved?.["mcp-param-method"], reserved?.["mcp-method"]], ["x", "tools/call"]);
});

proves("client-transport:x-mcp-header:exclude-invalid", wire, "other tools of all pages are kept", async (t) => {
  const bad = tool("bad", header("two words"));
  const last = tool("last", {});
  const { script, connectTo } = await scripted(
    t,
    answerAll((received) => {
      if (received.rpcMethod === "tools/call") received.result(called);
      else if (received.message.params?.cursor === "next") received.result(listing(last));
      else received.result({ ...listing(bad, good), nextCursor: "next" });
    }),
  );
  const client = await connectTo();
  const names: string[] = [];
  for await (const { name } of client.tools()) names.push(name);
  deepEqual(names, ["good", "last"]);
  await client.callTool("bad", { a: "x" });
  const headers = Object.keys(script.all("tools/call")[0]?.headers ?? {});
  deepEqual(
    headers.filter((name) => name.startsWith("mcp-param-")),
    [],
  );
});

proves(
  "client-transport:x-mcp-header:schema-source",
  wire,
  "the latest listing decides, and none is made for it",
  async (t) => {
    let tools: object[] = [good];
    const { script, connectTo } = await scripted(
      t,
      answerAll((received) => received.result(received.rpcMethod === "tools/list" ? listing(...tools) : called)),
    );
    const client = await connectTo();
    const mirrored = async () => {
      await client.callTool("good", { region: "eu" });
      return script.all("tools/call").at(-1)?.headers["mcp-param-region"];
    };
    equal(await mirrored(), undefined);
    equal(script.all("tools/list").length, 0);
    await client.listTools();
    equal(await mirrored(), "eu");
    tools = [tool("good", { region: { type: "string" } })];
    await client.listTools();
    equal(await mirrored(), undefined);
    tools = [good];
    await client.listTools();
    equal(await mirrored(), "eu");
    tools = [tool("other", {})];
    await client.listTools();
    equal(await mirrored(), undefined);
    const asked = script.all("tools/list").length;
    await client.callTool("good", { region: "us" }, { tool: good as unknown as NonNullable<ToolCallOptions["tool"]> });
    equal(script.all("tools/call").at(-1)?.headers["mcp-param-region"], "us");
    equal(script.all("tools/list").length, asked);
  },
);

proves(
  "client-transport:x-mcp-header:legacy-inactive",
  { wire: "legacy-http" },
  "in a session annotations mean nothing",
  async (t) => {
    const tools = [good, tool("bad", header("two words"))];
    const { script, connectTo } = await scripted(
      t,
      answerAll((received) => received.result(received.rpcMethod === "tools/list" ? { tools } : { content: [] })),
    );
    const client = await connectTo({ era: "legacy" });
    deepEqual(
      (await client.listTools()).tools.map(({ name }) => name),
      ["good", "bad"],
    );
    await client.callTool("good", { region: "eu" });
    equal(script.all("tools/call")[0]?.headers["mcp-param-region"], undefined);
  },
);
