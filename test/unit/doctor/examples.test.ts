import { deepEqual } from "node:assert/strict";
import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { createIssuer } from "bowline/auth/issuer";
import { protect } from "bowline/auth/server";
import { serveHttp, toNodeListener } from "bowline/node";
import { McpServer, type Server } from "bowline/server";
import type { Express } from "express";
import { bowline, documentOf } from "../../support/command.js";
import { examineUrl } from "../../support/faulty/examination.js";
import { createHarbour, serve } from "../../support/harbour.js";

const dist = new URL("../../../../examples/dist/", import.meta.url);

/** Examines a server with the command, and returns what it finds. */
async function findings(t: TestContext, ...target: readonly string[]): Promise<readonly string[]> {
  const ran = await bowline(t, ["doctor", "--json", "--skip", "start/slow", ...target]);
  const { findings } = documentOf(ran, "doctor").result as { findings: readonly { rule: string; text: string }[] };
  return findings.map(({ rule, text }) => `${rule}: ${text}`);
}

/** Listens until the test ends. Returns the origin. */
async function listen(t: TestContext, listener: RequestListener): Promise<string> {
  const http = createServer(listener).listen(0, "127.0.0.1");
  await once(http, "listening");
  t.after(async () => {
    http.closeAllConnections();
    http.close();
    await once(http, "close");
  });
  return `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
}

test("nothing is found in the examples on stdio", async (t) => {
  for (const name of ["notes.js", "skills-server.js"])
    deepEqual(await findings(t, "--", process.execPath, fileURLToPath(new URL(name, dist))), [], name);
});

test("nothing is found in the harbour by HTTP, for pages too", async (t) => {
  const server = createHarbour();
  deepEqual(await findings(t, await serve(t, server)), []);
  const open = await serveHttp(new McpServer({ name: "open", version: "1" }, { http: { cors: true } }), { port: 0 });
  t.after(() => open.close());
  deepEqual(await findings(t, open.url), []);
});

test("nothing is found in a server behind Express", async (t) => {
  const { createExpressApp } = (await import(new URL("mounting/express.js", dist).href)) as {
    createExpressApp(server: Server, options?: { readonly parseBodies?: boolean }): Express;
  };
  const origin = await listen(t, createExpressApp(createHarbour(), { parseBodies: false }));
  deepEqual(await findings(t, `${origin}/api/mcp`), []);
});

test("nothing is found in a protected server with its own authorization server", async (t) => {
  let serveBoth: RequestListener = () => {};
  const origin = await listen(t, (request, response) => serveBoth(request, response));
  const resource = `${origin}/mcp`;
  const issuer = createIssuer({
    issuer: origin,
    resources: [resource],
    scopes: { "notes:read": "Read your notes" },
    user: () => ({ id: "ada" }),
  });
  const gate = protect({ resource, authorizationServers: [origin], verify: async () => undefined as never });
  const server = new McpServer({ name: "notes", version: "1" }, { http: { gate } });
  t.after(() => server.close());
  const [mcp, login] = [toNodeListener(server), toNodeListener(issuer)];
  serveBoth = (request, response) =>
    /^\/(mcp|\.well-known\/oauth-protected-resource)/.test(request.url ?? "")
      ? mcp(request, response)
      : login(request, response);
  const report = await examineUrl(resource);
  deepEqual(report.findings, []);
  const passed = report.passed.filter((rule) => rule.startsWith("auth/"));
  deepEqual(passed, ["auth/challenge", "auth/metadata", "auth/issuer", "auth/pkce", "auth/registration"]);
});
