import assert, { deepEqual, equal } from "node:assert/strict";
import { describe, it } from "node:test";
import { bearer, oauth } from "bowline/auth/client";
import { createIssuer } from "bowline/auth/issuer";
import { introspectionVerifier, jwtVerifier, protect } from "bowline/auth/server";
import { type Client, connect, createGroup } from "bowline/client";
import { fileStore, serveHttp, serveStdio, toNodeListener } from "bowline/node";
import { McpServer } from "bowline/server";
import { McpServer as ModernServer } from "bowline/server/modern";
import { tasks } from "bowline/tasks/server";
import * as z from "zod";

/** Anything, as a program without types calls it. */
type Untyped = (...given: unknown[]) => unknown;
const info = { name: "weather", version: "1.0.0" };
const handler = () => "done";
const server = () => new McpServer(info);
const build = (options: object) => new (McpServer as unknown as new (...given: unknown[]) => McpServer)(info, options);

function refuses(define: () => unknown, message: string | RegExp): void {
  assert.throws(define, { name: "DefinitionError", message });
}

async function rejects(define: () => unknown, message: string | RegExp): Promise<void> {
  await assert.rejects(async () => await define(), { name: "DefinitionError", message });
}

describe("an option that does not exist is refused where it is written", () => {
  it("of a server, with what may have been meant", () => {
    refuses(() => build({ instruction: "x" }), "McpServer: unknown option instruction; did you mean instructions?");
    refuses(() => build({ onerror: handler }), "McpServer: unknown option onerror; did you mean onError?");
    refuses(() => build({ colour: "red" }), "McpServer: unknown option colour");
    refuses(
      () => build({ http: { allowedHost: ["a"] } }),
      "McpServer: http: unknown option allowedHost; did you mean allowedHosts?",
    );
    const modern = ModernServer as unknown as new (...given: unknown[]) => unknown;
    refuses(() => new modern(info, { pagesize: 3 }), "McpServer: unknown option pagesize; did you mean pageSize?");
    refuses(() => new modern(info, null), "McpServer: the options must be an object");
  });

  it("of a tool, prompt, resource, method or notification", () => {
    const define = (kind: "tool" | "prompt" | "resource" | "method" | "onNotification", options: object) => () =>
      (server() as unknown as Record<string, Untyped>)[kind]?.("a:b", options, handler);
    refuses(define("tool", { desciption: "" }), 'tool "a:b": unknown option desciption; did you mean description?');
    refuses(define("tool", { taskSupport: "optional" }), 'tool "a:b": unknown option taskSupport; use task');
    refuses(define("prompt", { args: z.object({}) }), /^prompt "a:b": unknown option args/);
    refuses(
      define("resource", { name: "a", mimetype: "a/b" }),
      'resource "a:b": unknown option mimetype; did you mean mimeType?',
    );
    refuses(define("method", { param: {} }), 'method "a:b": unknown option param; did you mean params?');
    refuses(define("onNotification", { param: {} }), /^notification "a:b": unknown option param/);
  });

  it("of what serves", async () => {
    await rejects(
      () => (serveHttp as Untyped)(server(), { prot: 3000 }),
      "serveHttp: unknown option prot; did you mean port?",
    );
    await rejects(
      () => (serveStdio as Untyped)(server(), { signal: false }),
      "serveStdio: unknown option signal; did you mean signals?",
    );
  });

  it("of a client", async () => {
    const open = (options: unknown) => () => (connect as Untyped)(server(), options);
    await rejects(open({ timeout: 5 }), "connect: unknown option timeout; did you mean timeoutMs?");
    await rejects(open({ onelicit: handler }), "connect: unknown option onelicit; did you mean onElicit?");
    await rejects(open({ maxTotalTimeout: 5 }), "connect: unknown option maxTotalTimeout; use deadlineMs");
    await rejects(open({ limits: { maxPage: 5 } }), /limits: unknown option maxPage; did you mean maxPages\?$/);
    await rejects(open(5), "connect: the options must be an object");
    // An OAuth has more members than options.
    await ((await open(oauth({}))()) as Client).close();
  });

  it("of a group", () => {
    const group = (options: object) => () => (createGroup as Untyped)({ mcpServers: {} }, options);
    refuses(group({ seperator: "-" }), "createGroup: unknown option seperator; did you mean separator?");
    refuses(
      group({ client: { timeout: 5 } }),
      /^createGroup: client: unknown option timeout; did you mean timeoutMs\?/,
    );
    refuses(group({ servers: { a: { color: 1 } } }), "createGroup: servers.a: unknown option color");
    refuses(group({ maxItems: "5" }), "createGroup: maxItems must be of type number, got string");
  });

  it("of a call, also by its name in the official SDK", async (t) => {
    const client = await connect(server().tool("a", {}, handler).resource("a://b/{c}", { name: "b" }, handler));
    t.after(() => client.close());
    const call = (options: object) => () => client.callTool("a", {}, options);
    for (const [name, hint] of [
      ["timeout", "; did you mean timeoutMs?"],
      ["onprogress", "; did you mean onProgress?"],
      ["maxTotalTimeout", "; use deadlineMs"],
      ["resetTimeoutOnProgress", "; use timeoutMs"],
      ["colour", ""],
    ] as const)
      await rejects(call({ [name]: 5 }), `tools/call: unknown option ${name}${hint}`);
    const wrong = { timeout: 5 } as object;
    await rejects(() => client.tools(wrong).all(), /^tools\/list: unknown option timeout;/);
    await rejects(
      () => client.watch({ toolsListChanged: true }, wrong),
      /^subscriptions\/listen: unknown option timeout;/,
    );
    await rejects(() => client.request("a/b", {}, wrong), /^a\/b: unknown option timeout;/);
    await rejects(
      () => client.readResource("a://b/{c}", { variables: { c: "d" }, ...wrong }),
      /^resources\/read: unknown option/,
    );
    const ms = "must be a number of 0 or more, or Infinity for no limit, got";
    for (const [options, problem] of [
      [{ timeoutMs: "5" }, "timeoutMs must be of type number, got string"],
      [{ timeoutMs: -1 }, `timeoutMs ${ms} -1`],
      [{ deadlineMs: Number.NaN }, `deadlineMs ${ms} NaN`],
      [{ signal: null }, "signal must be of type object, got null"],
      [{ onProgress: {} }, "onProgress must be of type function, got object"],
    ] as const)
      await rejects(call(options), `tools/call: ${problem}`);
    const all = { signal: undefined, timeoutMs: 500, deadlineMs: 500, onProgress: undefined, id: "a", meta: {} };
    equal((await client.callTool("a", {}, { ...all, cache: "use", input: "auto", tool: undefined })).text, "done");
    equal((await client.readResource("a://b/{c}", { variables: { c: "d" } })).contents.length, 1);
  });

  it("of a question to the client", async (t) => {
    const asking = server().tool("a", {}, async (_, ctx) => {
      await ctx.elicit("How many?", z.object({ many: z.number() }), { timeout: 5 } as object);
    });
    const client = await connect(asking, { onElicit: () => ({ action: "decline" }) });
    t.after(() => client.close());
    const { isError, text } = await client.callTool("a");
    equal(isError, true);
    equal(text, "elicitation/create: unknown option timeout; did you mean timeoutMs?");
  });

  it("of what protects and issues", () => {
    const verify = () => undefined;
    const resource = "https://a.example/mcp";
    refuses(
      () => (createIssuer as Untyped)({ issuer: "https://a.example", resources: [resource], user: verify, scope: [] }),
      "createIssuer: unknown option scope; did you mean scopes?",
    );
    const limits = { maxClient: 1 };
    refuses(
      () => (createIssuer as Untyped)({ issuer: "https://a.example", resources: [resource], user: verify, limits }),
      "createIssuer: limits: unknown option maxClient; did you mean maxClients?",
    );
    refuses(
      () => (protect as Untyped)({ verify, limits: { maxProofs: "many" } }),
      /^protect: limits\.maxProofs must be/,
    );
    refuses(
      () => (protect as Untyped)({ verify, limits: { maxProof: 1 } }),
      /^protect: limits: unknown option maxProof;/,
    );
  });
});

