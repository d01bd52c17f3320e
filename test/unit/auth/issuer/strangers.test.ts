import { deepEqual, equal, notEqual, ok } from "node:assert/strict";
import { createHash } from "node:crypto";
import { type TestContext, test } from "node:test";
import { type IssuerLimits, type IssuerOptions, memoryIssuerStore } from "bowline/auth/issuer";
import { exportJWK, generateKeyPair, SignJWT } from "jose";
import { DpopClient } from "../../../support/dpop-client.js";
import { gate } from "../../../support/gate.js";
import { answerOf, type Browser, CALLBACK, IssuerWorld } from "../../../support/issuer-world.js";

interface Kept {
  /** The keys that were written, in order. */
  readonly keys: string[];
  readonly world: IssuerWorld;
}

/** An issuer without a limit of requests, on a memory store of a few values that tells what is written. */
async function open(
  t: TestContext,
  limits: Partial<IssuerLimits>,
  options: Partial<IssuerOptions> = {},
): Promise<Kept> {
  let world: IssuerWorld | undefined;
  const keys: string[] = [];
  const memory = memoryIssuerStore({ limits, now: () => Date.now() + (world?.skippedMs ?? 0) });
  const store: typeof memory = {
    ...memory,
    put: async (key, ...rest) => {
      await memory.put(key, ...rest);
      keys.push(key);
    },
    add: async (key, ...rest) => {
      const added = await memory.add(key, ...rest);
      if (added) keys.push(key);
      return added;
    },
  };
  world = await IssuerWorld.open(t, { store, limits, rateLimit: false, ...options });
  return { world, keys };
}

const kindsOf = (keys: readonly string[]) => new Set(keys.map((key) => key.split(":", 1)[0]));

test("strangers who register without end push out no client with a grant or a code", async (t) => {
  const { world } = await open(t, { maxClients: 4 });
  const [granted, coded] = [await world.register(), await world.register()];
  const { json } = await world.redeem(await world.code({ client_id: granted.id }), { client_id: granted.id });
  world.skippedMs += 601_000;
  const code = await world.code({ client_id: coded.id });
  for (let round = 0; round < 20; round++) {
    equal((await world.register()).status, 201);
    world.skippedMs += 1;
    // Older than a login takes: the oldest of the strangers' makes room.
    if (round % 2 === 1) world.skippedMs += 601_000;
    if (round === 0) equal((await world.redeem(code, { client_id: coded.id })).status, 200);
  }
  equal((await world.refresh(String(json.refresh_token), { client_id: granted.id })).status, 200);
  deepEqual(world.errors, []);
});

test("strangers who register without end push out no client without refresh tokens that a user has approved", async (t) => {
  const { world } = await open(t, { maxClients: 4, maxGrantsPerUser: 2 });
  const plain = { grant_types: ["authorization_code"] };
  const [redeemed, approved] = [await world.register(plain), await world.register(plain)];
  const { json } = await world.redeem(await world.code({ client_id: redeemed.id }), { client_id: redeemed.id });
  equal("refresh_token" in json, false);
  await world.code({ client_id: approved.id });
  const flood = async () => {
    for (let round = 0; round < 20; round++) {
      world.skippedMs += 601_000;
      equal((await world.register()).status, 201);
    }
  };
  await flood();
  for (const { id } of [redeemed, approved])
    equal((await world.browser().authorize({ client_id: id })).status, 200, id);
  // An approval of another user does not take the place of the first.
  world.user = { id: "eve" };
  await world.code({ client_id: redeemed.id });
  for (let more = 0; more < 2; more++) {
    world.skippedMs += 601_000;
    await world.code({ client_id: (await world.register(plain)).id });
  }
  world.skippedMs += 601_000;
  equal((await world.register()).status, 503, "a store of approved clients has no room");
  equal((await world.browser().authorize({ client_id: redeemed.id })).status, 200);
  equal(world.errors.length, 1);
});

test("a user who approves one client after another holds a few of them only", async (t) => {
  const { world } = await open(t, { maxClients: 4, maxGrantsPerUser: 2 });
  const plain = { grant_types: ["authorization_code"] };
  const known = await world.register(plain);
  await world.code({ client_id: known.id });
  world.user = { id: "eve" };
  for (let round = 0; round < 20; round++) {
    const { id, status } = await world.register(plain);
    equal(status, 201, "a client that eve approved before makes room");
    await world.code({ client_id: id });
    world.skippedMs += 601_000;
  }
  equal((await world.browser().authorize({ client_id: known.id })).status, 200);
});

