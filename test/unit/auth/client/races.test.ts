import { equal, notEqual, ok, rejects } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { type AuthStore, memoryStore, type OAuth } from "bowline/auth/client";
import { openLoopback } from "bowline/node";
import { calculateJwkThumbprint, decodeProtectedHeader, type JWK } from "jose";
import { AuthWorld, failsAt, MockIssuer } from "../../../support/auth-world.js";
import { gate } from "../../../support/gate.js";

const TOKEN = "POST https://as.example/token";
const SECOND = "https://mcp.example/second";

/** Two servers behind the same authorization server. */
async function twoServers(t: TestContext): Promise<AuthWorld> {
  const world = await AuthWorld.open(t, "modern");
  world.challenge = "Bearer";
  world.routes.set("GET https://mcp.example/.well-known/oauth-protected-resource/second", () => ({
    json: { resource: SECOND, authorization_servers: world.listed },
  }));
  world.routes.set(`POST ${SECOND}`, (request) => ({ status: world.accepts(request) ? 202 : 401 }));
  return world;
}

const both = (world: AuthWorld, auth: OAuth) => Promise.all([world.call(auth), world.call(auth, {}, SECOND)]);
const tokensIn = (world: AuthWorld, store: AuthStore) => store.get(`tokens ${world.mcp} https://as.example`);

/** A store that tells what is in it. */
function openStore(): AuthStore & { readonly values: Map<string, unknown> } {
  const values = new Map<string, unknown>();
  return {
    values,
    get: (key) => values.get(key),
    set: (key, value) => void values.set(key, value),
    delete: (key) => void values.delete(key),
  };
}

test("of two servers with one guard that are connected to at once, one registers, and both use the key", async (t) => {
  const world = await twoServers(t);
  world.as.metadata = { ...world.as.metadata, dpop_signing_alg_values_supported: ["ES256"] };
  world.as.extra = { token_type: "DPoP" };
  const auth = world.oauth({ dpop: true });
  const [first, second] = await both(world, auth);
  notEqual(first.status, 401);
  equal(second.status, 202);
  equal(world.count("POST https://as.example/register"), 1);
  const proofs = world.arrivals.flatMap(({ headers }) => headers.get("dpop") ?? []);
  equal(proofs.length, 4);
  const keys = proofs.map((proof) => calculateJwkThumbprint(decodeProtectedHeader(proof).jwk as JWK));
  equal(new Set(await Promise.all(keys)).size, 1);
});

test("a client that names no issuer goes to one of two that ask for it at once", async (t) => {
  const world = await twoServers(t);
  world.routes.set("GET https://mcp.example/.well-known/oauth-protected-resource/second", () => ({
    json: { resource: SECOND, authorization_servers: ["https://evil.example"] },
  }));
  world.issuers.push(new MockIssuer("https://evil.example"));
  const auth = world.oauth({ client: { id: "registered-before", secret: "between-us" } });
  await Promise.allSettled([world.call(auth), world.call(auth, {}, SECOND)]);
  const told = world.arrivals.filter(({ url, headers, body }) =>
    /registered-before|between-us|Basic/.test(`${url.href} ${headers.get("authorization")} ${body}`),
  );
  equal(new Set(told.map(({ url }) => url.origin)).size, 1);
});

test("an answer of the user is redeemed while another message is asking for tokens", async (t) => {
  const world = await AuthWorld.open(t, "modern");
  const sent: URL[] = [];
  const auth = world.oauth({ authorize: (url) => void sent.push(url) });
  await rejects(world.call(auth), failsAt("redirected"));
  const callback = await world.browse(sent[0] as URL);
  const [asked, held] = [gate(), gate()];
  world.routes.set("GET https://as.example/.well-known/oauth-authorization-server", async () => {
    asked.open();
    await held.opened;
    return undefined;
  });
  const other = world.call(auth);
  await asked.opened;
  await auth.finish(callback);
  equal(world.count(TOKEN), 1);
  held.open();
  // The tokens have come meanwhile: nobody is asked again.
  notEqual((await other).status, 401);
  equal(sent.length, 1);
});

test("the same answer twice at once is redeemed once", async (t) => {
  const world = await AuthWorld.open(t, "modern");
  const sent: URL[] = [];
  const auth = world.oauth({ authorize: (url) => void sent.push(url) });
  await rejects(world.call(auth), failsAt("redirected"));
  const callback = await world.browse(sent[0] as URL);
  await Promise.all([auth.finish(callback), auth.finish(callback)]);
  equal(world.count(TOKEN), 1);
  await rejects(auth.finish(callback), failsAt("callback"));
});