describe("a guard that is misspelt or has a wrong form does not stay off in silence", () => {
  const verify = () => undefined;
  const issuer = { issuer: "https://a.example", resources: ["https://a.example/mcp"], user: verify };
  const define = (options: object) => () =>
    (server() as unknown as Record<"tool", Untyped>).tool("a", options, handler);
  const secure = (options: object) => () => (protect as Untyped)({ verify, ...options });
  const issue = (options: object) => () => (createIssuer as Untyped)({ ...issuer, ...options });
  const login = (options: object) => () => (oauth as Untyped)(options);

  it("when its name is misspelt", () => {
    refuses(define({ requires: { scope: ["b"] } }), 'tool "a": requires: unknown option scope; did you mean scopes?');
    refuses(define({ require: { scopes: ["b"] } }), 'tool "a": unknown option require; did you mean requires?');
    refuses(secure({ scope: ["b"] }), "protect: unknown option scope; did you mean scopes?");
    refuses(secure({ dpop: { require: true } }), "protect: dpop: unknown option require; did you mean required?");
    refuses(secure({ dpop: { nonce: { ttl: 5 } } }), /^protect: dpop\.nonce: unknown option ttl/);
    refuses(
      issue({ clients: [{ clientId: "c", secret: "s" }] }),
      "createIssuer: clients[0]: unknown option secret; did you mean clientSecret?",
    );
    refuses(
      login({ client: { id: "c", issuer: "https://a.example", clientSecret: "s" } }),
      "oauth: client: unknown option clientSecret; did you mean secret?",
    );
    refuses(login({ client: [{ id: "c", redirectUri: [] }] }), /^oauth: client\[0\]: unknown option redirectUri;/);
  });

  it("when it is missing, empty, or no list", () => {
    for (const requires of [{}, { scopes: undefined }])
      refuses(define({ requires }), 'tool "a": requires.scopes is missing');
    refuses(define({ requires: { scopes: [] } }), 'tool "a": requires.scopes must not be empty');
    refuses(
      define({ requires: { scopes: "b" } }),
      'tool "a": requires.scopes must be of type array or function, got string',
    );
    refuses(
      define({ requires: { scopes: [undefined] } }),
      /requires\.scopes\[0\] must be of type string, got undefined/,
    );
    refuses(define({ requires: ["b"] }), 'tool "a": requires must be of type object, got array');
    refuses(define({ requires: null }), 'tool "a": requires must be of type object, got null');
    refuses(secure({ scopes: "b" }), "protect: scopes must be of type array, got string");
    refuses(secure({ scopes: [undefined] }), "protect: scopes[0] must be of type string, got undefined");
    refuses(secure({ requireExpiry: "yes" }), "protect: requireExpiry must be of type boolean, got string");
    refuses(secure({ dpop: "required" }), "protect: dpop must be of type boolean or object, got string");
    refuses(
      issue({ clients: [{ clientId: "c", scopes: "b" }] }),
      /clients\[0\]\.scopes must be of type array, got string/,
    );
    refuses(issue({ clients: { clientId: "c" } }), "createIssuer: clients must be of type array, got object");
  });

  it("when it changes while clients are connected", () => {
    const edit = (changes: object) => () =>
      server()
        .tool("a", {}, handler)
        .edit.tool("a")
        .update(changes as never);
    refuses(edit({ requires: { scope: ["b"] } }), 'tool "a": requires: unknown option scope; did you mean scopes?');
    refuses(edit({ requires: {} }), 'tool "a": requires.scopes is missing');
    refuses(edit({ visibel: () => false }), 'tool "a": unknown option visibel; did you mean visible?');
  });

  it("when the function that decides returns no list", async () => {
    const admits = () => ({ token: "t", scopes: [], subject: "s" });
    const read = async (scopesFor: () => never, options: object) => {
      const gate = protect({ verify: admits, scopesFor });
      const shop = new McpServer(info, { http: { gate } }).resource("a://{id}", { name: "a", ...options }, handler);
      await using client = await connect("http://localhost/mcp", {
        fetch: (url, init) => shop.fetch(new Request(url, init)),
        headers: { authorization: "Bearer t" },
      });
      return (await client.readResource("a://b")).contents.length;
    };
    const none = () => undefined as never;
    const INTERNAL = ({ status, rpcCode }: { status?: number; rpcCode?: number }) =>
      status === 500 || rpcCode === -32603;
    equal(await read(none, {}), 1);
    for (const scopes of ["", "admin", [undefined]] as never[]) {
      await assert.rejects(
        read(() => scopes, {}),
        INTERNAL,
      );
      await assert.rejects(read(none, { requires: { scopes: () => scopes } }), INTERNAL);
    }
    await assert.rejects(read(none, { requires: { scopes: none } }), INTERNAL);
  });

  it("when it is at another depth", () => {
    refuses(
      () => build({ allowedHosts: ["a"] }),
      "McpServer: unknown option allowedHosts; did you mean http.allowedHosts?",
    );
    refuses(() => build({ maxCalls: 5 }), "McpServer: unknown option maxCalls; did you mean limits.maxCalls?");
    refuses(
      () => build({ http: { stateKeys: [] } }),
      "McpServer: http: unknown option stateKeys; did you mean stateKeys of McpServer?",
    );
  });
});

