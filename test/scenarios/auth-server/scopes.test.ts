import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import {
  type Guarded,
  type GuardedWorld,
  guardedEverywhere,
  guardedHttp,
  type Knock,
  toKnock,
} from "../../support/guarded.js";
import { modernRequest } from "../../support/modern-request.js";
import { verifies } from "../../support/verifies.js";

const PRM = "https://mcp.example/.well-known/oauth-protected-resource/mcp";

/** One request of an authorized client, as it looks on the wire of the era. */
async function ask(
  world: GuardedWorld,
  { send, knock }: Guarded,
  token: string,
  method: string,
  params: Record<string, unknown> = {},
  headers: Record<string, string> = {},
): Promise<Knock> {
  const authorization = `Bearer ${token}`;
  if (world.era === "modern") {
    const request = modernRequest(method, { params });
    const sent = { ...request.headers, authorization, ...headers };
    return toKnock(await send("/mcp", { method: "POST", headers: sent, body: JSON.stringify(request.body) }));
  }
  const opened = await knock({ authorization });
  const sent = {
    "content-type": "application/json",
    accept: "application/json, text/event-stream",
    "mcp-session-id": opened.headers.get("mcp-session-id") ?? "",
    authorization,
  };
  const body = JSON.stringify({ jsonrpc: "2.0", id: 2, method, params });
  return toKnock(await send("/mcp", { method: "POST", headers: sent, body }));
}

verifies("hosting:auth:scope-403", guardedEverywhere, async (world) => {
  world.tokens.set("rich", { scopes: ["read", "z"] });
  world.tokens.set("poor", { scopes: ["z"] });
  const { present, seen } = await world.guard({ protect: { scopes: ["read"] } });
  const { status, params, text } = await present("poor");
  equal(status, 403);
  const { error, error_description: description, ...rest } = params;
  equal(error, "insufficient_scope");
  match(description ?? "", /read/);
  deepEqual(rest, { scope: "read", resource_metadata: PRM });
  ok(!text.includes("jsonrpc"));
  deepEqual(seen, []);
  equal((await present("rich")).status, 200);
});

verifies("hosting:auth:scope-403:all-scopes", guardedEverywhere, async (world) => {
  world.tokens.set("neither", { scopes: ["z"] });
  world.tokens.set("one", { scopes: ["a", "z"] });
  world.tokens.set("two", { scopes: ["b", "a"] });
  const { present } = await world.guard({ protect: { scopes: ["a", "b"] } });
  deepEqual([(await present("neither")).params.scope, (await present("one")).params.scope], ["a b", "a b"]);
  equal((await present("two")).status, 200);
  // What every request needs and what this one needs beyond that are asked for together.
  const { send } = await world.guard({ protect: { scopes: ["read", "a"] } });
  const body = JSON.stringify({ jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "both", arguments: {} } });
  for (const [sent, scope] of [
    [body, "read a b"],
    [`[${body}, null, 7]`, "read a b"],
    ["not json", "read a"],
    ["x".repeat(5_000_000), "read a"],
  ] as const) {
    const headers = { authorization: "Bearer neither", "content-type": "application/json" };
    const { status, params } = await toKnock(await send("/mcp", { method: "POST", headers, body: sent }));
    deepEqual([status, params.error, params.scope], [403, "insufficient_scope", scope]);
  }
  if (world.transport === "sse") return;
  const guarded = await world.guard();
  for (const token of ["neither", "one"]) {
    const { status, params } = await ask(world, guarded, token, "tools/call", { name: "both", arguments: {} });
    deepEqual([status, params.scope], [403, "a b"]);
  }
  equal((await ask(world, guarded, "two", "tools/call", { name: "both", arguments: {} })).status, 200);
});

verifies("hosting:auth:scope-403:hierarchy", guardedEverywhere, async (world) => {
  world.tokens.set("admin", { scopes: ["admin"] });
  world.tokens.set("other", { scopes: ["other"] });
  const satisfies = (granted: readonly string[], required: string) =>
    granted.includes(required) || granted.includes("admin");
  const { present, client } = await world.guard({ protect: { scopes: ["read"], satisfies } });
  equal((await present("admin")).status, 200);
  const refused = await present("other");
  deepEqual([refused.status, refused.params.scope], [403, "read"]);
  // What a tool requires is judged by the same rule.
  const connected = await client(() => "Bearer admin");
  equal((await connected.callTool("write")).isError, false);
});

verifies("hosting:auth:scope-403:per-operation", guardedHttp, async (world) => {
  world.tokens.set("a", { scopes: ["a"] });
  world.tokens.set("all", { scopes: ["a", "b", "write", "logs"] });
  const scopesFor = ({ method }: { method: string }) =>
    method === "logging/setLevel" || method === "prompts/get" ? ["logs"] : [];
  const guarded = await world.guard({
    protect: { scopes: ["a"], scopesFor },
    define: (server) =>
      server
        .prompt("p", {}, () => "p")
        .prompt("q", { requires: { scopes: ["b"] } }, () => "q")
        .resource("r://one", { name: "one", requires: { scopes: ["b"] } }, () => "one")
        .resource("f://{id}", { name: "family", requires: { scopes: ["b"] } }, () => "f"),
  });
  const { seen } = guarded;
  const tool = (name: string) => ({ name, arguments: {} });
  // Whoever may list sees what there is, and learns on use what it takes.
  const listed = await ask(world, guarded, "a", "tools/list");
  equal(listed.status, 200);
  ok(listed.text.includes('"write"'));
  equal((await ask(world, guarded, "a", "tools/call", tool("who"))).status, 200);
  seen.splice(0);
  for (const [method, params, scope] of [
    ["tools/call", tool("write"), "write"],
    ["prompts/get", { name: "p" }, "logs"],
    ["prompts/get", { name: "q" }, "b logs"],
    ["resources/read", { uri: "r://one" }, "b"],
    ["resources/read", { uri: "f://7" }, "b"],
  ] as const) {
    const refused = await ask(world, guarded, "a", method, params);
    deepEqual([refused.status, refused.params.error, refused.params.scope], [403, "insufficient_scope", scope], method);
    ok(!refused.text.includes("jsonrpc"));
    equal((await ask(world, guarded, "all", method, params)).status, 200, method);
  }
  equal(seen.splice(0).length, 1);
  if (world.era === "legacy") {
    const connected = await guarded.client(() => "Bearer a");
    await rejects(connected.callTool("write"), { name: "ConnectionError", status: 403 });
    return;
  }
  // Headers that say something else than the body change nothing, or are found out.
  const dodging = await ask(world, guarded, "a", "tools/call", tool("write"), { "mcp-name": "who" });
  equal(dodging.status, 403);
  const other = await ask(world, guarded, "a", "tools/call", tool("write"), { "mcp-method": "tools/list" });
  equal(other.status, 403);
  equal((await ask(world, guarded, "a", "tools/call", tool("who"), { "mcp-name": "write" })).status, 400);
  deepEqual(seen, []);
});
