import { deepEqual, equal, match, ok, rejects } from "node:assert/strict";
import { connect as connectSocket, type Socket } from "node:net";
import { networkInterfaces } from "node:os";
import { type TestContext, test } from "node:test";
import { type Answer, InspectorWorld } from "../../support/inspector.js";
import { harbour } from "../../support/recorded-wires.js";

const SECRET = "three-masted-barque-in-the-bay";

/** Inspector of a server in this process, with a page that has entered. */
function opened(t: TestContext): Promise<InspectorWorld> {
  const target = { label: "harbour", wire: "memory" as const, targets: [harbour()], options: {} };
  return InspectorWorld.entered(t, { servers: [target] });
}

/** Requests that need the cookie, as the page sends them. */
const GUARDED = [
  ["POST", "/do", { do: "connect" }],
  ["GET", "/events", undefined],
  ["GET", "/recordings/0", undefined],
] as const;

function assertNothingShared({ headers }: Answer): void {
  const shared = Object.keys(headers).filter((name) => name.startsWith("access-control-"));
  deepEqual(shared, []);
  equal(headers["cache-control"], "no-store");
}

test("requests with a foreign Host are refused, those for files of the page too (DNS rebinding)", async (t) => {
  const world = await opened(t);
  const hosts = [
    "evil.example",
    `evil.example:${world.port}`,
    "127.0.0.1",
    "localhost",
    "localhost.evil.example",
    `[::1]:${world.port}`,
  ];
  for (const host of hosts)
    for (const [method, path, body] of [...GUARDED, ["GET", "/", undefined], ["GET", "/app.js", undefined]] as const) {
      const answer = await world.request(method, path, body, { host });
      equal(answer.status, 403, `${method} ${path} with Host ${host}`);
      assertNothingShared(answer);
    }
  for (const host of [`127.0.0.1:${world.port}`, `localhost:${world.port}`])
    equal((await world.request("GET", "/", undefined, { host })).status, 200);
});

test("requests with a foreign Origin are refused, and so is a POST without one", async (t) => {
  const world = await opened(t);
  const other = `http://127.0.0.1:${world.port + 1}`;
  for (const origin of ["https://evil.example", "null", other, `https://127.0.0.1:${world.port}`, undefined]) {
    const answer = await world.request("POST", "/do", { do: "connect" }, { origin });
    equal(answer.status, 403, `Origin ${origin}`);
    assertNothingShared(answer);
  }
  equal((await world.request("GET", "/events", undefined, { origin: "https://evil.example" })).status, 403);
  equal(world.inspection.state([]).connections.length, 0);
});

test("requests of other pages are refused by Sec-Fetch-Site: no-cors, navigations, frames and programs alike", async (t) => {
  const world = await opened(t);
  for (const site of ["cross-site", "same-site", "none", undefined])
    for (const [method, path, body] of [...GUARDED, ["POST", "/enter", { token: world.token }]] as const)
      equal((await world.request(method, path, body, { "sec-fetch-site": site })).status, 403, `${path} ${site}`);
});

test("a simple POST, which needs no preflight, is refused, and a preflight is granted to nobody", async (t) => {
  const world = await opened(t);
  for (const type of [
    "text/plain",
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=x",
    undefined,
  ]) {
    const body = JSON.stringify({ do: "connect" });
    equal((await world.request("POST", "/do", body, { "content-type": type })).status, 415, `${type}`);
  }
  const preflight = await world.request("OPTIONS", "/do", undefined, {
    origin: "https://evil.example",
    "access-control-request-method": "POST",
  });
  equal(preflight.status, 405);
  assertNothingShared(preflight);
  equal(world.inspection.state([]).connections.length, 0);
});

test("the token opens one page: a second use and a wrong token are refused and reported", async (t) => {
  const world = await InspectorWorld.open(t);
  match(world.token, /^[0-9a-f]{64}$/);
  const near = world.token.slice(0, -1) + (world.token.endsWith("0") ? "1" : "0");
  for (const wrong of ["", "x", near, `${world.token}0`, world.token.slice(0, -1)])
    equal((await world.enter(wrong)).status, 401);
  equal((await world.request("POST", "/enter", { token: [world.token] })).status, 401);
  ok(world.warnings.length > 0 && world.warnings.length <= 5);
  world.warnings.length = 0;
  const entered = await world.enter();
  equal(entered.status, 204);
  match(
    entered.headers["set-cookie"]?.[0] ?? "",
    /^bowline-inspector-[0-9a-f]+=[0-9a-f]{64}; HttpOnly; SameSite=Strict; Path=\/$/,
  );
  ok(!entered.headers["set-cookie"]?.[0]?.includes(world.token));
  const again = await world.enter();
  equal(again.status, 401);
  equal(again.headers["set-cookie"], undefined);
});