describe("what is missing is named, and what to give is shown", () => {
  it("for a server that is none", async () => {
    await rejects(() => (serveHttp as Untyped)(), "serveHttp needs a server, such as an McpServer");
    for (const none of [undefined, {}]) {
      await rejects(() => (serveStdio as Untyped)(none), "serveStdio needs a server, such as an McpServer");
      refuses(() => (toNodeListener as Untyped)(none), "toNodeListener needs a server, such as an McpServer");
    }
  });

  it("for a port that is none", async () => {
    await rejects(() => (serveHttp as Untyped)(server(), 3000), "serveHttp: the options must be an object");
    for (const port of ["x", "3000", -1, 70_000, 1.5])
      await rejects(
        () => (serveHttp as Untyped)(server(), { port }),
        `serveHttp: port must be an integer from 0 to 65535, got ${JSON.stringify(port)}`,
      );
    await rejects(
      () => (serveHttp as Untyped)(server(), { path: "mcp" }),
      'serveHttp: path must begin with /, got "mcp"',
    );
  });

  it("for methods, interceptors and extensions of a server", () => {
    const untyped = () => server() as unknown as Record<"method" | "onNotification" | "use" | "extend", Untyped>;
    const order = "requires a handler, after options if there are any, got";
    refuses(() => untyped().method("a/b", {}), `method "a/b": ${order} object and undefined`);
    refuses(() => untyped().method(), "method undefined: the name must be a string");
    refuses(() => untyped().onNotification("a/b"), `notification "a/b": ${order} undefined and undefined`);
    refuses(() => untyped().onNotification(), "notification undefined: the name must be a string");
    refuses(() => untyped().use(), /^use: an interceptor must be a function/);
    refuses(() => untyped().extend(), /^extend requires a ServerExtension/);
  });

  it("for the authorization of a client, once a server asks for it", async () => {
    assert.throws(() => (bearer as Untyped)(), /bearer needs \{ token \}/);
    const refused = new Response(null, { status: 401, headers: { "www-authenticate": "Bearer" } });
    const metadata = { issuer: "https://a.example", authorization_endpoint: "https://a.example/authorize" };
    const fetch = async (url: string | URL) => {
      const { pathname } = new URL(url);
      if (pathname === "/mcp") return refused.clone();
      const known = pathname === "/.well-known/oauth-authorization-server";
      return known
        ? Response.json({ ...metadata, token_endpoint: "https://a.example/token" })
        : new Response(null, { status: 404 });
    };
    const client = { issuer: "https://a.example", id: "c" };
    const { fetch: send } = oauth({ fetch: fetch as never, client });
    await assert.rejects(
      send("https://a.example/mcp", { method: "POST" }),
      /set the options authorize and redirectUrl/,
    );
    assert.equal(typeof (oauth as () => { fetch: unknown })().fetch, "function");
  });

  it("for protection and issuers", () => {
    // @ts-expect-error the options are missing
    refuses(() => protect(), /^protect: verify is missing/);
    const dpop = { url: () => "https://a.example", nonce: { key: "short" } };
    refuses(() => (protect as Untyped)({ verify: handler, dpop }), "dpop.nonce.key must have at least 16 bytes, got 5");
    refuses(
      () => (protect as Untyped)({ verify: handler, dpop: { nonce: { ttlSeconds: 60 } } }),
      "protect: dpop.nonce: unknown option ttlSeconds; use ttlMs",
    );
    // @ts-expect-error the options are missing
    refuses(() => jwtVerifier(), /issuer is missing/);
    // @ts-expect-error the options are missing
    refuses(() => introspectionVerifier(), /issuer and endpoint are both missing/);
    // @ts-expect-error the options are missing
    refuses(() => createIssuer(), /^createIssuer: issuer is missing/);
    refuses(() => (createIssuer as Untyped)({}), /^createIssuer: issuer is missing/);
    refuses(() => (createIssuer as Untyped)({ issuer: "https://a.example" }), /resources is missing/);
    refuses(
      () => (createIssuer as Untyped)({ issuer: "https://a.example", resources: "https://b.example" }),
      /resources is missing or not a list/,
    );
    assert.throws(() => (fileStore as Untyped)(), /needs the path of a file/);
  });
});

