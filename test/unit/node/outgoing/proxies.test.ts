import { deepEqual, equal, match, ok } from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { RequestListener } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { serveHttp, toNodeListener } from "bowline/node";
import { McpServer } from "bowline/server";
import { parseProxy, readProxies } from "#src/node/outgoing/proxies.js";
import { CERTIFICATE, openForwardProxy } from "../../../support/forward-proxy.js";

const CHILD = fileURLToPath(new URL("../../../../../test/support/children/proxied-client.mjs", import.meta.url));
const run = promisify(execFile);

function echoServer(hosts: readonly string[]): McpServer {
  return new McpServer({ name: "s", version: "1" }, { http: { allowedHosts: hosts } }).tool(
    "echo",
    {},
    () => "echo",
  ) as McpServer;
}

/** Runs the client with these variables and no others about proxies. */
async function visit(args: readonly string[], env: Record<string, string>): Promise<Record<string, unknown>> {
  const others = Object.entries(process.env).filter(([name]) => !/proxy/i.test(name));
  const { stdout } = await run(process.execPath, [CHILD, ...args], { env: { ...Object.fromEntries(others), ...env } });
  return JSON.parse(stdout) as Record<string, unknown>;
}

async function trusting(t: TestContext): Promise<Record<string, string>> {
  const folder = await mkdtemp(join(tmpdir(), "proxy-"));
  t.after(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, "ca.pem"), CERTIFICATE);
  return { NODE_EXTRA_CA_CERTS: join(folder, "ca.pem") };
}

test("a proxy of the environment carries the calls of a client over http", async (t) => {
  const proxy = await openForwardProxy(t, toNodeListener(echoServer(["mcp.example"])));
  const env = { HTTP_PROXY: `http://user:p%40ss@127.0.0.1:${proxy.port}` };
  deepEqual(await visit(["http://mcp.example/mcp?a=b"], env), { said: ["echo", "echo"], open: 0 });
  ok(proxy.asked.length >= 3);
  for (const { line, credentials } of proxy.asked) {
    equal(line, "POST http://mcp.example/mcp?a=b");
    equal(credentials, `Basic ${btoa("user:p@ss")}`);
  }
});

test("a proxy of the environment gives a tunnel to servers over https, which is used again", async (t) => {
  const proxy = await openForwardProxy(t, toNodeListener(echoServer(["mcp.example"])));
  const env = { ...(await trusting(t)), https_proxy: `127.0.0.1:${proxy.port}`, HTTP_PROXY: "http://127.0.0.1:1" };
  deepEqual(await visit(["https://mcp.example/mcp"], env), { said: ["echo", "echo"], open: 0 });
  deepEqual(proxy.asked, [{ line: "CONNECT mcp.example:443", credentials: undefined }]);
});

test("a tunnel does not do without the certificate of the server", async (t) => {
  const proxy = await openForwardProxy(t, toNodeListener(echoServer(["mcp.example"])));
  const { message } = await visit(["https://mcp.example/mcp"], { https_proxy: `127.0.0.1:${proxy.port}` });
  match(String(message), /certificate/);
});

test("a proxy that gives no tunnel is named in the error, and nothing was sent", async (t) => {
  const proxy = await openForwardProxy(t, () => {});
  proxy.refuseTunnels = "407 Proxy Authentication Required";
  const env = { HTTPS_PROXY: `http://user:secret-word@127.0.0.1:${proxy.port}` };
  const { message, delivery } = await visit(["https://mcp.example/mcp"], env);
  match(
    String(message),
    new RegExp(`the proxy 127\\.0\\.0\\.1:${proxy.port} did not open a connection to the server: HTTP status 407`),
  );
  equal(delivery, "not_sent");
  ok(!String(message).includes("secret-word"));
  const socks = await visit(["https://mcp.example/mcp"], { ALL_PROXY: "socks5://user:secret-word@127.0.0.1:1" });
  match(String(socks.message), /scheme socks5; .*option fetch/);
  ok(!String(socks.message).includes("secret-word"));
});

test("this machine is connected to directly", async (t) => {
  const running = await serveHttp(echoServer(["127.0.0.1"]), { port: 0 });
  t.after(() => running.close());
  const proxy = await openForwardProxy(t, () => {});
  const at = `http://127.0.0.1:${proxy.port}`;
  deepEqual(await visit([running.url], { HTTP_PROXY: at, HTTPS_PROXY: at }), { said: ["echo", "echo"], open: 0 });
  deepEqual(proxy.asked, []);
});

