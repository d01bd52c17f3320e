import { deepEqual, equal, notEqual, ok, rejects } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { memoryStore } from "bowline/auth/client";
import { openLoopback } from "bowline/node";
import { AuthWorld, CALLBACK, eachEra, failsAt, MockIssuer } from "../../../support/auth-world.js";
import { verifies } from "../../../support/verifies.js";

const DOCUMENT = "https://app.example/client.json";
const HONEST = "https://as.example";

/** An issuer whose answers do not name it. It knows its clients and sends nobody anywhere else. */
function anonymous(issuer: MockIssuer): void {
  issuer.sendsIss = false;
  issuer.metadata = { ...issuer.metadata, authorization_response_iss_parameter_supported: undefined };
}

/** An honest issuer without `iss`, with a client of ours, and an attacker whose MCP server the user visits next. */
async function setUp(t: TestContext) {
  const world = await AuthWorld.open(t, "modern");
  const evil = new MockIssuer("https://evil.example");
  world.issuers.push(evil);
  for (const issuer of world.issuers) anonymous(issuer);
  const redirects = new Set([CALLBACK]);
  world.routes.set(`POST ${HONEST}/register`, ({ body }) => {
    for (const uri of JSON.parse(body).redirect_uris) redirects.add(uri);
    return undefined;
  });
  world.routes.set(`GET ${HONEST}/authorize`, ({ url }) =>
    redirects.has(url.searchParams.get("redirect_uri") ?? "") ? undefined : { status: 400 },
  );
  const store = memoryStore();
  await world.call(world.oauth({ store }));
  const ours = world.to(`GET ${HONEST}/authorize`)[0]?.url.searchParams as URLSearchParams;
  world.arrivals.length = 0;
  world.as.live.clear();
  world.listed = [evil.issuer];
  // The attacker gives us the id that we have at the honest issuer.
  const clientId = ours.get("client_id") ?? "";
  world.routes.set("POST https://evil.example/register", ({ body }) => ({
    status: 201,
    json: { ...JSON.parse(body), client_id: clientId },
  }));
  return { world, evil, store, ours };
}

/** What the attacker has got: a code of the honest issuer. */
function stolen(world: AuthWorld): string[] {
  return world.to("POST https://evil.example").flatMap(({ form }) => form.get("code") ?? []);
}

/** The user's browser, at an attacker who passes it on to the honest issuer. */
function passedOn(world: AuthWorld, change: (asked: URLSearchParams) => void) {
  return (url: URL) => {
    const honest = new URL(`${HONEST}/authorize${url.search}`);
    change(honest.searchParams);
    return world.browse(honest);
  };
}

test("each issuer whose answers do not name it has a redirect address of its own", async (t) => {
  const { world, evil, store, ours } = await setUp(t);
  world.routes.delete("POST https://evil.example/register");
  const auth = world.oauth({ store });
  await world.call(auth);
  const [asked] = world.to("GET https://evil.example/authorize");
  const theirs = asked?.url.searchParams.get("redirect_uri") ?? "";
  notEqual(theirs, ours.get("redirect_uri"));
  for (const uri of [theirs, ours.get("redirect_uri") ?? ""]) {
    ok(uri.startsWith(`${CALLBACK}?issuer=`), uri);
    // Nothing in it is written as a code, which some would decode and others not.
    ok(/^[\w-]{16}$/.test(new URL(uri).searchParams.get("issuer") ?? ""), uri);
  }
  deepEqual(JSON.parse(world.to("POST https://evil.example/register")[0]?.body ?? "").redirect_uris, [theirs]);
  equal(world.to("POST https://evil.example/token")[0]?.form.get("redirect_uri"), theirs);
  // The same client is still good, and comes back to the same address.
  evil.live.clear();
  await world.call(auth);
  equal(world.count("POST https://evil.example/register"), 1);
});

test("an attacker whose metadata names the honest issuer's endpoint gets no code", async (t) => {
  const { world, evil, store } = await setUp(t);
  evil.metadata = { ...evil.metadata, authorization_endpoint: `${HONEST}/authorize` };
  await rejects(world.call(world.oauth({ store })), failsAt("callback"));
  deepEqual(stolen(world), []);
});

test("an attacker who passes the user on to the honest issuer gets no code", async (t) => {
  const { world, store, ours } = await setUp(t);
  const keep = passedOn(world, () => {});
  await rejects(world.call(world.oauth({ store, authorize: keep })), failsAt("callback"));
  for (const redirect of [ours.get("redirect_uri") ?? "", CALLBACK]) {
    const authorize = passedOn(world, (asked) => asked.set("redirect_uri", redirect));
    const why = failsAt("issuer", /redirect URI of https:\/\/evil\.example/);
    await rejects(world.call(world.oauth({ store, authorize })), why);
  }
  equal(world.as.issued.filter((made) => made.startsWith("code")).length, 3);
  deepEqual(stolen(world), []);
});