test("the second use of a token is told at the terminal", async (t) => {
  const world = await InspectorWorld.entered(t);
  await world.enter();
  match(world.warnings.join(), /used a second time/);
  for (let count = 0; count < 20; count++) await world.enter("wrong");
  ok(world.warnings.length <= 5);
});

test("without the cookie of this run nothing is done or shown", async (t) => {
  const [world, other] = [await opened(t), await opened(t)];
  const [name = "", value = ""] = world.cookie.split("=");
  for (const cookie of [
    undefined,
    "",
    `${name}=`,
    `${name}=${"0".repeat(64)}`,
    `x=${value}`,
    other.cookie,
    `${name}=${value}0`,
  ])
    for (const [method, path, body] of GUARDED) {
      const answer = await world.request(method, path, body, { cookie });
      equal(answer.status, 401, `${path} with ${cookie}`);
      assertNothingShared(answer);
    }
  const among = `a=b; ${world.cookie}; c=d`;
  equal((await world.request("POST", "/do", { do: "save", as: "recording" }, { cookie: among })).status, 200);
});

test("a body that is too large is refused before it is read", async (t) => {
  const world = await InspectorWorld.entered(t, { limits: { maxBodyBytes: 1_000 } });
  equal((await world.request("POST", "/do", JSON.stringify({ do: "save", as: "x".repeat(2_000) }))).status, 413);
  equal((await world.request("POST", "/do", { do: "save", as: "recording" })).status, 200);
});

/** Opens a socket, and collects what the server says until it closes. */
async function raw(t: TestContext, port: number, head: string): Promise<{ socket: Socket; closed: Promise<string> }> {
  const socket = connectSocket(port, "127.0.0.1");
  t.after(() => socket.destroy());
  let text = "";
  socket.on("data", (piece) => {
    text += String(piece);
  });
  socket.on("error", () => {});
  const closed = new Promise<string>((resolve) => socket.on("close", () => resolve(text)));
  await new Promise<void>((resolve) => socket.on("connect", () => resolve()));
  socket.write(head);
  return { socket, closed };
}

test("a body that stops arriving ends its connection", async (t) => {
  const world = await InspectorWorld.entered(t, { limits: { bodyTimeoutMs: 50, maxBodyMs: 100 } });
  const { closed } = await raw(
    t,
    world.port,
    `POST /do HTTP/1.1\r\nhost: 127.0.0.1:${world.port}\r\norigin: ${world.origin}\r\nsec-fetch-site: same-origin\r\ncookie: ${world.cookie}\r\n` +
      'content-type: application/json\r\ncontent-length: 100\r\n\r\n{"do":',
  );
  match(await closed, /^HTTP\/1\.1 408 /);
});

test("connections that say nothing are bounded, and do not last", async (t) => {
  const listen = { maxConnections: 4, headMs: 100, requestMs: 1_000 };
  const world = await InspectorWorld.open(t, { listen });
  const silent = await Promise.all(Array.from({ length: 4 }, () => raw(t, world.port, "")));
  // One more is closed at once, without a word.
  equal(await (await raw(t, world.port, "GET / HTTP/1.1\r\n")).closed, "");
  for (const { closed } of silent) match(await closed, /^(?:HTTP\/1\.1 408 .*)?$/s);
  equal((await world.request("GET", "/")).status, 200);
});

test("a head that stops arriving ends its connection", async (t) => {
  const listen = { maxConnections: 4, headMs: 100, requestMs: 1_000 };
  const world = await InspectorWorld.open(t, { listen });
  match(await (await raw(t, world.port, "GET / HTTP/1.1\r\nhost: 127")).closed, /^HTTP\/1\.1 408 /);
});

test("the body of a stranger is small", async (t) => {
  const world = await InspectorWorld.open(t);
  equal((await world.request("POST", "/enter", { token: "0".repeat(2_000) })).status, 413);
});