test("a refresh that is under way does not undo a logout", async (t) => {
  for (const slow of ["answer", "store"]) {
    const world = await AuthWorld.open(t, "modern");
    world.as.refreshes = true;
    const memory = memoryStore();
    const [reached, held] = [gate(), gate()];
    let armed = false;
    const wait = async () => {
      if (!armed) return;
      reached.open();
      await held.opened;
    };
    const set = async (key: string, value: unknown) => {
      if (slow === "store" && key.startsWith("tokens")) await wait();
      memory.set(key, value);
    };
    const auth = world.oauth({ store: { ...memory, set } });
    await world.call(auth);
    world.as.live.clear();
    armed = true;
    if (slow === "answer") world.routes.set(TOKEN, () => wait().then(() => undefined));
    const call = world.call(auth);
    await reached.opened;
    const out = auth.logout(world.mcp);
    await rejects(call, failsAt("revocation", /ended by logout/));
    held.open();
    await out;
    armed = false;
    equal(tokensIn(world, memory), undefined);
    equal(world.count("POST https://as.example/revoke"), 1);
    await world.call(auth);
    equal(world.count("GET https://as.example/authorize"), 2, slow);
  }
});

test("who shares the store with somebody that has logged in meanwhile does not ask the user again", async (t) => {
  const world = await AuthWorld.open(t, "modern");
  const store = memoryStore();
  const [one, other] = [world.oauth({ store }), world.oauth({ store })];
  await world.call(one);
  await world.call(other);
  world.as.live.clear();
  await world.call(one);
  notEqual((await world.call(other)).status, 401);
  equal(world.count("GET https://as.example/authorize"), 2);
});

test("what a slow store says does not replace newer tokens", async (t) => {
  const world = await AuthWorld.open(t, "modern");
  const memory = memoryStore();
  const [reached, held] = [gate(), gate()];
  let slow = false;
  const get = async (key: string) => {
    const value = memory.get(key);
    if (!slow || !key.startsWith("tokens")) return value;
    slow = false;
    reached.open();
    await held.opened;
    return value;
  };
  const sent: URL[] = [];
  const auth = world.oauth({ store: { ...memory, get }, authorize: (url) => void sent.push(url) });
  await rejects(world.call(auth), failsAt("redirected"));
  slow = true;
  const call = world.call(auth);
  await reached.opened;
  await auth.finish(await world.browse(sent[0] as URL));
  held.open();
  notEqual((await call).status, 401);
  equal(sent.length, 1);
});

test("a program that listens on another port each time still refreshes its tokens", async (t) => {
  const world = await AuthWorld.open(t, "modern");
  world.as.refreshes = true;
  const store = memoryStore();
  for (let start = 0; start < 2; start++) {
    const loopback = await openLoopback({ open: async (url) => void (await fetch(await world.browse(url))) });
    t.after(loopback.close);
    await world.call(world.oauth({ ...loopback, store }));
    world.as.live.clear();
  }
  equal(world.count("GET https://as.example/authorize"), 1);
  equal(world.count("POST https://as.example/register"), 1);
  equal(world.to(TOKEN).at(-1)?.form.get("grant_type"), "refresh_token");
});

test("users who never come back are forgotten, and one who gives up at once", async (t) => {
  const world = await AuthWorld.open(t, "modern");
  const store = openStore();
  const attempts = () => [...store.values.keys()].filter((key) => key.startsWith("attempt "));
  let now = Date.now();
  const auth = world.oauth({ store, authorize: () => undefined, now: () => now });
  for (let user = 0; user < 40; user++) await rejects(world.call(auth), failsAt("redirected"));
  equal(attempts().length, 32);
  now += 3_600_000;
  await rejects(world.call(auth), failsAt("redirected"));
  equal(attempts().length, 1);
  const broken = new Error("no screen");
  const failing = world.oauth({ store, authorize: () => Promise.reject(broken) });
  await rejects(world.call(failing), { step: "authorize", cause: broken });
  const denied = world.oauth({
    store,
    authorize: (url) => ({ state: url.searchParams.get("state") ?? "", error: "x", iss: "https://as.example" }),
  });
  await rejects(world.call(denied), failsAt("authorize"));
  equal(attempts().length, 1);
});

test("a refusal by the user ends the attempt", async (t) => {
  const world = await AuthWorld.open(t, "modern");
  const store = openStore();
  const sent: URL[] = [];
  const auth = world.oauth({ store, authorize: (url) => void sent.push(url) });
  await rejects(world.call(auth), failsAt("redirected"));
  const state = sent[0]?.searchParams.get("state") ?? "";
  // A forged refusal does not end it.
  await rejects(auth.finish({ state, error: "access_denied", iss: "https://evil.example" }), failsAt("issuer"));
  ok(store.values.has(`attempt ${state}`));
  await rejects(auth.finish({ state, error: "access_denied", iss: "https://as.example" }), failsAt("authorize"));
  await rejects(auth.finish({ state, code: "late", iss: "https://as.example" }), failsAt("callback"));
  equal(tokensIn(world, store), undefined);
  equal(world.count(TOKEN), 0);
});