test("where all clients are in use, registration is refused and the operator learns why", async (t) => {
  const { world } = await open(t, { maxClients: 2 });
  const { id } = await world.register();
  await world.redeem(await world.code({ client_id: id }), { client_id: id });
  world.skippedMs += 601_000;
  const asked = await world.register();
  world.skippedMs += 601_000;
  // A user who is logged in looks at the consent page.
  const browser = world.browser();
  const page = await browser.authorize({ client_id: asked.id });
  const refused = await world.register();
  equal(refused.status, 503);
  equal(refused.headers.get("retry-after"), "60");
  equal(refused.json.error, "temporarily_unavailable");
  ok(/limits\.maxClients/.test(String((world.errors[0] as Error).cause)));
  ok(answerOf(await browser.press(page)).has("code"), "the login goes on");
  world.skippedMs += 601_000;
  equal((await world.register()).status, 503, "a user has approved this client, too");
  world.skippedMs += 30 * 86_400_000;
  equal((await world.register()).status, 201, "the approvals are over");
});

test("a registration ends a day after it was made, or after its last grant has ended", async (t) => {
  const day = 86_400_000;
  const { world } = await open(t, {}, { lifetimes: { grantMs: 3 * day } });
  const [unused, used] = [await world.register(), await world.register()];
  await world.redeem(await world.code({ client_id: used.id }), { client_id: used.id });
  world.skippedMs += day - 10_000;
  equal((await world.browser().authorize({ client_id: unused.id })).status, 200);
  world.skippedMs += day + 11_000;
  equal((await world.browser().authorize({ client_id: unused.id })).status, 400);
  world.skippedMs += 2 * day - 20_000;
  equal((await world.browser().authorize({ client_id: used.id })).status, 200);
  world.skippedMs += day + 20_000;
  equal((await world.browser().authorize({ client_id: used.id })).status, 400);
});

test("a user with many grants loses the oldest of them, and others lose none", async (t) => {
  const { world } = await open(t, { maxGrants: 5, maxGrantsPerUser: 2 });
  const ada = await world.tokens();
  world.user = { id: "eve" };
  const [first, , last] = [await world.tokens(), await world.tokens(), await world.tokens()];
  equal((await world.refresh(ada.refresh)).status, 200);
  equal((await world.refresh(first.refresh)).json.error, "invalid_grant");
  equal((await world.refresh(last.refresh)).status, 200);
});

test("requests without a grant leave no marks, and with one an assertion and a proof are good once", async (t) => {
  const { world, keys } = await open(t, {}, { dpop: true });
  const { privateKey, publicKey } = await generateKeyPair("ES256");
  const jwks = { keys: [{ ...(await exportJWK(publicKey)), alg: "ES256" }] };
  const { id } = await world.register({
    token_endpoint_auth_method: "private_key_jwt",
    grant_types: ["authorization_code"],
    jwks,
  });
  const sign = async () => {
    const now = Math.floor(Date.now() / 1000);
    const claims = { iss: id, sub: id, aud: world.issuer.issuer, iat: now, exp: now + 60, jti: crypto.randomUUID() };
    const client_assertion = await new SignJWT(claims).setProtectedHeader({ alg: "ES256" }).sign(privateKey);
    const client_assertion_type = "urn:ietf:params:oauth:client-assertion-type:jwt-bearer";
    return { client_id: id, client_assertion, client_assertion_type };
  };
  const dpop = await DpopClient.create();
  const prove = async () => {
    const claims = { iat: Math.floor(Date.now() / 1000), ath: undefined };
    return { dpop: await dpop.proof("", { url: `${world.issuer.issuer}/token`, claims }) };
  };
  const junk = { grant_type: "authorization_code", code: "x", code_verifier: "x".repeat(43) };
  for (let round = 0; round < 5; round++) {
    equal((await world.token({ ...junk, ...(await sign()) }, await prove())).json.error, "invalid_grant");
    equal((await world.post("revoke", { ...(await sign()), token: "x" })).status, 200);
  }
  deepEqual([...kindsOf(keys)], ["client"]);
  const redeem = ({ code, verifier }: { code: string; verifier: string }, signed: object, proof: { dpop: string }) =>
    world.token(
      { grant_type: "authorization_code", code, code_verifier: verifier, redirect_uri: CALLBACK, ...signed },
      proof,
    );
  const [signed, proof] = [await sign(), await prove()];
  equal((await redeem(await world.code({ client_id: id }), signed, proof)).status, 200);
  deepEqual(
    ["assertion", "proof", "spent"].map((kind) => kindsOf(keys).has(kind)),
    [true, true, true],
  );
  // What comes again does not spend the code.
  const code = await world.code({ client_id: id });
  equal((await redeem(code, signed, await prove())).json.error, "invalid_client");
  equal((await redeem(code, await sign(), proof)).json.error, "invalid_dpop_proof");
  equal((await redeem(code, await sign(), await prove())).status, 200);
});