describe("the arguments of a prompt come as texts", () => {
  const prompt = (schema: unknown) => () =>
    (server() as unknown as Record<"prompt", Untyped>).prompt("p", { arguments: schema }, handler);

  it("so that what cannot be one is refused with its place", () => {
    const says = (name: string) => `prompt "p" arguments: /${name} must accept strings; use z.coerce`;
    refuses(prompt(z.object({ city: z.string(), days: z.number() })), says("days"));
    refuses(prompt(z.object({ days: z.number().optional() })), says("days"));
    refuses(prompt(z.object({ tags: z.array(z.string()) })), says("tags"));
    refuses(prompt({ type: "object", properties: { days: { type: "integer" } } }), says("days"));
    refuses(prompt(z.object({ sure: z.boolean() })), says("sure"));
    refuses(prompt({ type: "object", properties: { days: { type: "array", minItems: 1 } } }), says("days"));
  });

  it("and what can is not", () => {
    for (const schema of [
      z.object({ city: z.string().optional(), kind: z.enum(["a", "b"]), any: z.any(), either: z.literal("x") }),
      z.object({ days: z.coerce.number(), sure: z.coerce.boolean(), many: z.coerce.number().int().min(5000) }),
      z.object({ days: z.string().transform(Number).pipe(z.number()) }),
      z.object({ days: z.union([z.number(), z.string()]) }),
      { type: "object", properties: { a: { type: ["string", "null"] }, b: {}, c: { anyOf: [{ type: "string" }] } } },
    ])
      prompt(schema)();
  });
});

