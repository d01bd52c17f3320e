import { deepEqual, equal, match } from "node:assert/strict";
import { cpuTime } from "../../support/cpu-time.js";
import { defineServer, eachHost, faultOf, listen } from "../../support/modern-hosts.js";
import { modernRequest, type RequestInit } from "../../support/modern-request.js";
import { rawPost } from "../../support/plain-http.js";
import { proves, verifies } from "../../support/verifies.js";

const MISMATCH = [400, -32020, 1];
const VERSION_KEY = "io.modelcontextprotocol/protocolVersion";

/** A server that says which of its handlers ran. */
function createRecorder() {
  const ran: string[] = [];
  const server = defineServer()
    .tool("echo", {}, () => {
      ran.push("tool echo");
      return "hi";
    })
    .tool("other", {}, () => {
      ran.push("tool other");
      return "hi";
    })
    .tool("größe", {}, () => {
      ran.push("tool größe");
      return "hi";
    })
    .prompt("ask", {}, () => {
      ran.push("prompt ask");
      return "please";
    })
    .prompt("grüße", {}, () => {
      ran.push("prompt grüße");
      return "hallo";
    })
    .prompt("padded ", {}, () => {
      ran.push("prompt padded ");
      return "text";
    })
    .resource("note://{id}", { name: "note" }, (_variables, _ctx, uri) => {
      ran.push(`resource ${uri}`);
      return "text";
    });
  return { server, ran };
}

const call = (init: RequestInit = {}) =>
  modernRequest("tools/call", { params: { name: "echo", arguments: {} }, ...init });
const named = [
  (headers: RequestInit["headers"]) => call({ ...(headers && { headers }) }),
  (headers: RequestInit["headers"]) =>
    modernRequest("prompts/get", { params: { name: "ask" }, ...(headers && { headers }) }),
  (headers: RequestInit["headers"]) =>
    modernRequest("resources/read", { params: { uri: "note://1" }, ...(headers && { headers }) }),
];

verifies("hosting:http:modern:version-header-mismatch", eachHost, async ({ serve }) => {
  const { server, ran } = createRecorder();
  const send = await serve(server);
  for (const request of [
    call({ headers: { "mcp-protocol-version": "2025-11-25" } }),
    call({ meta: { [VERSION_KEY]: "2025-11-25" } }),
    call({ headers: { "mcp-protocol-version": "2099-01-01" } }),
  ]) {
    deepEqual(await faultOf(await send(request)), MISMATCH);
  }
  deepEqual(ran, []);
});

verifies(
  "hosting:http:modern:version-header-missing",
  "also where older versions are served",
  eachHost,
  async ({ serve }) => {
    const { server, ran } = createRecorder();
    const send = await serve(server);
    deepEqual(await faultOf(await send(call({ headers: { "mcp-protocol-version": undefined } }))), MISMATCH);
    deepEqual(ran, []);
  },
);

verifies(
  ["hosting:http:modern:method-header-missing", "sep-2243:std-header:mismatch-rejected"],
  eachHost,
  async ({ serve }) => {
    const { server, ran } = createRecorder();
    const send = await serve(server);
    for (const method of ["tools/list", "server/discover", "made/up"]) {
      deepEqual(await faultOf(await send(modernRequest(method, { headers: { "mcp-method": undefined } }))), MISMATCH);
    }
    for (const header of [undefined, "tools/list", "TOOLS/CALL", ""]) {
      deepEqual(await faultOf(await send(call({ headers: { "mcp-method": header } }))), MISMATCH);
    }
    deepEqual(ran, []);
  },
);

verifies(
  ["hosting:http:modern:name-header-missing", "hosting:http:modern:name-header-mismatch"],
  eachHost,
  async ({ serve }) => {
    const { server, ran } = createRecorder();
    const send = await serve(server);
    for (const request of named) {
      deepEqual(await faultOf(await send(request({ "mcp-name": undefined }))), MISMATCH);
      const wrong = await send(request({ "mcp-name": "other" }));
      equal(wrong.status, 400);
      const { error } = (await wrong.json()) as { error: { code: number; message: string } };
      equal(error.code, -32020);
      match(error.message, /Mcp-Name/);
    }
    deepEqual(ran, []);
    equal((await send(modernRequest("tools/list", { headers: { "mcp-name": undefined } }))).status, 200);
  },
);

verifies("hosting:http:modern:name-header-body-missing", eachHost, async ({ serve }) => {
  const send = await serve(createRecorder().server);
  for (const method of ["tools/call", "prompts/get", "resources/read"]) {
    deepEqual(await faultOf(await send(modernRequest(method))), [400, -32602, 1]);
  }
});

verifies("hosting:http:modern:name-header-base64", eachHost, async ({ serve }) => {
  const { server, ran } = createRecorder();
  const send = await serve(server);
  const greet = (header: string) =>
    modernRequest("prompts/get", { params: { name: "grüße" }, headers: { "mcp-name": header } });
  equal((await send(greet("=?base64?Z3LDvMOfZQ==?="))).status, 200);
  const padded = { params: { name: "padded " }, headers: { "mcp-name": "=?base64?cGFkZGVkIA==?=" } };
  equal((await send(modernRequest("prompts/get", padded))).status, 200);
  deepEqual(await faultOf(await send(greet("=?base64?YXNr?="))), MISMATCH);
  deepEqual(ran.splice(0), ["prompt grüße", "prompt padded "]);
  const encoded = (text: string) => ({ "mcp-name": `=?base64?${Buffer.from(text).toString("base64")}?=` });
  const measure = (header: string) =>
    modernRequest("tools/call", { params: { name: "größe", arguments: {} }, headers: encoded(header) });
  const read = (header: string) =>
    modernRequest("resources/read", { params: { uri: "note://1" }, headers: encoded(header) });
  equal((await send(measure("größe"))).status, 200);
  equal((await send(read("note://1"))).status, 200);
  deepEqual(ran.splice(0), ["tool größe", "resource note://1"]);
  deepEqual(await faultOf(await send(measure("echo"))), MISMATCH);
  deepEqual(await faultOf(await send(read("note://2"))), MISMATCH);
  deepEqual(ran, []);
});

