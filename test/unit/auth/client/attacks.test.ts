import { deepEqual, equal, notEqual, ok, rejects } from "node:assert/strict";
import { once } from "node:events";
import { connect as connectSocket } from "node:net";
import { test } from "node:test";
import { AuthError, bearer, clientCredentials, memoryStore, type OAuthOptions, oauth } from "bowline/auth/client";
import { openLoopback } from "bowline/node";
import { decodeJwt } from "jose";
import { type Arrival, AuthWorld, failsAt, MockIssuer, type WorldOptions } from "../../../support/auth-world.js";
import { gate } from "../../../support/gate.js";

/** What is sent to a user's terminal, or into a log, must not do anything there. */
const ACTIVE = /[\p{Cc}\p{Cf}\u2028\u2029]/u;
const EVIL = "\u001b]0;owned\u0007\u009b31m\r\nINFO all is well \u202egnp.exe";
const TOKEN = "POST https://as.example/token";

/** Sends a request line as it is; a browser would tidy it up. */
async function rawGet(port: string, target: string, host = `127.0.0.1:${port}`): Promise<string> {
  const socket = connectSocket(Number(port), "127.0.0.1");
  let answer = "";
  socket.on("data", (chunk) => {
    answer += chunk;
  });
  socket.write(`GET ${target} HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
  await once(socket, "close");
  return answer;
}

test("whatever a page sends to the loopback, only the awaited answer arrives, at this machine's address", async (t) => {
  const asked = gate();
  const loopback = await openLoopback({ open: () => asked.open() });
  t.after(loopback.close);
  const { port, origin } = new URL(loopback.redirectUrl);
  const url = new URL("https://as.example/authorize?state=awaited");
  const arrival = loopback.authorize(url, { signal: new AbortController().signal });
  await asked.opened;
  for (const target of [
    "//[",
    "//evil.example/callback?state=awaited",
    "http://evil.example/callback?state=awaited",
    "*",
    "/callback%00?state=awaited",
    "/callback/../other?state=awaited",
    "/callback?state=other",
    "/callback?state=",
    "/callback",
    "/?state=awaited",
  ]) {
    ok((await rawGet(port, target)).startsWith("HTTP/1.1 404 "), target);
  }
  for (const host of ["evil.example", `evil.example:${port}`, `127.0.0.1.evil.example:${port}`, "127.0.0.1:1", ""])
    ok((await rawGet(port, "/callback?state=awaited&code=c", host)).startsWith("HTTP/1.1 404 "), host);
  ok((await rawGet(port, "/callback?state=awaited&code=c")).startsWith("HTTP/1.1 200 "));
  equal((await arrival).href, `${origin}/callback?state=awaited&code=c`);
});

test("nothing that an authorization server says gets into the page of the loopback, and nothing runs in it", async (t) => {
  const asked = gate();
  const loopback = await openLoopback({ open: () => asked.open() });
  t.after(loopback.close);
  const url = new URL("https://as.example/authorize?state=s");
  const arrival = loopback.authorize(url, { signal: new AbortController().signal });
  await asked.opened;
  const script = encodeURIComponent("<script>alert(1)</script>");
  const page = await fetch(`${loopback.redirectUrl}?state=s&error=${script}&error_description=${script}&x=${script}`);
  equal(page.status, 200);
  equal(/script|alert/.test(await page.text()), false);
  equal(page.headers.get("content-security-policy")?.includes("default-src 'none'"), true);
  equal(page.headers.get("content-security-policy")?.includes("script-src"), false);
  equal(page.headers.get("referrer-policy"), "no-referrer");
  equal(page.headers.get("location"), null);
  equal((await arrival).searchParams.get("error"), "<script>alert(1)</script>");
});

test("a loopback that is closed leaves no user waiting", async () => {
  const asked = gate();
  const loopback = await openLoopback({ open: () => asked.open() });
  const url = new URL("https://as.example/authorize?state=s");
  const arrival = loopback.authorize(url, { signal: new AbortController().signal });
  await asked.opened;
  await Promise.all([rejects(arrival, failsAt("callback")), loopback.close()]);
});

test("text of servers does nothing where errors are shown", async (t) => {
  const world = await AuthWorld.open(t, "modern");
  const { metadata } = world.as;
  const attempts: [string, () => void, WorldOptions?][] = [
    ["resource", () => Object.assign(world, { prm: { resource: `https://evil.example/${EVIL}` } })],
    ["issuer", () => Object.assign(world, { listed: [`https://evil.example/${EVIL}`] })],
    [
      "chosen issuer",
      () => Object.assign(world, { listed: ["https://a.example", `https://b.example/${EVIL}`] }),
      { issuer: "https://c.example" },
    ],
    ["stated issuer", () => Object.assign(world.as, { metadata: { ...metadata, issuer: EVIL } })],
    [
      "stated issuer, allowed",
      () => Object.assign(world.as, { metadata: { ...metadata, issuer: EVIL } }),
      { allowIssuerMismatch: { "https://as.example": "https://renamed.example" } },
    ],
    [
      "proofs",
      () => Object.assign(world.as, { metadata: { ...metadata, dpop_signing_alg_values_supported: [EVIL] } }),
      { dpop: true },
    ],
    [
      "assertions",
      () =>
        Object.assign(world.as, {
          metadata: { ...metadata, token_endpoint_auth_signing_alg_values_supported: [EVIL] },
        }),
      { client: { id: "known", key: {} } },
    ],
    [
      "registration",
      () =>
        world.routes.set("POST https://as.example/register", () => ({
          status: 400,
          json: { error: EVIL, error_description: EVIL, error_uri: EVIL },
        })),
    ],
    [
      "method",
      () =>
        world.routes.set("POST https://as.example/register", () => ({
          status: 201,
          json: { client_id: "c", token_endpoint_auth_method: EVIL },
        })),
    ],
    [
      "tokens",
      () =>
        world.routes.set(TOKEN, () => ({
          status: 400,
          json: { error: EVIL, error_description: EVIL, error_uri: EVIL },
        })),
    ],
    [
      "callback",
      () => {},
      {
        authorize: (url) => ({
          state: url.searchParams.get("state") ?? "",
          iss: "https://as.example",
          error: EVIL,
          error_description: EVIL,
        }),
      },
    ],
    [
      "challenge",
      () => Object.assign(world, { accepts: () => false, challenge: `Bearer error_description="a\u009b31m b"` }),
    ],
  ];
  for (const [what, change, options = {}] of attempts) {
    Object.assign(world, { prm: {}, listed: [world.as.issuer], accepts: AuthWorld.prototype.accepts });
    Object.assign(world.as, { metadata });
    world.routes.clear();
    change();
    await rejects(world.call(world.oauth(options)), (error) => {
      ok(error instanceof AuthError, what);
      for (const text of [error.message, error.error, error.description, error.uri, error.scope, ...error.tried]) {
        equal(ACTIVE.test(text ?? ""), false, `${what}: ${JSON.stringify(text)}`);
      }
      ok(error.message.length < 3000, what);
      return true;
    });
  }
});

