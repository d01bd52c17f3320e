import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, it } from "node:test";
import { introspectionVerifier, protect } from "bowline/auth/server";
import { connect, createGroup } from "bowline/client";
import { fileStore, serveHttp } from "bowline/node";
import { McpServer } from "bowline/server";
import * as z from "zod";
import * as mini from "zod/mini";

/** The server as a program without types sees it. */
interface Untyped {
  tool(...given: unknown[]): unknown;
  prompt(...given: unknown[]): unknown;
  resource(...given: unknown[]): unknown;
}

const untyped = () => new McpServer({ name: "weather", version: "1.0.0" }) as unknown as Untyped;
const handler = () => "done";

function refuses(define: () => unknown, message: string | RegExp): void {
  assert.throws(define, { name: "DefinitionError", message });
}

describe("a definition says what is wrong with it", () => {
  it("when arguments are left out or in another order", () => {
    const order = "requires a handler, after options if there are any, got";
    refuses(() => untyped().tool("a"), `tool "a": ${order} undefined and undefined`);
    refuses(() => untyped().tool("a", handler, {}), `tool "a": ${order} function and object`);
    const both = "requires options and a handler, got";
    refuses(() => untyped().resource("a://b", handler), `resource "a://b": ${both} function and undefined`);
    refuses(() => untyped().tool("a", "what it does", handler), `tool "a": ${order} string and function`);
    refuses(() => untyped().prompt("a", {}), `prompt "a": ${order} object and undefined`);
    refuses(() => untyped().resource("a://b", {}), `resource "a://b": ${both} object and undefined`);
    refuses(() => untyped().tool(3, {}, handler), "tool 3: the name must be a string");
  });

  it("when a schema would be passed over because it has the name of another SDK", () => {
    const input = z.object({});
    refuses(
      () => untyped().tool("a", { inputSchema: input }, handler),
      'tool "a": unknown option inputSchema; use input',
    );
    refuses(
      () => untyped().prompt("a", { argsSchema: input }, handler),
      'prompt "a": unknown option argsSchema; use arguments',
    );
  });

  it("when a completer is for an argument or variable that does not exist", () => {
    const complete = { idd: () => [] };
    const nowhere = "complete has no argument or variable idd";
    refuses(
      () => untyped().resource("note://{id}{?q}", { name: "n", complete }, handler),
      `resource "note://{id}{?q}": ${nowhere}; use id, q`,
    );
    refuses(
      () => untyped().resource("note://1", { name: "n", complete }, handler),
      `resource "note://1": ${nowhere}; there is none`,
    );
    const schemas = [z.object({ id: z.string() }), { type: "object", properties: { id: { type: "string" } } }];
    for (const schema of schemas)
      refuses(() => untyped().prompt("p", { arguments: schema, complete }, handler), `prompt "p": ${nowhere}; use id`);
    refuses(
      () => untyped().prompt("p", { arguments: z.object({}), complete }, handler),
      `prompt "p": ${nowhere}; there is none`,
    );
    const server = new McpServer({ name: "a", version: "1" });
    server.prompt("any", { complete }, handler).resource("a:{idd}", { name: "n", complete }, handler);
    refuses(() => server.edit.prompt("any").update({ arguments: z.object({ id: z.string() }) }), /no argument .* idd/);
  });

  it("when the schemas of members are not within an object schema", () => {
    assert.throws(
      () => untyped().tool("a", { input: { city: z.string() } }, handler),
      /^DefinitionError: tool "a" input: .* put these schemas into an object schema, such as z\.object\(\{ \.\.\. \}\)$/,
    );
  });

  it("when zod comes from an entry that does not describe itself", () => {
    assert.throws(
      () => untyped().tool("a", { input: mini.object({}) }, handler),
      /zod 4\.2 or newer, imported from "zod"/,
    );
  });

  it("when the server has no name or version", () => {
    const Untold = McpServer as unknown as new (...given: unknown[]) => unknown;
    for (const given of [[], ["weather"], [{ name: "weather" }]])
      assert.throws(() => new Untold(...given), /^DefinitionError: McpServer requires \{ name, version \}/);
  });
});