verifies("hosting:http:modern:base64-invalid", "names", eachHost, async ({ serve }) => {
  const { server, ran } = createRecorder();
  const send = await serve(server);
  // Missing padding, foreign characters, loose bits, no UTF-8, not base64 at all.
  for (const encoded of ["ZWNobw", "ZWN!bw==", "ZWNobx==", "ZWNob/==", "//79", "===="]) {
    deepEqual(await faultOf(await send(call({ headers: { "mcp-name": `=?base64?${encoded}?=` } }))), MISMATCH, encoded);
  }
  deepEqual(ran, []);
});

verifies("hosting:http:modern:base64-sentinel-exact", "names", eachHost, async ({ serve }) => {
  const { server, ran } = createRecorder();
  const send = await serve(server);
  for (const literal of ["=?BASE64?ZWNobw==?=", "=?base64?ZWNobw==", "ZWNobw=="]) {
    deepEqual(await faultOf(await send(call({ headers: { "mcp-name": literal } }))), MISMATCH, literal);
    const unknown = modernRequest("tools/call", { params: { name: literal }, headers: { "mcp-name": literal } });
    deepEqual(await faultOf(await send(unknown)), [200, -32602, 1], "the literal matches, and no tool has that name");
  }
  deepEqual(ran, []);
});

const lines = (extra: readonly string[]) => [
  "Content-Type: application/json",
  "Accept: application/json, text/event-stream",
  ...extra,
];

proves(
  ["hosting:http:modern:header-names-ci", "hosting:http:modern:header-ows"],
  { wire: "modern-http" },
  "names in any case, values without their padding",
  async (t) => {
    const { server, ran } = createRecorder();
    const port = await listen(t, server);
    const post = (version: string, method: string, name: string) =>
      rawPost(port, lines([version, method, name]), call().body);
    equal((await post("mcp-protocol-version: 2026-07-28", "mcp-method: tools/call", "MCP-NAME: echo")).status, 200);
    equal(
      (await post("MCP-PROTOCOL-VERSION:2026-07-28", "mCp-mEtHoD:\t tools/call \t", "mcp-NAME:   echo  ")).status,
      200,
    );
    equal(
      (await post("mcp-protocol-version: 2026-07-28", "mcp-method: tools/call", "Mcp-Name: \u00a0echo")).status,
      400,
    );
    equal(ran.length, 2);
  },
);

verifies("hosting:http:modern:header-ows", "long runs of blanks cost little", eachHost, async ({ serve }, t) => {
  // Node takes no more than 16 KiB of headers from a socket.
  const blanks = " ".repeat(t.name.endsWith("[modern-fetch]") ? 64 * 1024 : 8 * 1024);
  const name = `a${blanks}b`;
  const send = await serve(createRecorder().server.prompt(name, {}, () => "text"));
  const tookMs = cpuTime();
  const request = modernRequest("prompts/get", { params: { name }, headers: { "mcp-name": name } });
  equal((await send(request)).status, 200);
  equal((await send(call({ headers: { "mcp-name": `${blanks}echo` } }))).status, 200);
  equal(tookMs() < 1_000, true, `took ${tookMs()} ms`);
});

proves(
  "hosting:http:modern:header-duplicate",
  { wire: "modern-http" },
  "a header that came twice is refused",
  async (t) => {
    const { server, ran } = createRecorder();
    const port = await listen(t, server);
    for (const twice of [
      ["Mcp-Name: echo", "Mcp-Name: echo", "Mcp-Method: tools/call"],
      ["Mcp-Name: echo", "Mcp-Name: other", "Mcp-Method: tools/call"],
      ["Mcp-Name: other", "Mcp-Name: echo", "Mcp-Method: tools/call"],
      ["Mcp-Name: echo", "Mcp-Method: tools/call", "Mcp-Method: tools/call"],
    ]) {
      const { status, body } = await rawPost(port, lines(["MCP-Protocol-Version: 2026-07-28", ...twice]), call().body);
      equal(status, 400);
      match(body, /-32020/);
    }
    deepEqual(ran, []);
  },
);

verifies("hosting:http:modern:notification-headers-lenient", eachHost, async ({ serve }) => {
  const send = await serve(createRecorder().server);
  const { headers } = modernRequest("x/custom");
  const body = { jsonrpc: "2.0", method: "x/custom" };
  equal((await send({ headers: { ...headers, "mcp-method": undefined }, body })).status, 202);
  deepEqual(await faultOf(await send({ headers: { ...headers, "mcp-method": "tools/call" }, body })), [
    400,
    -32020,
    undefined,
  ]);
});

proves("hosting:http:modern:get-delete-405", { wire: "modern-http" }, "only POST is served", async (t) => {
  const port = await listen(t, createRecorder().server);
  for (const method of ["GET", "DELETE"]) {
    for (const headers of [
      {},
      { "mcp-protocol-version": "2026-07-28" },
      { "mcp-session-id": "x", "mcp-protocol-version": "2025-11-25", accept: "text/event-stream" },
    ]) {
      const response = await fetch(`http://127.0.0.1:${port}/mcp`, {
        method,
        headers: headers as Record<string, string>,
      });
      equal(response.status, 405);
      equal(response.headers.get("allow"), "POST");
      await response.text();
    }
  }
});