test("a token that would not fit into a header is refused and not repeated", async (t) => {
  const world = await AuthWorld.open(t, "modern");
  const secret = "a-secret\r\nx-injected: yes";
  world.routes.set(TOKEN, () => ({ json: { access_token: secret, token_type: "Bearer" } }));
  const quiet = (error: unknown) => error instanceof AuthError && !/a-secret/.test(`${error.message} ${error.stack}`);
  await rejects(world.call(world.oauth()), quiet);
  await rejects(bearer({ token: () => secret, fetch: world.fetch }).fetch(new URL(world.mcp), {}), quiet);
  equal(
    world.arrivals.some(({ headers }) => headers.has("authorization") || headers.has("x-injected")),
    false,
  );
});

test("an answer to a registration that is none is not kept in the error: it may hold a secret", async (t) => {
  const world = await AuthWorld.open(t, "modern");
  world.routes.set("POST https://as.example/register", () => ({ text: "client_id=c&client_secret=very-secret" }));
  await rejects(
    world.call(world.oauth()),
    (error) => failsAt("registration")(error) && !/very-secret/.test(JSON.stringify(error)),
  );
});

test("metadata, or the rest of it, that does not come is not waited for", async (t) => {
  const world = await AuthWorld.open(t, "modern");
  const asked = gate();
  const never = new Promise<never>(() => {});
  world.routes.set(`GET ${world.metadataAt}`, () => {
    asked.open();
    return never;
  });
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const call = world.call(world.oauth());
  await asked.opened;
  t.mock.timers.tick(15_000);
  await rejects(call, failsAt("resource_metadata", /timed out after 15000 ms/));
  // A document that drips is as good as none: the next place is asked.
  const begun = gate();
  const body = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode("{"));
      begun.open();
    },
  });
  world.routes.clear();
  const places: string[] = [];
  const fetch = (url: URL | string, init?: RequestInit) => {
    places.push(String(url));
    return String(url) === world.metadataAt ? Promise.resolve(new Response(body)) : world.fetch(url, init);
  };
  const second = world.call(world.oauth({ fetch }));
  await begun.opened;
  while (!places.includes(world.metadataAt)) await new Promise(setImmediate);
  t.mock.timers.tick(15_000);
  await rejects(second, failsAt("registration"));
  equal(places[places.indexOf(world.metadataAt) + 1], "https://mcp.example/.well-known/oauth-protected-resource");
});