describe("serveHttp says what to do", () => {
  it("when the port is in use, with the code of the platform", async () => {
    await using first = await serveHttp(new McpServer({ name: "first", version: "1.0.0" }));
    const second = new McpServer({ name: "second", version: "1.0.0" });
    await assert.rejects(serveHttp(second, { port: first.port }), {
      code: "EADDRINUSE",
      message: `serveHttp: listen EADDRINUSE: address already in use 127.0.0.1:${first.port}; choose another port, or 0 for a free one`,
    });
  });

  it("when the path or the server is none", async () => {
    const server = new McpServer({ name: "weather", version: "1.0.0" });
    await assert.rejects(serveHttp(server, { path: "mcp" }), {
      message: 'serveHttp: path must begin with /, got "mcp"',
    });
    await assert.rejects(serveHttp(undefined as never), { message: "serveHttp needs a server, such as an McpServer" });
  });
});

describe("a protected server says what is missing", () => {
  it("at the gate and at its verifiers", () => {
    refuses(
      () => protect({} as never),
      "protect: verify is missing or not a function; set jwtVerifier({ issuer }) or a function of your own",
    );
    refuses(
      () => introspectionVerifier({ issuer: "https://login.example.com" } as never),
      "introspectionVerifier: client.id is missing; set client to the { id, secret } of this server",
    );
    assert.throws(() => fileStore("tokens", undefined as never), { code: "auth_error", step: "configuration" });
  });
});

describe("connect says what is wrong with its target", () => {
  const code = "unknown_target";

  it("when it is none", async () => {
    const message = "connect requires a URL, { command, args }, a server in this process or { channel }";
    for (const target of [undefined, null, 3, { cmd: "node" }])
      await assert.rejects(connect(target as never), { code, message });
  });

  it("when it is not an address of the web, without what may be secret", async () => {
    const shown = [
      ["localhost:3000/mcp", "localhost:3000/mcp"],
      ["/mcp?key=1", "/mcp"],
      ["ftp://me:word@example.com/mcp", "example.com/mcp"],
      ["", ""],
    ];
    for (const [target = "", name] of shown)
      await assert.rejects(connect(target), {
        code,
        message: `connect: "${name}" is not a URL with http:// or https://`,
      });
    await assert.rejects(connect("dist/server.mts?x=1"), {
      code,
      message:
        'connect: "dist/server.mts" is not a URL with http:// or https://; for a program: { command: "node", args: ["dist/server.mts"] }',
    });
  });

  it("when somebody else answers there", async () => {
    const web = createServer((request, response) => {
      if (request.url === "/locked") response.writeHead(401).end();
      else if (request.url === "/") response.writeHead(200, { "content-type": "text/html" }).end("<p>Welcome</p>");
      else response.writeHead(404).end("nothing here");
    });
    await new Promise<void>((resolve) => web.listen(0, "127.0.0.1", resolve));
    const { port } = web.address() as AddressInfo;
    try {
      const asked = /; is this the URL of an MCP server\?$/;
      await assert.rejects(connect(`http://127.0.0.1:${port}/`), { code: "protocol_error", message: asked });
      await assert.rejects(connect(`http://127.0.0.1:${port}/mcp`), {
        code: "connection_error",
        status: 404,
        message: asked,
      });
      await assert.rejects(connect(`http://127.0.0.1:${port}/locked`), {
        status: 401,
        message: /; it requires a token: see oauth\(\) of bowline\/auth\/client$/,
      });
    } finally {
      web.closeAllConnections();
      web.close();
    }
  });

  it("when the program has its arguments in its name", async () => {
    await assert.rejects(connect({ command: "no-such-program --fast" }), {
      message: /pass arguments in `args`, not in `command`$/,
    });
  });

  it("when the program breaks: by the line that names the error", async () => {
    const broken = {
      command: process.execPath,
      args: ["-e", "throw new Error('no API key')"],
      stderr: () => {},
    };
    await assert.rejects(connect(broken), { message: /exited with code 1; it wrote to stderr: Error: no API key$/ });
    const quiet = { ...broken, args: ["-e", "console.error('out of luck'); process.exit(3)"] };
    await assert.rejects(connect(quiet), { message: /exited with code 3; it wrote to stderr: out of luck$/ });
  });

  it("when there is no such era or version: with those that there are", async () => {
    const server = new McpServer({ name: "weather", version: "1.0.0" });
    await assert.rejects(connect(server, { era: "future" as never }), {
      code: "definition_error",
      message: 'connect: era must be "auto" or "legacy" or "modern", got "future"',
    });
    // @ts-expect-error a misspelt era does not compile
    await assert.rejects(connect(server, { era: "moden" }), {
      message: 'connect: era must be "auto" or "legacy" or "modern", got "moden"; did you mean "modern"?',
    });
    const session = { era: "future" as never, id: "a", initialized: {} };
    await assert.rejects(connect(server, { session }), { code: "unknown_era", message: /choose from \w+, \w+$/ });
    // @ts-expect-error nor does a version that does not exist
    await assert.rejects(connect(server, { versions: ["2031-01-01"] }), {
      code: "unknown_version",
      message: /^versions: this client does not support 2031-01-01; choose from (\d{4}-\d\d-\d\d(, )?)+$/,
    });
    const mixed = ["2026-07-28", "2031-01-01"] as never[];
    await assert.rejects(connect(server, { versions: mixed }), { message: /does not support 2031-01-01; choose/ });
    await assert.rejects(connect(server, { versions: [] }), { message: /^versions: is empty; choose from 20/ });
    const other = { name: "other", version: "1.0.0" };
    // @ts-expect-error nor at a server
    const define = () => new McpServer(other, { versions: ["2031-01-01"] });
    assert.throws(define, /^DefinitionError: versions: 2031-01-01 is not/);
  });
});

