import { deepEqual, equal, match, rejects, throws } from "node:assert/strict";
import { test } from "node:test";
import { connect } from "bowline/client";
import { type CallInfo, McpServer, type ServerInterceptor, type ServerOptions } from "bowline/server";
import { createArrayExchange } from "bowline/testing";
import { modernRequest } from "../../support/modern-request.js";

const me = { name: "s", version: "1" };

/** Posts a tool call of the principal "ada". */
async function post(server: McpServer) {
  const { headers, body } = modernRequest("tools/call", { params: { name: "greet", arguments: {} } });
  const caller = { auth: { subject: "ada", scopes: ["read"] }, principal: "ada", remote: "203.0.113.1" };
  const exchange = createArrayExchange({ url: "/mcp?x=1", headers, body: JSON.stringify(body), ...caller });
  server.handle(exchange);
  await exchange.done;
  return JSON.parse(exchange.body());
}

function greeter(interceptor: ServerInterceptor, options: ServerOptions = {}): McpServer {
  return new McpServer(me, options).use(interceptor).tool("greet", {}, () => "hello");
}

test("an interceptor sees the call, its client and its caller", async () => {
  const seen: CallInfo[] = [];
  const server = greeter((call, next) => {
    seen.push(call);
    return next(call);
  });
  equal((await post(server)).result.content[0].text, "hello");
  const [call] = seen as [CallInfo];
  const { id, method, params, client, auth, principal, sessionId, url, remote } = call;
  deepEqual([id, method, params.name, client.version], [1, "tools/call", "greet", "2026-07-28"]);
  deepEqual([auth, principal], [{ subject: "ada", scopes: ["read"] }, "ada"]);
  deepEqual([sessionId, url, remote, call.signal.aborted], [undefined, "/mcp?x=1", "203.0.113.1", false]);
  equal(call.header("MCP-Method"), "tools/call");
  equal(call.header("x-none"), undefined);
  await server.close();
});

test("an interceptor can neither change the call nor see its inside", async () => {
  const seen: CallInfo[] = [];
  const server = greeter((call, next) => {
    seen.push(call);
    return next(call);
  });
  await post(server);
  const [call] = seen as [CallInfo];
  deepEqual(Reflect.ownKeys(call), []);
  for (const member of ["method", "params", "principal"])
    throws(() => Object.assign(call, { [member]: "other" }), TypeError);
  deepEqual(Object.getOwnPropertySymbols(Object.getPrototypeOf(call)), []);
  deepEqual(
    ["end", "wire", "era", "origin", "authoredState", "key", "beforeClose"].filter((member) => member in call),
    [],
  );
  await server.close();
});

test("an interceptor can replace neither the name nor the arguments of a call", async () => {
  const server = greeter((call, next) => {
    throws(() => Object.assign(call.params, { name: "secret" }), TypeError);
    throws(() => Object.assign(call.params, { arguments: { all: true } }), TypeError);
    equal(call.params, call.params);
    return next(call);
  }).tool("secret", () => "secret");
  equal((await post(server)).result.content[0].text, "hello");
  await server.close();
});

for (const era of ["modern", "legacy"] as const) {
  test(`an interceptor can change nothing in the params of a call or in its client (${era})`, async (t) => {
    const given: unknown[] = [];
    const server = new McpServer(me)
      .use((call, next) => {
        const { arguments: args, _meta: meta } = call.params as Record<string, { port: { piers: object[] } }>;
        for (const part of [args, args?.port, args?.port.piers, args?.port.piers[0], meta, call.params, call.client])
          if (part !== undefined) throws(() => Object.assign(part, { 0: "changed", version: "changed" }), TypeError);
        throws(() => Object.assign(call.client.capabilities, { elicitation: {} }), TypeError);
        equal(call.client, call.client);
        return next(call);
      })
      .tool("greet", { input: { type: "object" } }, (args, ctx) => {
        given.push(args, ctx.client.capabilities.elicitation);
        return "hello";
      });
    t.after(() => server.close());
    await using client = await connect(server, { era });
    const args = { port: { name: "Leith", piers: [{ length: 40 }], ["__proto__"]: { all: true } } };
    equal((await client.callTool("greet", args)).text, "hello");
    deepEqual(given, [args, undefined]);
  });
}

test("an interceptor reads params that are nested as deeply as a client likes", async (t) => {
  let read = 0;
  const server = new McpServer(me)
    .use((call, next) => {
      for (let part = call.params.deep; Array.isArray(part); part = part[0]) read++;
      return next(call);
    })
    .method("com.example/deep", () => ({}));
  t.after(() => server.close());
  const deep = `${"[".repeat(20_000)}${"]".repeat(20_000)}`;
  const { headers, body } = modernRequest("com.example/deep", { params: { deep: "DEEP" } });
  const exchange = createArrayExchange({ url: "/mcp", headers, body: JSON.stringify(body).replace('"DEEP"', deep) });
  server.handle(exchange);
  await exchange.done;
  equal(JSON.parse(exchange.body()).error, undefined);
  equal(read, 20_000);
});

test("a handler may change the params that an interceptor has read", async (t) => {
  const server = new McpServer(me)
    .use((call, next) => {
      equal(call.params.name, undefined);
      return next(call);
    })
    .method("com.example/page", (params) => {
      Object.assign(params, { limit: 10 });
      return { limit: params.limit };
    });
  t.after(() => server.close());
  await using client = await connect(server);
  deepEqual((await client.request("com.example/page")).limit, 10);
});

test("a copy of a call is refused with an error that says what to pass on", async () => {
  const errors: unknown[] = [];
  const server = greeter((call, next) => next({ ...call, params: {} }), { onError: (error) => errors.push(error) });
  equal((await post(server)).error.code, -32603);
  match(String(errors), /DefinitionError: next: pass on the call that the interceptor was given/);
  await server.close();
});

test("an interceptor sees and changes listings as it does other results", async (t) => {
  const shown: unknown[] = [];
  const server = greeter(async (call, next) => {
    const result = await next(call);
    if (call.method !== "tools/list") return result;
    shown.push((result.tools as { name: string }[]).map(({ name }) => name));
    return shown.length === 1 ? result : { ...result, tools: [] };
  });
  t.after(() => server.close());
  for (const era of ["modern", "legacy"] as const) {
    shown.length = 0;
    const client = await connect(server, { era, cache: false });
    const names = async () => (await client.listTools()).tools.map(({ name }) => name);
    deepEqual([await names(), await names()], [["greet"], []]);
    deepEqual(shown, [["greet"], ["greet"]]);
    await client.close();
  }
});

test("an interceptor may answer a call, and run it twice", async (t) => {
  let runs = 0;
  const server = new McpServer(me)
    .use(async (call, next) => {
      if (call.params.name === "closed") return { content: [{ type: "text", text: "by the interceptor" }] };
      const first = await next(call);
      return first.isError === true ? next(call) : first;
    })
    .tool("flaky", {}, () => {
      if (++runs === 1) throw new Error("once");
      return "done";
    })
    .tool("closed", {}, () => "never");
  t.after(() => server.close());
  const client = await connect(server);
  t.after(() => client.close());
  equal((await client.callTool("closed")).text, "by the interceptor");
  equal((await client.callTool("flaky")).text, "done");
  await rejects(client.callTool("none"), /Unknown tool: none is not listed/);
  equal(runs, 2);
});