test("a name that cannot be resolved is told as such", async (t) => {
  const world = await AuthWorld.open(t, "modern");
  const cause = new Error("no such host");
  await rejects(world.call(world.oauth({ resolve: () => Promise.reject(cause) })), {
    step: "server_metadata",
    cause,
  });
});

const nonceOf = ({ headers }: Arrival) => decodeJwt(headers.get("dpop") ?? "").nonce;

test("the nonce of one server is not shown to another, and a server that always wants a new one is left", async (t) => {
  const world = await AuthWorld.open(t, "modern");
  world.as.metadata = { ...world.as.metadata, dpop_signing_alg_values_supported: ["ES256"] };
  world.as.extra = { token_type: "DPoP" };
  world.as.refreshes = true;
  world.routes.set(TOKEN, ({ form }) => ({ ...world.as.token(form), headers: { "dpop-nonce": "of-the-issuer" } }));
  let count = 0;
  world.routes.set(`POST ${world.mcp}`, (request) => {
    if (!world.accepts(request)) return undefined;
    const headers = { "dpop-nonce": `of-the-server-${++count}`, "www-authenticate": 'DPoP error="use_dpop_nonce"' };
    return { status: 401, headers };
  });
  await rejects(world.call(world.oauth({ dpop: true })), failsAt("unauthorized"));
  const served = world.to(`POST ${world.mcp}`).filter(({ headers }) => headers.has("dpop"));
  ok(served.length <= 4);
  // Each that was handed out is used at most once, and only where it came from.
  const nonces = served.map(nonceOf);
  equal(nonces.includes("of-the-issuer"), false);
  equal(new Set(nonces).size, nonces.length);
  for (const nonce of world.to(TOKEN).map(nonceOf)) equal(String(nonce).startsWith("of-the-server"), false);
});

test("a refresh token that a thief has used costs a login, and the thief's tokens are not taken over", async (t) => {
  const world = await AuthWorld.open(t, "modern");
  world.as.refreshes = true;
  const store = memoryStore();
  const auth = world.oauth({ store });
  await world.call(auth);
  const { refreshToken } = store.get(`tokens ${world.mcp} https://as.example`) as { refreshToken: string };
  const stolen = world.as.token(new URLSearchParams({ grant_type: "refresh_token", refresh_token: refreshToken }));
  world.as.live.clear();
  await world.call(auth);
  const grants = world.to(TOKEN).map(({ form }) => form.get("grant_type"));
  deepEqual(grants, ["authorization_code", "refresh_token", "authorization_code"]);
  const kept = store.get(`tokens ${world.mcp} https://as.example`) as { accessToken: string; refreshToken: string };
  notEqual(kept.accessToken, (stolen.json as { access_token: string }).access_token);
  notEqual(kept.refreshToken, refreshToken);
});