test("the name of refresh tokens has nothing to do with the code that they came of", async (t) => {
  const { world } = await open(t, {});
  const code = await world.code();
  const refresh = String((await world.redeem(code)).json.refresh_token);
  notEqual(refresh.split(".")[0], createHash("sha256").update(`family ${code.code}`).digest("base64url"));
  equal((await world.redeem(code)).json.error, "invalid_grant");
  equal((await world.refresh(refresh)).json.error, "invalid_grant", "a code that comes again ends what it gave");
});

const upstream: NonNullable<IssuerOptions["upstream"]> = {
  authorizationEndpoint: "https://idp.example/authorize",
  tokenEndpoint: "https://idp.example/token",
  clientId: "the-issuer",
  user: () => ({ id: "ada" }),
  fetch: async () => Response.json({ access_token: "upstream" }),
};

/** Begins a login upstream; returns its state. */
async function begin(browser: Browser, fields = {}): Promise<string> {
  const location = (await browser.approve(fields)).headers.get("location") ?? "";
  return new URL(location).searchParams.get("state") ?? "";
}

const finish = (browser: Browser, state: string) => browser.fetch(`callback?code=c&state=${state}`);

test("logins that strangers begin upstream leave nothing here and push out no other", async (t) => {
  const { world, keys } = await open(t, { maxGrants: 4, maxMarks: 4 }, { upstream });
  const ada = world.browser();
  const state = await begin(ada);
  for (let round = 0; round < 20; round++) await begin(world.browser());
  deepEqual(keys, []);
  ok(answerOf(await finish(ada, state)).has("code"));
  equal((await finish(ada, state)).status, 400);
});

test("a client stays while a login is under way for it upstream", async (t) => {
  const { world } = await open(t, { maxClients: 2 }, { upstream });
  const { id } = await world.register();
  world.skippedMs += 601_000;
  const browser = world.browser();
  const state = await begin(browser, { client_id: id });
  equal((await world.register()).status, 201);
  equal((await world.register()).status, 503);
  ok(answerOf(await finish(browser, state)).has("code"));
});

test("a browser that keeps the cookie of a finished login gets no second code by it", async (t) => {
  let asked = 0;
  const fetch = async () => {
    asked++;
    return Response.json({ access_token: "upstream" });
  };
  const shared = { upstream: { ...upstream, fetch }, secrets: [new Uint8Array(32)], store: memoryIssuerStore() };
  const [here, there] = [await IssuerWorld.open(t, shared), await IssuerWorld.open(t, shared)];
  const [browser, elsewhere] = [here.browser(), there.browser()];
  const state = await begin(browser);
  const cookies = [...browser.cookies];
  ok(answerOf(await finish(browser, state)).has("code"));
  for (const [name, value] of cookies) {
    browser.cookies.set(name, value);
    elsewhere.cookies.set(name, value);
  }
  equal((await finish(browser, state)).status, 400);
  equal(asked, 1, "the provider is not asked again");
  const again = answerOf(await finish(elsewhere, state));
  deepEqual([again.get("code"), again.get("error")], [null, "invalid_request"], "nor by another process");
});

test("a browser has a few logins upstream under way, and the earliest make room", async (t) => {
  const { world } = await open(t, {}, { upstream });
  const browser = world.browser();
  const states: string[] = [];
  for (let round = 0; round < 7; round++) states.push(await begin(browser));
  const under = [...browser.cookies].filter(([name, value]) => name.includes("login-") && value !== "");
  equal(under.length, 5);
  equal((await finish(browser, states[1] ?? "")).status, 400);
  ok(answerOf(await finish(browser, states[2] ?? "")).has("code"));
  ok(answerOf(await finish(browser, states[6] ?? "")).has("code"));
  const long = await browser.authorize({ state: "x".repeat(5_000) });
  equal(answerOf(long).get("error"), "invalid_request");
});

