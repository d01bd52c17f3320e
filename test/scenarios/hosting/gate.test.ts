import { deepEqual, equal, ok } from "node:assert/strict";
import { Agent, request as send } from "node:http";
import { toNodeListener } from "bowline/node";
import { type HttpExchange, McpServer, type ServerOptions } from "bowline/server";
import { modernRequest } from "../../support/modern-request.js";
import { initialize, lastMessage, legacy, listenOn, onEachHost, openSession } from "../../support/plain-http.js";
import { proves } from "../../support/verifies.js";

const http = { wire: "http" };
const USERS: Record<string, string> = { "Bearer a": "anna", "Bearer b": "bert" };

async function gate(exchange: HttpExchange) {
  const user = USERS[exchange.header("authorization") ?? ""];
  if (user === undefined) return { status: 401, headers: { "www-authenticate": "Bearer" } };
  return { auth: { user, scopes: ["read"] }, principal: user };
}

function createGated(options: ServerOptions["http"]) {
  const seen: unknown[] = [];
  const opened: string[] = [];
  const sessions = { onOpen: (id: string) => void opened.push(id) };
  const make = () =>
    new McpServer({ name: "gated", version: "1.0.0" }, { http: { sessions, ...options } }).tool("who", {}, (_, ctx) => {
      seen.push(ctx.auth);
      return JSON.stringify(ctx.auth ?? null);
    });
  return { make, seen, opened };
}

const modernCall = (authorization?: string) =>
  modernRequest("tools/call", { params: { name: "who", arguments: {} }, headers: { authorization } });
const legacyCall = (headers: Record<string, string>) =>
  legacy({ jsonrpc: "2.0", id: 4, method: "tools/call", params: { name: "who", arguments: {} } }, { headers });

proves("hosting:http:auth-required-hook", http, "nobody passes unknown, and handlers learn who did", async (t) => {
  const { make, seen, opened } = createGated({ gate });
  await onEachHost(t, make, async (ask, server) => {
    for (const request of [
      modernCall(),
      modernCall("Bearer x"),
      initialize(),
      { method: "GET" },
      { method: "DELETE" },
    ]) {
      const refused = await ask(request);
      deepEqual([refused.status, refused.headers["www-authenticate"]], [401, "Bearer"]);
    }
    deepEqual([seen.splice(0), opened.splice(0), server.stats().sessions], [[], [], 0]);
    equal((await ask(modernCall("Bearer a"))).status, 200);
    const session = await openSession(ask, { headers: { authorization: "Bearer a" } });
    equal((await ask(legacyCall(session))).status, 200);
    const anna = { user: "anna", scopes: ["read"] };
    deepEqual(seen.splice(0), [anna, anna]);
    // A session belongs to the one who opened it.
    equal((await ask(legacyCall({ ...session, authorization: "Bearer b" }))).status, 404);
    equal(opened.splice(0).length, 1);
  });
  const open = createGated({});
  await onEachHost(t, open.make, async (ask) => {
    equal((await ask(modernCall("Bearer a"))).status, 200);
    const session = await openSession(ask, { headers: { authorization: "Bearer a" } });
    equal((await ask(legacyCall(session))).status, 200);
    deepEqual(open.seen.splice(0), [undefined, undefined]);
  });
});

proves("hosting:http:auth-required-hook", http, "a gate that fails lets nobody in", async (t) => {
  const broken = createGated({
    gate: () => {
      throw new Error("the key store is down");
    },
  });
  await onEachHost(t, broken.make, async (ask) => {
    const refused = await ask(modernCall("Bearer a"));
    equal(refused.status, 500);
    ok(!refused.text.includes("key store"));
    deepEqual(broken.seen, []);
  });
});

proves("hosting:http:modern:auth-every-request", http, "each request on one connection is judged alone", async (t) => {
  const { make, seen } = createGated({ gate });
  const server = make();
  t.after(() => server.close());
  const port = await listenOn(t, toNodeListener(server));
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  const ports = new Set<number | undefined>();
  const ask = (authorization: string | undefined) =>
    new Promise<{ status: number; text: string }>((resolve, reject) => {
      const { headers, body } = modernCall(authorization);
      const present = Object.fromEntries(Object.entries(headers).filter(([, value]) => value !== undefined));
      const out = send(
        { port, host: "127.0.0.1", path: "/mcp", method: "POST", headers: present, agent },
        async (answer) => {
          ports.add(answer.socket.localPort);
          let text = "";
          for await (const chunk of answer) text += chunk;
          resolve({ status: answer.statusCode ?? 0, text });
        },
      );
      out.on("error", reject);
      out.end(JSON.stringify(body));
    });
  const listening = modernRequest("subscriptions/listen", {
    params: { notifications: { toolsListChanged: true } },
    headers: { authorization: "Bearer a" },
  });
  const { authorization = "", ...rest } = listening.headers;
  const stream = await fetch(`http://127.0.0.1:${port}/mcp`, {
    method: "POST",
    headers: { ...(rest as Record<string, string>), authorization },
    body: JSON.stringify(listening.body),
  });
  equal(stream.status, 200);
  const answers = [];
  for (const token of ["Bearer a", undefined, "Bearer expired", "Bearer b", "Bearer a"]) answers.push(await ask(token));
  deepEqual(
    answers.map(({ status }) => status),
    [200, 401, 401, 200, 200],
  );
  deepEqual(
    seen.map((auth) => (auth as { user: string }).user),
    ["anna", "bert", "anna"],
  );
  equal(ports.size, 1);
  const last = lastMessage({ status: 200, headers: {}, text: answers[3]?.text ?? "" });
  ok(JSON.stringify(last.result).includes("bert"));
  await stream.body?.cancel();
});