test("a callback that an attacker began is not taken by the victim's client", async (t) => {
  const world = await AuthWorld.open(t, "modern");
  const sent: URL[] = [];
  const options = { authorize: (url: URL) => void sent.push(url) };
  const [attacker, victim] = [world.oauth(options), world.oauth(options)];
  await rejects(world.call(attacker), failsAt("redirected"));
  await rejects(world.call(victim), failsAt("redirected"));
  await rejects(victim.finish(await world.browse(sent[0] as URL)), failsAt("callback"));
  equal(world.count(TOKEN), 0);
});

test("what belongs to one server is sent to no other, though a server claims another's resource", async (t) => {
  const world = await AuthWorld.open(t, "modern");
  const store = memoryStore();
  await world.call(world.oauth({ store }));
  const evil = new MockIssuer("https://evil.example");
  world.issuers.push(evil);
  const thief = "https://thief.example/mcp";
  const metadata = "https://thief.example/.well-known/oauth-protected-resource/mcp";
  world.routes.set(`POST ${thief}`, () => ({ status: 401 }));
  // It says that it is the other server, so that a token for that one would be shown to it.
  world.routes.set(`GET ${metadata}`, () => ({
    json: { resource: world.mcp, authorization_servers: [world.as.issuer] },
  }));
  await rejects(world.call(world.oauth({ store }), {}, thief), failsAt("resource_metadata"));
  // It has an authorization server of its own, which claims the other's name.
  world.routes.set(`GET ${metadata}`, () => ({ json: { resource: thief, authorization_servers: [evil.issuer] } }));
  evil.metadata = { ...evil.metadata, issuer: world.as.issuer };
  await rejects(world.call(world.oauth({ store }), {}, thief), failsAt("issuer"));
  for (const { url, headers, body } of world.arrivals.filter(({ url }) => /thief|evil/.test(url.host))) {
    equal(/token-as|refresh-as|client-as/.test(`${url.href} ${headers.get("authorization")} ${body}`), false);
  }
});

test("a browser is sent nowhere but to a web page, and comes back nowhere but here", () => {
  for (const redirectUrl of ["http://evil.example/callback", "http://127.0.0.1.evil.example/callback", "nonsense"]) {
    let thrown: unknown;
    try {
      oauth({ redirectUrl, authorize: () => undefined });
    } catch (error) {
      thrown = error;
    }
    ok(failsAt("configuration")(thrown), redirectUrl);
  }
});

test("no token goes out in the clear, whoever is known to guard the server", async () => {
  const seen: string[] = [];
  const answer = async (url: URL, init: RequestInit): Promise<Response> => {
    seen.push(`${url.href} ${new Headers(init.headers).get("authorization") ?? "-"}`);
    if (url.pathname === "/token") return Response.json({ access_token: "t", token_type: "Bearer", expires_in: 60 });
    return new Headers(init.headers).has("authorization") ? Response.json({}) : new Response(null, { status: 401 });
  };
  const known = { issuer: "https://as.example", token_endpoint: "https://as.example/token" };
  const options: OAuthOptions = {
    fetch: answer,
    issuer: known.issuer,
    serverMetadata: known,
    client: { id: "c", secret: "s" },
    grant: clientCredentials(),
  };
  const server = new URL("http://mcp.example/mcp");
  await rejects(oauth(options).fetch(server, { method: "POST", body: "{}" }), failsAt("configuration", /https/));
  equal(seen.join().includes("Bearer"), false);
  const daring = oauth({ ...options, allowInsecure: true });
  equal((await daring.fetch(server, { method: "POST", body: "{}" })).status, 200);
});