test("documents of clients are fetched a few at a time and in a minute, by host and in all", async (t) => {
  const asked: string[] = [];
  const [arrived, door] = [gate(), gate()];
  const fetch = async (url: URL) => {
    if (asked.push(url.href) === 3) arrived.open();
    await door.opened;
    const document = { client_id: url.href, client_name: "Tool", redirect_uris: [CALLBACK] };
    return Response.json(document, { headers: { "cache-control": "no-store" } });
  };
  const limits = {
    maxDocumentFetches: 3,
    maxDocumentFetchesPerHost: 2,
    maxDocumentsPerMinute: 8,
    maxDocumentsPerHostPerMinute: 5,
  };
  const { world } = await open(t, limits, { clientDocuments: { fetch } });
  const ask = (client_id: string) => world.browser().authorize({ client_id });
  const statusOf = async (client_id: string) => (await ask(client_id)).status;
  const a = (name: string | number) => `https://a.example/${name}`;
  const waiting = [a(1), a(1), a(2), "https://b.example/1"].map(statusOf);
  await arrived.opened;
  const busy = await ask(a(3));
  deepEqual([busy.status, busy.headers.get("retry-after")], [429, "1"], "from one host");
  equal((await ask("https://c.example/1")).status, 429, "in all");
  const token = await world.token({ grant_type: "refresh_token", client_id: a(3), refresh_token: "x" });
  deepEqual([token.status, token.json.error], [429, "temporarily_unavailable"]);
  door.open();
  deepEqual(await Promise.all(waiting), [200, 200, 200, 200]);
  deepEqual(asked, [a(1), a(2), "https://b.example/1"], "whoever wants the same document shares one request");
  for (const name of [3, 4, 5]) equal(await statusOf(a(name)), 200);
  const often = await ask(a(6));
  equal(often.status, 429);
  ok(Number(often.headers.get("retry-after")) > 1);
  for (const expected of [200, 200, 429]) equal(await statusOf("https://b.example/2"), expected);
  equal(asked.length, 8);
});

test("strangers use up nothing of what is fetched for clients that users have approved", async (t) => {
  const fetch = async (url: URL) =>
    Response.json(
      {
        client_id: url.href,
        client_name: "Tool",
        redirect_uris: [CALLBACK],
        grant_types: ["authorization_code", "refresh_token"],
      },
      { headers: { "cache-control": url.hostname === "tool.example" ? "max-age=60" : "max-age=6000" } },
    );
  const { world } = await open(t, { maxDocumentsPerMinute: 10, maxDocuments: 3 }, { clientDocuments: { fetch } });
  const client_id = "https://tool.example/client.json";
  const { json } = await world.redeem(await world.code({ client_id }), { client_id });
  world.skippedMs += 61_000;
  const statuses: number[] = [];
  for (let round = 0; round < 12; round++) {
    statuses.push((await world.browser().authorize({ client_id: `https://h${round}.example/x` })).status);
  }
  ok(statuses.includes(429), String(statuses));
  equal((await world.refresh(String(json.refresh_token), { client_id })).status, 200);
});

test("a fetch that must not be a method of another object, as that of a worker, is called alone", async (t) => {
  const fetch = async function (this: unknown, url: URL) {
    if (this !== undefined) throw new TypeError("Illegal invocation");
    return Response.json({ client_id: url.href, client_name: "Tool", redirect_uris: [CALLBACK] });
  };
  const { world } = await open(t, {}, { clientDocuments: { fetch } });
  equal((await world.browser().authorize({ client_id: "https://tool.example/client.json" })).status, 200);
});

test("a document is reused for a single millisecond, and one that may not be reused takes no place", async (t) => {
  const asked: string[] = [];
  const fetch = async (url: URL) => {
    asked.push(url.hostname);
    const headers = { "cache-control": url.hostname === "fresh.example" ? "no-store" : "max-age=60" };
    return Response.json({ client_id: url.href, client_name: "Tool", redirect_uris: [CALLBACK] }, { headers });
  };
  let now = Date.now();
  const limits = { documentAgeMs: 1, maxDocuments: 1 };
  const { world } = await open(t, limits, { clientDocuments: { fetch }, now: () => now });
  const ask = async (host: string) =>
    equal((await world.browser().authorize({ client_id: `https://${host}/client.json` })).status, 200);
  for (const host of ["tool.example", "tool.example", "fresh.example", "fresh.example", "tool.example"])
    await ask(host);
  deepEqual(asked, ["tool.example", "fresh.example", "fresh.example"]);
  now += 1;
  await ask("tool.example");
  equal(asked.at(-1), "tool.example");
});

test("a browser that approves one client after another does not outgrow what servers read of a request", async (t) => {
  const { world } = await open(t, {});
  const browser = world.browser();
  const ids: string[] = [];
  for (let round = 0; round < 30; round++) {
    ids.push((await world.register()).id);
    equal((await browser.approve({ client_id: ids.at(-1) as string })).status, 303);
  }
  const sent = [...browser.cookies].map(([name, value]) => `${name}=${value}`).join("; ");
  ok(sent.length < 6_000, String(sent.length));
  // The latest are remembered, and the first are asked about again.
  equal((await browser.authorize({ client_id: ids.at(-1) as string })).status, 302);
  equal((await browser.authorize({ client_id: ids.at(-8) as string })).status, 302);
  equal((await browser.authorize({ client_id: ids[0] as string })).status, 200);
});