test("an authorization goes by the proxy too, and strangers' names reach it as they are", async (t) => {
  const mcp = toNodeListener(echoServer(["mcp.example"]));
  const json =
    (value: unknown): RequestListener =>
    (_, response) =>
      response.setHeader("content-type", "application/json").end(JSON.stringify(value));
  const metadata = { issuer: "http://as.example", token_endpoint: "http://tokens.example/token" };
  const resource = { resource: "http://mcp.example/mcp", authorization_servers: ["http://as.example"] };
  const routes = new Map<string, RequestListener>([
    ["as.example/.well-known/oauth-authorization-server", json(metadata)],
    ["tokens.example/token", json({ access_token: "good", token_type: "Bearer" })],
    ["mcp.example/.well-known/oauth-protected-resource/mcp", json(resource)],
  ]);
  const proxy = await openForwardProxy(t, (request, response) => {
    const route = routes.get(`${request.headers.host}${request.url}`);
    if (route !== undefined) return route(request, response);
    if (request.headers.authorization === "Bearer good") return mcp(request, response);
    response.writeHead(401).end();
  });
  const env = { http_proxy: `http://127.0.0.1:${proxy.port}` };
  // Clients share the connections for tokens.
  deepEqual(await visit(["http://mcp.example/mcp", "http://as.example"], env), { said: ["echo", "echo"], open: 1 });
  const lines = new Set(proxy.asked.map(({ line }) => line));
  ok(lines.has("POST http://tokens.example/token") && lines.has("POST http://mcp.example/mcp"));
});

test("the variables count as they do elsewhere", () => {
  const at = (env: Record<string, string>, url: string) => readProxies(env)?.(new URL(url));
  equal(readProxies({}), undefined);
  equal(readProxies({ HTTP_PROXY: "", NO_PROXY: "*" }), undefined);
  equal(at({ HTTP_PROXY: "a", http_proxy: "b" }, "http://x.example"), "b");
  equal(at({ HTTP_PROXY: "a" }, "https://x.example"), undefined);
  equal(at({ ALL_PROXY: "c", HTTPS_PROXY: "a" }, "http://x.example"), "c");
  equal(at({ ALL_PROXY: "c", HTTPS_PROXY: "a" }, "https://x.example"), "a");
  // In a CGI program it is the header "Proxy" of whoever asks.
  equal(at({ HTTP_PROXY: "a", REQUEST_METHOD: "GET", HTTPS_PROXY: "s" }, "http://x.example"), undefined);
  equal(at({ http_proxy: "a", REQUEST_METHOD: "GET" }, "http://x.example"), "a");
  for (const url of [
    "http://localhost:3",
    "http://a.localhost",
    "http://127.0.0.9",
    "http://[::1]:3",
    "http://2130706433",
  ])
    equal(at({ HTTP_PROXY: "a" }, url), undefined, url);
  const no_proxy =
    "example.com, .inner.example *.star.example,10.1.0.0/16,192.0.2.7 [2001:db8::1],2001:db8:1::/48,h.example:8080,2001:0DB8::0:3,m\u00fcnchen.example,dot.example.";
  const goes = (url: string) => at({ http_proxy: "a", https_proxy: "a", no_proxy }, url) !== undefined;
  for (const url of [
    "http://example.com",
    "https://EXAMPLE.com./x",
    "http://sub.example.com:81",
    "http://inner.example",
    "http://a.inner.example",
    "http://b.star.example",
    "http://10.1.2.3",
    "http://192.0.2.7:9",
    "http://[2001:db8::1]",
    "http://[2001:db8:1::5]",
    "http://h.example:8080",
    "http://[2001:db8::3]",
    "http://m\u00fcnchen.example",
    "http://dot.example",
  ])
    equal(goes(url), false, url);
  for (const url of [
    "http://notexample.com",
    "http://example.com.evil.example",
    "http://10.2.0.1",
    "http://192.0.2.70",
    "http://[2001:db8::2]",
    "http://h.example",
    "https://h.example:8081",
  ])
    equal(goes(url), true, url);
  equal(parseProxy("proxy.example:3128").href, "http://proxy.example:3128/");
  equal(parseProxy("https://proxy.example").protocol, "https:");
});

test("an exception that is no range of addresses is taken for a name", () => {
  const goes = (url: string) =>
    readProxies({ http_proxy: "a", no_proxy: "10.0.0.0/33,2001:db8::9/129,host/8,192.168.0.0/16" })?.(new URL(url)) !==
    undefined;
  equal(goes("http://10.0.0.1/"), true);
  equal(goes("http://[2001:db8::9]/"), true);
  equal(goes("http://other/"), true);
  equal(goes("http://192.168.3.4/"), false);
});
