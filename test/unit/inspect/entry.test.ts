import { deepEqual, equal, match, ok, throws } from "node:assert/strict";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { type TestContext, test } from "node:test";
import { connect } from "bowline/client";
import { type InspectOptions, type Inspector, inspect } from "bowline/inspect";
import { serveHttp, toNodeListener } from "bowline/node";
import { harbour } from "../../support/recorded-wires.js";

interface Got {
  readonly status: number;
  readonly headers: { readonly [name: string]: unknown };
  readonly text: string;
}

function ask(url: string, method: string, body?: object, more: Record<string, string> = {}): Promise<Got> {
  const { origin } = new URL(url);
  const headers = {
    "sec-fetch-site": "same-origin",
    ...(method === "POST" && { origin, "content-type": "application/json" }),
    ...more,
  };
  return new Promise((resolve, reject) => {
    const sent = request(url, { method, headers, agent: false }, async (response) => {
      const text = (await response.toArray()).join("");
      resolve({ status: response.statusCode ?? 0, headers: response.headers, text });
    });
    sent.on("error", reject);
    sent.end(body === undefined ? undefined : JSON.stringify(body));
  });
}

/** Enters by the link, and returns the cookie. */
async function enter(link: string): Promise<string> {
  const { origin, pathname, hash } = new URL(link);
  const token = new URLSearchParams(hash.slice(1)).get("token");
  const { status, headers } = await ask(`${origin}${pathname}enter`, "POST", { token });
  equal(status, 204);
  return String((headers["set-cookie"] as readonly string[])[0]).split(";")[0] as string;
}

function opened(t: TestContext, options: Partial<InspectOptions> = {}) {
  const inspector = inspect({ server: harbour(), ...options });
  t.after(() => inspector.close());
  return inspector;
}

async function use(inspector: Inspector, origin: string): Promise<void> {
  const base = `${origin}/inspect/`;
  const cookie = await enter(inspector.link(origin));
  const done = await ask(`${base}do`, "POST", { do: "connect" }, { cookie });
  deepEqual(JSON.parse(done.text), { ok: true, result: { connections: [1] } });
  equal((await ask(`${base}do`, "POST", { do: "connect" })).status, 401);
  equal((await ask(`${origin}/inspect`, "GET")).headers.location, "/inspect/");
  equal((await ask(`${base}do`, "POST", { do: "connect" }, { cookie, host: "evil.example" })).status, 403);
  equal((await ask(`${base}do`, "POST", { do: "connect" }, { cookie, origin: "http://localhost:1" })).status, 403);
}

test("an inspector is a listener of node:http, below its path", async (t) => {
  const inspector = opened(t);
  const listener = toNodeListener(inspector);
  const http = createServer((incoming, response) => {
    if (incoming.url?.startsWith("/inspect") === true) listener(incoming, response);
    else response.end("the application");
  });
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    http.closeAllConnections();
    http.close();
  });
  const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  await use(inspector, origin);
  equal((await ask(`${origin}/`, "GET")).text, "the application");
});

test("an inspector is served by serveHttp with its path", async (t) => {
  const inspector = opened(t);
  const running = await serveHttp(inspector, { path: "/inspect/", health: false });
  t.after(() => running.close());
  await use(inspector, new URL(running.url).origin);
});

test("the server that it returns is recorded for all its clients", async (t) => {
  const inspector = inspect({ server: harbour() });
  t.after(() => inspector.close());
  const served = await serveHttp(inspector.server);
  t.after(() => served.close());
  const running = await serveHttp(inspector, { path: "/inspect/", health: false });
  const { origin } = new URL(running.url);
  const cookie = await enter(inspector.link(origin));
  const client = await connect(served.url);
  t.after(() => client.close());
  await client.callTool("moor", { ship: "Maria" });
  const saved = await ask(`${origin}/inspect/do`, "POST", { do: "save", as: "recording" }, { cookie });
  const { text } = JSON.parse(saved.text).result as { text: string };
  match(text, /"wire":"http","role":"server"/);
  match(text, /Maria is moored/);
  await running.close();
});

test("a token is valid for one page, and the second use is told", async (t) => {
  const warnings: string[] = [];
  const inspector = opened(t, { onWarning: (message) => warnings.push(message) });
  const running = await serveHttp(inspector, { path: "/inspect/", health: false });
  t.after(() => running.close());
  const link = inspector.link(running.url);
  await enter(link);
  const token = new URLSearchParams(new URL(link).hash.slice(1)).get("token");
  equal((await ask(`${running.url}enter`, "POST", { token })).status, 401);
  match(warnings.join(), /second time/);
});

test("it refuses to start in production", (t) => {
  const { NODE_ENV } = process.env;
  t.after(() => {
    if (NODE_ENV === undefined) delete process.env.NODE_ENV;
    else process.env.NODE_ENV = NODE_ENV;
  });
  process.env.NODE_ENV = "production";
  throws(() => inspect({ server: harbour() }), { code: "definition_error", message: /NODE_ENV is production/ });
});

test("its options are checked", () => {
  const server = harbour();
  const wrong = (options: unknown, message: RegExp) => throws(() => inspect(options as InspectOptions), { message });
  wrong({ server, pth: "/" }, /inspect: unknown option pth; did you mean path\?/);
  wrong({ server, path: "inspect" }, /path must begin and end with a slash, got "inspect"/);
  wrong({ server, limits: { maxStream: 1 } }, /did you mean maxStreams\?/);
  wrong({}, /server must be a server of this process/);
  wrong({ server: { command: "node", argz: [] } }, /server: unknown option argz; did you mean args/);
  wrong({ server: "ftp://a" }, /server must be a URL with http/);
  wrong({ server: {} }, /server must be a server of this process, a URL, or \{ command, args \}/);
});

test("a closed inspector answers nobody", async (t) => {
  const inspector = inspect({ server: harbour() });
  const http = createServer(toNodeListener(inspector));
  await new Promise<void>((resolve) => http.listen(0, "127.0.0.1", resolve));
  t.after(() => {
    http.closeAllConnections();
    http.close();
  });
  await inspector.close();
  const origin = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  equal((await ask(`${origin}/inspect/`, "GET")).status, 503);
  ok(inspector.onListening().includes("/inspect/events"));
});