test("an attacker who takes the client's metadata document gets no code", async (t) => {
  const { world, evil, store } = await setUp(t);
  const plain = { ...evil.metadata, client_id_metadata_document_supported: true };
  const attack = (metadata: Record<string, unknown>) => {
    evil.metadata = metadata;
    const authorize = passedOn(world, (asked) => {
      asked.set("client_id", DOCUMENT);
      asked.set("redirect_uri", CALLBACK);
    });
    return world.call(world.oauth({ store, authorize, clientMetadataUrl: DOCUMENT }));
  };
  await rejects(attack(plain), failsAt("issuer"));
  await rejects(attack({ ...plain, authorization_response_iss_parameter_supported: true }), failsAt("issuer"));
  deepEqual(stolen(world), []);
});

test("a metadata document is used where answers name their issuer, or the author does", async (t) => {
  const world = await AuthWorld.open(t, "modern");
  anonymous(world.as);
  world.as.metadata = { ...world.as.metadata, client_id_metadata_document_supported: true };
  const asked = () => world.to(`GET ${HONEST}/authorize`).at(-1)?.url.searchParams;
  const clientMetadataUrl = DOCUMENT;
  await world.call(world.oauth({ clientMetadataUrl }));
  equal(asked()?.get("client_id"), "client-as.example");
  for (const more of [
    { issuer: HONEST },
    { allowMissingIss: true },
    { serverMetadata: { ...world.as.metadata, issuer: HONEST } },
  ]) {
    await world.call(world.oauth({ clientMetadataUrl, ...more }));
    deepEqual([asked()?.get("client_id"), asked()?.get("redirect_uri")], [DOCUMENT, CALLBACK]);
  }
  world.as.metadata = { ...world.as.metadata, registration_endpoint: undefined };
  await rejects(world.call(world.oauth({ clientMetadataUrl })), failsAt("registration", /iss.*option issuer/));
});

test("redirect addresses that the author registers follow the common one", async (t) => {
  const world = await AuthWorld.open(t, "modern");
  anonymous(world.as);
  const registration = { redirect_uris: [CALLBACK, "https://app.example/other"] };
  await world.call(world.oauth({ registration }));
  const [first, second] = JSON.parse(world.to(`POST ${HONEST}/register`)[0]?.body ?? "").redirect_uris;
  ok(first.startsWith(`${CALLBACK}?issuer=`));
  equal(second, "https://app.example/other");
});

test("the loopback and a stored attempt bring the answer back to the address of its issuer", async (t) => {
  const world = await AuthWorld.open(t, "modern");
  anonymous(world.as);
  const open = async (url: URL) => void (await fetch(await world.browse(url)));
  const loopback = await openLoopback({ open });
  t.after(loopback.close);
  await world.call(world.oauth(loopback));
  const sent: URL[] = [];
  const auth = world.oauth({ authorize: (url) => void sent.push(url) });
  await rejects(world.call(auth), failsAt("redirected"));
  const back = new URL(await world.browse(sent[0] as URL));
  const bare = new URLSearchParams(back.searchParams);
  bare.delete("issuer");
  await rejects(auth.finish(bare), failsAt("issuer", /is missing/));
  await auth.finish(back);
  equal(world.count(`POST ${HONEST}/token`), 2);
});

/** Redirect address of an issuer whose answers do not name it, as `redirectUris` of a client lists it. */
async function ownRedirect(issuer: string): Promise<string> {
  const digest = await crypto.subtle.digest("SHA-256", new TextEncoder().encode(issuer));
  return `${CALLBACK}?issuer=${Buffer.from(digest).toString("base64url").slice(0, 16)}`;
}

/** Two issuers without `iss`, at which clients are registered in advance. The MCP server of the second is visited. */
function setUpKnown(world: AuthWorld) {
  const evil = new MockIssuer("https://evil.example");
  world.issuers.push(evil);
  for (const issuer of world.issuers) anonymous(issuer);
  world.listed = [evil.issuer];
  const known = (redirectUris?: (issuer: string) => string[]) =>
    [HONEST, evil.issuer].map((issuer) => ({
      id: `known-${new URL(issuer).host}`,
      issuer,
      ...(redirectUris && { redirectUris: redirectUris(issuer) }),
    }));
  const asHonest = passedOn(world, (asked) => asked.set("client_id", "known-as.example"));
  return { evil, known, asHonest };
}