describe("a call without types rejects, and throws nothing", () => {
  it("when its method or its options are not there", async () => {
    await using client = await connect(new McpServer({ name: "weather", version: "1.0.0" }));
    type Untyped = (...given: unknown[]) => Promise<unknown>;
    const calls = client as unknown as { readonly callTool: Untyped; readonly request: Untyped };
    await assert.rejects(calls.request(), {
      name: "TypeError",
      message: "request(method, params, options): the first argument must be a string, got undefined",
    });
    await assert.rejects(calls.request("tools/list", {}, null), TypeError);
    await assert.rejects(calls.callTool("a", {}, null), TypeError);
  });

  it("when its arguments are in one object, as in other SDKs: with the form to use", async () => {
    const server = new McpServer({ name: "weather", version: "1.0.0" });
    await using client = await connect(server);
    await using group = createGroup({ mcpServers: { weather: server } });
    type Untyped = Record<string, (...given: unknown[]) => Promise<unknown>>;
    const [one, many] = [client as unknown as Untyped, group as unknown as Untyped];
    const refuses = async (call: Promise<unknown> | undefined, form: string) =>
      assert.rejects(call ?? Promise.resolve(), {
        name: "TypeError",
        message: `${form}: the first argument must be a string, got object`,
      });
    const given = { name: "a", arguments: {} };
    await refuses(one.callTool?.(given), "callTool(name, args, options)");
    await refuses(one.getPrompt?.(given), "getPrompt(name, args, options)");
    await refuses(one.readResource?.({ uri: "a:b" }), "readResource(uri, options)");
    await refuses(one.request?.({ method: "a/b" }), "request(method, params, options)");
    await refuses(many.callTool?.(given), "callTool(name, args, options)");
    await refuses(many.getPrompt?.(given), "getPrompt(name, args, options)");
    await refuses(many.readResource?.({ uri: "a:b" }), "readResource(server, uri, options)");
    await assert.rejects(one.complete?.({ ref: {}, argument: {} }) ?? Promise.resolve(), {
      name: "TypeError",
      message: "complete(ref, argument, others, options): argument must be an object, got undefined",
    });
  });
});