describe("an option of a wrong kind is refused where it is written", () => {
  const secret = new Uint8Array(32);

  it("of a server", () => {
    const wrong: readonly (readonly [options: object, message: string | RegExp])[] = [
      [{ stateKeys: "secret" }, "McpServer: stateKeys must be of type array, got string"],
      [{ stateKeys: { id: "a", secret } }, "McpServer: stateKeys must be of type array, got object"],
      [{ stateKeys: [secret] }, /^stateKeys: each must be \{ id, secret \}/],
      [{ stateKeys: [null] }, /^stateKeys: each must be \{ id, secret \}/],
      [{ stateKeys: ["secret"] }, /^stateKeys: each must be \{ id, secret \}/],
      [{ stateKeys: [{ id: 1, secret }] }, /^stateKeys: each must be \{ id, secret \}/],
      [{ stateKeys: [{ id: "a", secret: "x".repeat(32) }] }, /^stateKeys: each must be \{ id, secret \}/],
      [{ stateKeys: [{ id: "1", secret: new Uint8Array() }] }, 'stateKeys: the key "1" must have 32 bytes, got 0'],
      [{ stateKeys: [{ id: "a b", secret }] }, 'stateKeys: the id "a b" must be 1 to 64 characters of A-Z a-z 0-9 _ -'],
      [{ stateCodec: { encode: handler } }, "stateCodec requires two functions: { encode, decode }"],
      [{ stateCodec: handler }, "McpServer: stateCodec must be of type object, got function"],
      [{ acceptState: true }, "McpServer: acceptState must be of type function, got boolean"],
      [{ interceptors: handler }, "McpServer: interceptors must be of type array, got function"],
      [{ interceptors: [1] }, "interceptors: an interceptor must be a function (call, next)"],
      [{ versions: "2026-07-28" }, "McpServer: versions must be of type array, got string"],
      [{ onError: console }, "McpServer: onError must be of type function, got object"],
      [{ limits: 5 }, "McpServer: limits must be of type object, got number"],
      [{ limits: { maxCalls: "5" } }, /^McpServer: limits\.maxCalls must be a whole number/],
      [{ limits: { maxCalls: null } }, /^McpServer: limits\.maxCalls must be a whole number/],
      [{ http: null }, "McpServer: http must be of type object, got null"],
      [{ http: { gate: {} } }, "McpServer: http.gate must be of type function, got object"],
      [{ http: { allowedHosts: "example.com" } }, 'http.allowedHosts must be an array of strings, "*" or false'],
      [{ http: { allowedOrigins: [1] } }, 'http.allowedOrigins must be an array of strings, "*" or false'],
      [{ http: { allowedHosts: [""] } }, 'http.allowedHosts: "" is not a valid host, such as example.com'],
      [
        { http: { allowedOrigins: ["a b"] } },
        'http.allowedOrigins: "a b" is not a valid origin or host, such as https://example.com',
      ],
      [{ capabilities: [] }, "McpServer: capabilities must be of type object, got array"],
      [{ pageSize: "10" }, "McpServer: pageSize must be of type number, got string"],
      [{ rateLimit: {} }, "McpServer: rateLimit.burst is missing"],
      [{ rateLimit: { burst: -1 } }, "McpServer: rateLimit.burst must be a whole number of 1 or more, got -1"],
      [{ pageSize: 0 }, "McpServer: pageSize must be a whole number of 1 or more, got 0"],
    ];
    for (const [options, message] of wrong) refuses(() => build(options), message);
    build({ stateKeys: [{ id: "a", secret }], versions: undefined, http: undefined, limits: {} });
  });

  it("of a definition", () => {
    const define = (kind: "tool" | "prompt" | "resource" | "method", options: object) => () =>
      (server() as unknown as Record<string, Untyped>)[kind]?.("a:b", options, handler);
    refuses(define("tool", { description: 5 }), 'tool "a:b": description must be of type string, got number');
    refuses(define("tool", { visible: true }), 'tool "a:b": visible must be of type function, got boolean');
    const words = '"optional" or "required"';
    refuses(define("tool", { task: "optinal" }), `tool "a:b": task must be ${words}, got "optinal"`);
    refuses(define("tool", { task: { support: "any" } }), `tool "a:b": task.support must be ${words}, got "any"`);
    refuses(define("prompt", { complete: handler }), 'prompt "a:b": complete must be of type object, got function');
    refuses(define("resource", { name: "a", list: [] }), 'resource "a:b": list must be of type function, got array');
    refuses(define("method", { sealState: "no" }), 'method "a:b": sealState must be of type boolean, got string');
  });
});

