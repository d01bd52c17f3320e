import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import dns from "node:dns";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { syncBuiltinESMExports } from "node:module";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { type AuthError, clientCredentials, oauth, type PinnedOAuthOptions } from "bowline/auth/client";
import { AuthWorld, failsAt, MockIssuer } from "../../../support/auth-world.js";

type Answer = (request: IncomingMessage, response: ServerResponse) => void;

/** Every name of `.example` is this machine, though no such name says so. */
function resolveExamples(t: TestContext): void {
  const real = dns.lookup;
  const lookup = (name: string, options: dns.LookupOptions, done: (...outcome: unknown[]) => void) =>
    name.endsWith(".example")
      ? process.nextTick(() =>
          options.all === true ? done(null, [{ address: "127.0.0.1", family: 4 }]) : done(null, "127.0.0.1", 4),
        )
      : real(name, options, done as never);
  const mocked = t.mock.method(dns, "lookup", lookup as never);
  syncBuiltinESMExports();
  t.after(() => {
    mocked.mock.restore();
    syncBuiltinESMExports();
  });
}

/** An MCP server and an authorization server on one listener, told apart by their names. */
async function setUp(t: TestContext, tokensAt: (port: number) => string) {
  resolveExamples(t);
  const asked: string[] = [];
  const json = (response: ServerResponse, value: unknown) =>
    response.setHeader("content-type", "application/json").end(JSON.stringify(value));
  const answer: Answer = (request, response) => {
    const { host } = request.headers;
    asked.push(`${request.method} ${host?.split(":")[0]}${request.url}`);
    const { port } = server.address() as AddressInfo;
    const issuer = `http://as.example:${port}`;
    if (request.url?.includes("protected-resource"))
      return void json(response, { resource: `http://mcp.example:${port}/mcp`, authorization_servers: [issuer] });
    if (request.url?.includes("authorization-server"))
      return void json(response, { issuer, token_endpoint: tokensAt(port) });
    if (request.url === "/token") return void json(response, { access_token: "good", token_type: "Bearer" });
    response.writeHead(request.headers.authorization === "Bearer good" ? 200 : 401).end();
  };
  const server = createServer(answer).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const visit = (more: Partial<PinnedOAuthOptions> = {}) =>
    oauth({
      issuer: `http://as.example:${port}`,
      grant: clientCredentials(),
      client: { id: "machine", secret: "between-us" },
      allowInsecure: true,
      ...more,
    }).fetch(`http://mcp.example:${port}/mcp`, { method: "POST", body: "{}" });
  return { asked, port, visit };
}

test("on Node, a stranger's name that stands for a private address is not asked, and the error names the option", async (t) => {
  const { asked, visit } = await setUp(t, (port) => `http://inside.example:${port}/token`);
  await rejects(
    visit(),
    failsAt("configuration", /inside\.example.* private address \(option allowPrivateAddresses\)/),
  );
  // The server and the issuer are named by the author.
  ok(asked.includes("GET as.example/.well-known/oauth-authorization-server"));
  equal(asked.filter((line) => line.includes("inside.example")).length, 0);
  equal((await visit({ allowPrivateAddresses: true })).status, 200);
  ok(asked.includes("POST inside.example/token"));
});

test("an issuer that the MCP server names is a stranger", async (t) => {
  const { asked, port } = await setUp(t, (at) => `http://as.example:${at}/token`);
  const auth = oauth({
    redirectUrl: "http://127.0.0.1:9/callback",
    authorize: () => undefined,
    allowInsecure: true,
  });
  const visit = auth.fetch(`http://mcp.example:${port}/mcp`, { method: "POST", body: "{}" });
  await rejects(visit, failsAt("configuration", /as\.example.* private address/));
  equal(asked.filter((line) => line.includes("as.example")).length, 0);
});

test("a fetch that the program put in place decides for itself", async (t) => {
  const { asked, visit } = await setUp(t, (port) => `http://inside.example:${port}/token`);
  const real = globalThis.fetch;
  const mocked = t.mock.method(globalThis, "fetch", (...args: Parameters<typeof fetch>) => real(...args));
  equal((await visit()).status, 200);
  ok(asked.includes("POST inside.example/token"));
  ok(mocked.mock.callCount() >= 4);
});

test("bodies are sent by the guarded fetch as fetch would send them", async (t) => {
  resolveExamples(t);
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { "content-type": type, "content-length": length } = request.headers;
    response.end(JSON.stringify([Buffer.concat(chunks).toString("latin1"), type, length]));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { guardedFetch } = await import("bowline/node");
  const local = guardedFetch({ allowLoopback: true });
  const { port } = server.address() as AddressInfo;
  const bytes = Uint8Array.of(0, 255, 10);
  const bodies: BodyInit[] = [
    new URLSearchParams({ a: "b c" }),
    "\u00fc",
    bytes,
    new Blob([bytes], { type: "a/b" }),
    "",
  ];
  for (const body of bodies) {
    const sent = await local(new URL(`http://form.example:${port}/`), { method: "POST", body });
    const usual = await fetch(`http://127.0.0.1:${port}/`, { method: "POST", body });
    deepEqual(await sent.json(), await usual.json());
  }
});

test("the issuer that the author names may be at any address, and no other may", async (t) => {
  for (const issuer of [
    "https://10.0.0.5",
    "https://login.corp.internal",
    "http://127.0.0.1:8080",
    "https://[fd00::5]",
  ]) {
    const world = await AuthWorld.open(t, "modern");
    world.issuers.push(new MockIssuer(issuer));
    world.listed = [issuer];
    const grant = clientCredentials();
    const client = { id: "machine", secret: "between-us" };
    await world.call(world.oauth({ issuer, grant, client }));
    equal(world.count(`POST ${issuer}/token`), 1);
    world.arrivals.length = 0;
    const why = failsAt(
      "server_metadata",
      /must not be requested: it is a private address \(option allowPrivateAddresses\)/,
    );
    await rejects(world.call(world.oauth()), (error: AuthError) => {
      why(error);
      return error.tried.every((address) => address.startsWith("https://mcp.example/"));
    });
    equal(world.count(`GET ${issuer}`), 0);
  }
});