test("more pages than the limit are refused, and one that left makes room", async (t) => {
  const world = await InspectorWorld.entered(t, { limits: { maxStreams: 2 } });
  const [first] = [await world.events(t), await world.events(t)];
  equal((await world.request("GET", "/events")).status, 503);
  first.close();
  // The server learns of the end in a later turn.
  for (;;) {
    const opened = await world.events(t).catch(() => undefined);
    if (opened !== undefined) break;
  }
});

test("the page may load its own files alone, and no text becomes HTML", async (t) => {
  const world = await InspectorWorld.open(t);
  const { status, headers } = await world.request("GET", "/");
  equal(status, 200);
  const policy = String(headers["content-security-policy"]).split("; ");
  for (const rule of [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ])
    ok(policy.includes(rule), rule);
  ok(!/unsafe|\*|https?:/.test(policy.join()));
  equal(headers["x-content-type-options"], "nosniff");
  equal(headers["referrer-policy"], "no-referrer");
});

test("no path leads out of the page, and hostile names are texts", async (t) => {
  const world = await opened(t);
  for (const path of [
    "/../package.json",
    "/%2e%2e/package.json",
    "/app.js/..",
    "/index.html",
    "/__proto__",
    "/constructor",
    "/recordings/-1",
    "/recordings/__proto__",
    "//evil.example/",
    "/do/",
  ])
    ok([403, 404, 405].includes((await world.request("GET", path)).status), path);
  const page = await world.events(t);
  await world.do("connect", {});
  await page.until(() => page.state?.connections[0]?.status === "open");
  for (const name of [
    "__proto__",
    "constructor",
    "<img src=x onerror=alert(1)>",
    "a\r\nid: 9\r\n\r\nevent: state",
    "\u2028",
  ]) {
    const { run } = await world.do("call", { connection: 1, name, arguments: JSON.parse('{"__proto__":{"a":1}}') });
    const end = await page.end(run);
    equal(end.name, name);
    ok(end.error !== undefined);
  }
  equal(page.state?.mode, "client");
  equal(({} as { a?: number }).a, undefined);
});

test("verbs that are not JSON, or not known, are refused with what is wrong", async (t) => {
  const world = await opened(t);
  equal((await world.request("POST", "/do", "{")).status, 400);
  equal((await world.request("POST", "/do", "null")).status, 400);
  equal((await world.request("POST", "/do", Buffer.from([0xff, 0xfe]).toString("latin1"))).status, 400);
  const answer = await world.request("POST", "/do", { do: "cal" });
  equal(answer.status, 400);
  match(answer.text, /did you mean/);
  await rejects(world.do("reveal", { token: "access" }), /not_available: reveal is not available here/);
});

test("the page listens on 127.0.0.1 alone", async (t) => {
  const world = await InspectorWorld.open(t);
  const others = Object.values(networkInterfaces())
    .flat()
    .flatMap((each) =>
      each === undefined || each.address === "127.0.0.1" || each.address.startsWith("fe80") ? [] : [each.address],
    );
  for (const host of [...others, "::1", "127.0.0.2"])
    await new Promise<void>((resolve, reject) => {
      const socket = connectSocket(world.port, host);
      socket.on("error", () => resolve());
      socket.on("connect", () => {
        socket.destroy();
        reject(new Error(`${host} answers`));
      });
    });
});

test("secrets are replaced before the ring: no response has them", async (t) => {
  const server = harbour();
  server.tool("leak", () => ({
    content: [{ type: "text", text: `the key is ${SECRET}` }],
    structuredContent: { api_key: "sk-1234567890abcdef" },
  }));
  const target = { label: "harbour", wire: "memory" as const, targets: [server], options: {} };
  const world = await InspectorWorld.entered(t, {
    servers: [target],
    recording: { redaction: { values: { HARBOUR_KEY: SECRET } } },
  });
  const page = await world.events(t);
  await world.do("connect", {});
  const { run } = await world.do("call", { connection: 1, name: "leak" });
  const end = await page.end(run);
  match(JSON.stringify(end), /<env:HARBOUR_KEY>/);
  ok(!JSON.stringify(end).includes(SECRET) && !JSON.stringify(end).includes("sk-1234567890abcdef"));
  const { text } = await world.do("save", { as: "recording" });
  ok(!text.includes(SECRET) && !text.includes("sk-1234567890abcdef"), text);
  ok(!JSON.stringify(page.lines).includes(SECRET));
  ok(!JSON.stringify(page.state).includes(SECRET));
});
