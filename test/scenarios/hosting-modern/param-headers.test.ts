import { deepEqual, equal, match } from "node:assert/strict";
import { defineServer, eachHost, faultOf, listen, type Send } from "../../support/modern-hosts.js";
import { modernRequest } from "../../support/modern-request.js";
import { rawPost } from "../../support/plain-http.js";
import { proves, verifies } from "../../support/verifies.js";

const MISMATCH = [400, -32020, 1];

const input = {
  type: "object",
  properties: {
    region: { type: ["string", "null"] },
    count: { type: "integer", "x-mcp-header": "Count" },
    dry: { type: "boolean", "x-mcp-header": "Dry-Run" },
    where: { type: "string", "x-mcp-header": "Where" },
    filter: { type: "object", properties: { region: { type: "string", "x-mcp-header": "Region" } } },
  },
} as const;

function createAnnotated() {
  const ran: unknown[] = [];
  const server = defineServer()
    .tool("query", { input }, (args) => {
      ran.push(args);
      return "ok";
    })
    .tool("plain", {}, () => "ok");
  return { server, ran };
}

const query = (args: unknown, headers: Record<string, string> = {}, name = "query") =>
  modernRequest("tools/call", { params: { name, arguments: args }, headers });

async function statusOf(send: Send, args: unknown, headers: Record<string, string>, name?: string): Promise<number> {
  const response = await send(query(args, headers, name));
  await response.text();
  return response.status;
}

verifies(
  ["hosting:http:modern:param-validate-match", "hosting:http:modern:param-missing"],
  eachHost,
  async ({ serve }) => {
    const { server, ran } = createAnnotated();
    const send = await serve(server);
    equal(await statusOf(send, { where: "eu" }, { "mcp-param-where": "eu" }), 200);
    equal(await statusOf(send, { where: "Zürich" }, { "mcp-param-where": "=?base64?WsO8cmljaA==?=" }), 200);
    equal(ran.length, 2);
    deepEqual(await faultOf(await send(query({ where: "eu" }, { "mcp-param-where": "us" }))), MISMATCH);
    for (const args of [{ where: "eu" }, { where: "" }, { dry: false }, { count: 0 }]) {
      deepEqual(await faultOf(await send(query(args))), MISMATCH);
    }
    equal(ran.length, 2);
  },
);

verifies(["hosting:http:modern:param-null-absent", "hosting:http:modern:param-orphan"], eachHost, async ({ serve }) => {
  const { server, ran } = createAnnotated();
  const send = await serve(server);
  equal(await statusOf(send, {}, {}), 200);
  equal(await statusOf(send, { filter: {} }, {}), 200);
  equal(await statusOf(send, { where: null }, {}), 200);
  const before = ran.length;
  for (const args of [{}, { filter: {} }, undefined]) {
    deepEqual(await faultOf(await send(query(args, { "mcp-param-region": "eu" }))), MISMATCH);
  }
  deepEqual(await faultOf(await send(query({ where: null }, { "mcp-param-where": "eu" }))), MISMATCH);
  equal(ran.length, before);
});

verifies(
  ["hosting:http:modern:param-undeclared-ignored", "hosting:http:modern:param-unannotated-tool"],
  eachHost,
  async ({ serve }) => {
    const send = await serve(createAnnotated().server);
    equal(await statusOf(send, {}, { "mcp-param-foo": "x" }), 200);
    equal(await statusOf(send, {}, { "mcp-param-foo": "x", "mcp-param-region": "eu" }, "plain"), 200);
    const unknown = await send(query({}, { "mcp-param-region": "eu" }, "missing"));
    deepEqual((await faultOf(unknown)).slice(1), [-32602, 1]);
  },
);

verifies("hosting:http:modern:param-numeric", eachHost, async ({ serve }) => {
  const send = await serve(createAnnotated().server);
  for (const header of ["42", "42.0", "042"])
    equal(await statusOf(send, { count: 42 }, { "mcp-param-count": header }), 200, header);
  for (const header of ["0x2A", "4.2e1", "43", "42.5", "forty-two", ""]) {
    equal(await statusOf(send, { count: 42 }, { "mcp-param-count": header }), 400, header);
  }
  equal(await statusOf(send, { count: Number.MAX_SAFE_INTEGER }, { "mcp-param-count": "9007199254740991" }), 200);
  equal(await statusOf(send, { count: Number.MAX_SAFE_INTEGER }, { "mcp-param-count": "9007199254740992" }), 400);
  equal(await statusOf(send, { count: -7 }, { "mcp-param-count": "-7" }), 200);
  equal(await statusOf(send, { count: 0 }, { "mcp-param-count": "-0" }), 200);
});

verifies("hosting:http:modern:param-boolean", eachHost, async ({ serve }) => {
  const send = await serve(createAnnotated().server);
  equal(await statusOf(send, { dry: true }, { "mcp-param-dry-run": "true" }), 200);
  for (const header of ["True", "1", "false"])
    equal(await statusOf(send, { dry: true }, { "mcp-param-dry-run": header }), 400);
});

verifies(
  "hosting:http:modern:param-nested",
  "a top-level argument of the same name is another one",
  eachHost,
  async ({ serve }) => {
    const send = await serve(createAnnotated().server);
    const args = { region: "us", filter: { region: "eu" } };
    equal(await statusOf(send, args, { "mcp-param-region": "eu" }), 200);
    equal(await statusOf(send, args, { "mcp-param-region": "us" }), 400);
  },
);

verifies(
  ["hosting:http:modern:base64-invalid", "hosting:http:modern:base64-sentinel-exact"],
  "parameters",
  eachHost,
  async ({ serve }) => {
    const send = await serve(createAnnotated().server);
    for (const encoded of ["ZXU", "ZX!=", "ZXV=", "/w=="]) {
      equal(await statusOf(send, { where: "eu" }, { "mcp-param-where": `=?base64?${encoded}?=` }), 400, encoded);
    }
    for (const literal of ["=?BASE64?ZXU=?=", "=?base64?ZXU=", "ZXU=?="]) {
      equal(await statusOf(send, { where: literal }, { "mcp-param-where": literal }), 200, literal);
      equal(await statusOf(send, { where: "eu" }, { "mcp-param-where": literal }), 400, literal);
    }
  },
);

proves(
  [
    "hosting:http:modern:param-invalid-chars",
    "hosting:http:modern:header-names-ci",
    "hosting:http:modern:header-duplicate",
  ],
  { wire: "modern-http" },
  "parameters on a bare socket",
  async (t) => {
    const { server, ran } = createAnnotated();
    const port = await listen(t, server);
    const post = (where: string, ...params: string[]) =>
      rawPost(
        port,
        [
          "Content-Type: application/json",
          "Accept: application/json, text/event-stream",
          "MCP-Protocol-Version: 2026-07-28",
          "Mcp-Method: tools/call",
          "Mcp-Name: query",
          ...params,
        ],
        query({ where }).body,
      );
    equal((await post("eu", "mCp-PaRaM-wHeRe: eu")).status, 200);
    equal(ran.length, 1);
    const latin = await post("\u00e9", "Mcp-Param-Where: \u00e9");
    equal(latin.status, 400);
    match(latin.body, /-32020/);
    equal((await post("a\u0001b", "Mcp-Param-Where: a\u0001b")).status, 400);
    for (const second of ["eu", "us"]) {
      const twice = await post("eu", "Mcp-Param-Where: eu", `Mcp-Param-Where: ${second}`);
      equal(twice.status, 400);
      match(twice.body, /-32020/);
    }
    equal(ran.length, 1);
  },
);