describe("a tool that runs only as a task needs the extension that runs it", () => {
  const message = /^tool "a": task is "required", but the server runs no tasks; add \.extend\(tasks\(\)\)/;
  const define = () => server().tool("a", { task: "required" }, handler);

  it("when the server is first served, on each transport", async () => {
    await rejects(() => serveHttp(define()), message);
    await rejects(() => connect(define()), message);
    refuses(() => define().fetch(new Request("http://localhost/mcp")), message);
  });

  it("and not when the extension is added after the tool, or the tool is gone", async () => {
    await using first = await connect(define().extend(tasks()));
    equal((await first.listTools()).tools.length, 1);
    const without = define();
    without.removeTool("a");
    await using second = await connect(without);
    equal((await second.listTools()).tools.length, 0);
  });

  it("when it is added or changed while the server is served", async () => {
    const served = server().tool("b", {}, handler);
    await using client = await connect(served);
    refuses(() => served.tool("a", { task: "required" }, handler), message);
    refuses(() => served.edit.tool("b").update({ task: "required" }), /^tool "b": task is "required"/);
    refuses(() => served.edit.tool("b").update({ name: "a", task: "required" }), message);
    deepEqual(
      (await client.listTools()).tools.map(({ name, execution }) => [name, execution]),
      [["b", undefined]],
    );
    served.extend(tasks()).tool("a", { task: "required" }, handler);
    equal((await client.listTools()).tools.length, 2);
  });

  it("and a word that is none is refused where it is written", () => {
    refuses(
      () => server().tool("a", { task: "require" as never }, handler),
      'tool "a": task must be "optional" or "required", got "require"',
    );
  });
});

it("an option that is a URL may be a URL object", () => {
  const resource = new URL("https://a.example/mcp");
  const gate = protect({
    resource,
    authorizationServers: ["https://b.example"],
    verify: async () => undefined,
  } as never);
  equal(gate.paths?.[0], "/.well-known/oauth-protected-resource/mcp");
  oauth({ redirectUrl: new URL("http://127.0.0.1:3000/callback"), authorize: () => undefined });
  oauth({ clientMetadataUrl: new URL("https://a.example/client.json") });
  assert.throws(
    () => oauth({ redirectUrl: new URL("http://a.example/callback") }),
    /got "http:\/\/a\.example\/callback"/,
  );
});