verifies(
  "client-auth:iss:redirect-per-issuer",
  "clients registered in advance at several issuers get no answer at an address that they share",
  eachEra,
  async (world) => {
    const { evil, known, asHonest } = setUpKnown(world);
    const own = await ownRedirect(evil.issuer);
    for (const redirectUris of [undefined, () => [CALLBACK]]) {
      const refused = await world
        .call(world.oauth({ client: known(redirectUris), authorize: asHonest }))
        .catch((error: unknown) => error);
      ok(failsAt("configuration", /evil\.example does not announce iss.*redirectUris.*allowMissingIss/)(refused));
      ok(String(refused).includes(own), "the error names the redirect URI to register");
    }
    deepEqual(world.as.issued, []);
    const described = known().map(({ issuer }) => ({ ...world.as.metadata, issuer }));
    await rejects(
      world.call(world.oauth({ client: known(), serverMetadata: described as never, authorize: asHonest })),
      failsAt("configuration", /does not announce iss/),
    );
    deepEqual(stolen(world), []);
  },
);

verifies(
  "client-auth:iss:redirect-per-issuer",
  "clients registered in advance with a redirect address for each issuer are served, and no code is stolen",
  eachEra,
  async (world) => {
    const { evil, known, asHonest } = setUpKnown(world);
    const addresses = new Map(
      await Promise.all([HONEST, evil.issuer].map(async (issuer) => [issuer, await ownRedirect(issuer)] as const)),
    );
    const client = known((issuer) => [CALLBACK, addresses.get(issuer) ?? ""]);
    for (const redirect of [addresses.get(HONEST) ?? "", CALLBACK]) {
      const authorize = (url: URL) => {
        const asked = new URL(url);
        asked.searchParams.set("redirect_uri", redirect);
        return asHonest(asked);
      };
      await rejects(
        world.call(world.oauth({ client, authorize })),
        failsAt("issuer", /redirect URI of https:\/\/evil/),
      );
    }
    equal(world.as.issued.filter((made) => made.startsWith("code")).length, 2);
    deepEqual(stolen(world), []);
    for (const issuer of world.issuers) {
      world.listed = [issuer.issuer];
      equal((await world.call(world.oauth({ client }))).status, 200);
      const redeemed = world.to(`POST ${issuer.issuer}/token`).at(-1)?.form;
      equal(redeemed?.get("redirect_uri"), addresses.get(issuer.issuer));
    }
  },
);

verifies(
  "client-auth:iss:redirect-per-issuer",
  "a port of the loopback does not matter for a redirect address registered in advance",
  eachEra,
  async (world, t) => {
    const { evil, known } = setUpKnown(world);
    const open = async (url: URL) => void (await fetch(await world.browse(url)));
    const loopback = await openLoopback({ open });
    t.after(loopback.close);
    const { search } = new URL(await ownRedirect(evil.issuer));
    const path = new URL(loopback.redirectUrl).pathname;
    const client = known(() => [`http://127.0.0.1${path}${search}`]);
    equal((await world.call(world.oauth({ ...loopback, client }))).status, 200);
  },
);

verifies(
  "client-auth:iss:redirect-per-issuer",
  "clients registered in advance share the address where each answer shows its issuer, or the author says so",
  eachEra,
  async (world) => {
    const { evil, known } = setUpKnown(world);
    const redirect = () => world.to(`GET ${evil.issuer}/authorize`).at(-1)?.url.searchParams.get("redirect_uri");
    const [, only] = known();
    for (const options of [
      { client: known(), allowMissingIss: true },
      { client: only },
      { client: { id: "known" }, issuer: evil.issuer },
    ]) {
      await world.call(world.oauth(options as never));
      equal(redirect(), CALLBACK);
    }
    evil.sendsIss = true;
    evil.metadata = { ...evil.metadata, authorization_response_iss_parameter_supported: true };
    await world.call(world.oauth({ client: known() }));
    equal(redirect(), CALLBACK);
  },
);

verifies(
  "client-auth:iss:redirect-per-issuer",
  "several issuers that the options describe have a redirect address each",
  eachEra,
  async (world) => {
    const { evil } = setUpKnown(world);
    const serverMetadata = [world.as, evil].map(({ metadata }) => metadata) as never;
    const store = memoryStore();
    for (const issuer of world.issuers) {
      world.listed = [issuer.issuer];
      await world.call(world.oauth({ serverMetadata, store }));
      const asked = world.to(`GET ${issuer.issuer}/authorize`)[0]?.url.searchParams;
      equal(asked?.get("redirect_uri"), await ownRedirect(issuer.issuer));
    }
  },
);
