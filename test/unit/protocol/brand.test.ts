import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import * as issuer from "bowline/auth/issuer";
import * as gate from "bowline/auth/server";
import * as client from "bowline/client";
import * as server from "bowline/server";
import { ClientTasks, tasksClient } from "bowline/tasks/client";
import type * as tasks from "bowline/tasks/server";

/** A second copy of the package. It is inside the project, where its imports of other packages resolve. */
const dist = dirname(dirname(fileURLToPath(import.meta.resolve("bowline/server"))));
const copy = mkdtempSync(join(dirname(dist), "build", "copy-"));
cpSync(dist, copy, { recursive: true, filter: (path) => !path.endsWith(".map") });
after(() => rmSync(copy, { recursive: true, force: true }));
const load = async <M>(entry: string): Promise<M> => import(pathToFileURL(join(copy, `entry/${entry}.js`)).href);
const otherServer = await load<typeof server>("server");
const otherClient = await load<typeof client>("client");
const otherGate = await load<typeof gate>("auth-server");
const otherTasks = await load<typeof tasks>("tasks/server");
const otherIssuer = await load<typeof issuer>("auth-issuer");

type ErrorClass = (new (...args: never[]) => Error) & { readonly prototype: Error };

function errorsOf(...entries: readonly object[]): Map<string, ErrorClass> {
  const all = entries.flatMap((entry) => Object.entries(entry));
  return new Map(all.filter(([, value]) => typeof value === "function" && value.prototype instanceof Error));
}

test("an error of one copy is an instance of the same class of the other, of its parents and of nothing else", () => {
  const ours = errorsOf(client, server, gate, issuer);
  const theirs = errorsOf(otherClient, otherServer, otherGate, otherIssuer);
  ok(ours.size > 15);
  deepEqual([...ours.keys()], [...theirs.keys()]);
  for (const [name, type] of ours) {
    const other = theirs.get(name)!;
    ok(type !== other, `${name} is loaded twice`);
    for (const [parent, expected] of ours) {
      const related = type.prototype instanceof expected || type === expected;
      equal(Object.create(other.prototype) instanceof expected, related, `${name} of the copy as ${parent}`);
      const back = Object.create(type.prototype) instanceof theirs.get(parent)!;
      equal(back, related, `${name} as ${parent} of the copy`);
    }
    equal(new Error("plain") instanceof type, false);
  }
});

test("a class that a user derives from an error has instances of its own only", () => {
  class Mine extends server.ToolError {}
  class Yours extends otherServer.ToolError {}
  ok(new Mine("a") instanceof server.ToolError);
  ok(new Mine("a") instanceof otherServer.ToolError);
  ok(new Yours("a") instanceof server.ToolError);
  equal(new Yours("a") instanceof Mine, false);
  equal(new server.ToolError("a") instanceof Mine, false);
  for (const value of [undefined, null, "ToolError", Object.create(null), { constructor: null }, () => undefined]) {
    equal(value instanceof server.ToolError, false);
  }
});

test("a server takes results, errors and extensions of the other copy", async () => {
  const parcels = new otherServer.ServerExtension({ id: "com.example/parcels" }).method(
    "com.example/track",
    {},
    () => ({
      at: 1,
    }),
  );
  const mixed = new server.McpServer({ name: "mixed", version: "1" })
    .extend(parcels)
    .tool("result", {}, () => otherServer.toolResult({ content: [otherServer.text("whole")], _meta: { "a/b": 1 } }))
    .tool("tool-error", {}, () => {
      throw new otherServer.ToolError("for the model");
    })
    .tool("rpc-error", {}, () => {
      throw new otherServer.RpcError(1001, "for the caller");
    });
  await using peer = await otherClient.connect(mixed, { extensions: [{ id: "com.example/parcels" }] });
  const { content, meta } = await peer.callTool("result");
  equal(meta?.["a/b"], 1);
  deepEqual(content, [{ type: "text", text: "whole" }]);
  const failed = await peer.callTool("tool-error");
  equal(failed.isError, true);
  equal(failed.text, "for the model");
  await rejects(peer.callTool("rpc-error"), (error) => error instanceof client.RpcError && error.rpcCode === 1001);
  equal((await peer.request("com.example/track")).at, 1);
});

test("a server runs tools as tasks by the extension of the other copy, also with an interceptor", async () => {
  const methods: string[] = [];
  const mixed = new server.McpServer({ name: "mixed", version: "1" })
    .use((call, next) => {
      methods.push(`${call.method} ${call.params.name}`);
      return next(call);
    })
    .extend(otherTasks.tasks())
    .tool("report", { task: "required" }, () => "done");
  await using peer = await client.connect(mixed, { extensions: [tasksClient()] });
  const call = await new ClientTasks(peer).startTool("report");
  equal((await call.result).text, "done");
  ok(call.id !== undefined);
  ok(methods.includes("tools/call report"));
  await mixed.close();
});

test("a gate takes a refusal of the other copy for one of the token", async () => {
  const protection = gate.protect({
    resource: "https://mcp.example/mcp",
    authorizationServers: ["https://login.example"],
    verify: () => {
      throw new otherGate.InvalidTokenError("revoked");
    },
  });
  const guarded = new server.McpServer(
    { name: "guarded", version: "1" },
    { http: { gate: protection, allowedHosts: ["mcp.example"] } },
  );
  const headers = { authorization: "Bearer a", "content-type": "application/json" };
  const response = await guarded.fetch(new Request("https://mcp.example/mcp", { method: "POST", headers, body: "{}" }));
  equal(response.status, 401);
  match(response.headers.get("www-authenticate") ?? "", /error="invalid_token"/);
  await guarded.close();
});
