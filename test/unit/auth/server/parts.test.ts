import { deepEqual, equal, match, ok, throws } from "node:assert/strict";
import { test } from "node:test";
import { authOf, protect } from "bowline/auth/server";
import { connect } from "bowline/client";
import { McpServer } from "bowline/server";
import { createChannelPair } from "bowline/testing";
import fc from "fast-check";
import { parseChallenges } from "#src/auth/client/challenge.js";
import { ReplayCache } from "#src/auth/dpop/check.js";
import { isAudience, normalizeResource, resourceMetadataUrl } from "#src/auth/resource.js";
import { formatChallenge } from "#src/auth/server/gate.js";
import { toKeptAuth } from "#src/protocol/brand.js";
import { createArrayExchange } from "#src/testing/array-exchange.js";
import { DpopClient } from "../../../support/dpop-client.js";
import { ISSUER, NOW, RESOURCE, toInfo } from "../../../support/guarded.js";

test("whatever a challenge says is read back as one challenge with these names", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.string({ unit: "binary" }), (one, other) => {
      const header = formatChallenge("Bearer", { error: one, scope: other, missing: undefined });
      ok(/^[\x20-\x7e]*$/.test(header));
      const [challenge, ...more] = parseChallenges(header);
      equal(more.length, 0);
      deepEqual([...(challenge?.params.keys() ?? [])], ["error", "scope"]);
    }),
    { numRuns: 50 },
  );
});

test("a name is used once until its time is over, and the memory is bounded", () => {
  const cache = new ReplayCache({ maxProofs: 3, maxProofsPerKey: 3 });
  deepEqual(
    [cache.accept("a", 100, 0, "key"), cache.accept("a", 100, 50, "key"), cache.accept("a", 100, 100, "key")],
    [true, false, false],
  );
  equal(cache.accept("a", 300, 101, "key"), true);
  ok(cache.accept("b", 300, 110, "key"));
  ok(cache.accept("c", 200, 110, "key"));
  throws(() => cache.accept("d", 300, 110, "key"), /maxProofs/);
  deepEqual([cache.accept("a", 300, 120, "key"), cache.accept("c", 200, 200, "key")], [false, false]);
  throws(() => cache.accept("d", 300, 200, "key"), /maxProofs/);
  ok(cache.accept("d", 250, 201, "key"), "what is over makes room, wherever it stands");
  throws(() => cache.accept("e", 300, 202, "key"), /maxProofs/);
  equal(cache.accept("a", 300, 203, "key"), false);
  ok(cache.accept("e", 300, 251, "key"));
  equal(cache.size, 3);
  ok(cache.accept("g", 900, 400, "key"));
  equal(cache.size, 1);
});

test("a key has a share of the memory, and takes room from no other key", () => {
  const cache = new ReplayCache({ maxProofs: 10, maxProofsPerKey: 2 });
  ok(cache.accept("a1", 100, 0, "a"));
  ok(cache.accept("a2", 200, 0, "a"));
  throws(() => cache.accept("a3", 100, 0, "a"), /limits\.maxProofsPerKey/);
  ok(cache.accept("b1", 100, 0, "b"));
  equal(cache.accept("a1", 100, 0, "a"), false);
  ok(cache.accept("a3", 300, 101, "a"), "what is over makes room");
});

test("a proof that cannot be remembered is not taken, and the operator learns why", async () => {
  const client = await DpopClient.create();
  const confirmation = { jkt: client.thumbprint };
  const gate = protect({
    resource: RESOURCE,
    authorizationServers: [ISSUER],
    verify: (token) => toInfo(token, { confirmation }),
    dpop: true,
    limits: { maxProofs: 1 },
    now: () => NOW,
  });
  const show = async (proof: string) => {
    const headers: Record<string, string> = { authorization: "DPoP t", dpop: proof };
    return await gate(createArrayExchange({ headers }));
  };
  const first = await client.proof("t");
  ok(!("status" in (await show(first))));
  const full = await show(await client.proof("t"));
  ok("status" in full);
  equal(full.status, 503);
  match(String((full.error as Error).message), /maxProofs/);
  const again = await show(first);
  equal("status" in again && again.status, 401, "the first is still known");
});

test("a token that expires while it is checked is admitted for no time", async () => {
  let now = NOW;
  const gate = protect({
    resource: RESOURCE,
    authorizationServers: [ISSUER],
    verify: (token) => toInfo(token, { expiresAt: NOW / 1000 + 1 }),
    // Each look at the clock is half a second later.
    now: () => (now += 500),
  });
  const found = await gate(createArrayExchange({ headers: { authorization: "Bearer t" } }));
  ok(!("status" in found));
  ok((found.lifeMs ?? -1) >= 0, `${found.lifeMs} ms`);
});

test("canonical identifiers are stable, and metadata lies between host and path", () => {
  fc.assert(
    fc.property(fc.webUrl({ withQueryParameters: true }), (url) => {
      const once = normalizeResource(url);
      if (/\/(\.|%2e){1,2}(?=[/?]|$)/i.test(url.replace(/\?.*/, ""))) return equal(once, undefined, url);
      ok(once !== undefined, url);
      if (!/\/\/(\?|$)/.test(url)) equal(normalizeResource(once), once);
      equal(normalizeResource(url.replace(/^https/, "HTTPS")), once);
    }),
  );
  fc.assert(fc.property(fc.anything(), (value) => void normalizeResource(value)));
  equal(resourceMetadataUrl("https://h/a?x=1").href, "https://h/.well-known/oauth-protected-resource/a?x=1");
});

test("what the URL parser reads as another address is no resource", () => {
  for (const text of [
    "https:///mcp.example/mcp",
    "https:/mcp.example/mcp",
    "https://mcp.example\\@evil.example/mcp",
    "https://mcp.example\t.evil.example/mcp",
    "https://0x7f.1/mcp",
    "https://mcp.example/x/../mcp",
    "https://mcp.example/x/%2e%2e/mcp",
    // The codes of the last segment make up for the length of those that are left out.
    "https://mcp.example/x/../\u00fc",
    "https://mcp.example/\u00fc/.",
    "https://mcp.example/x\\mcp",
    "https://mcp.example/mcp ",
  ]) {
    equal(normalizeResource(text), undefined, text);
    equal(isAudience(text, "https://mcp.example/mcp"), false, text);
  }
});

test("scopes that a definition requires are asked of handlers' context too", async () => {
  const server = new McpServer({ name: "s", version: "1" }).tool("may", {}, (_, ctx) =>
    JSON.stringify([ctx.grants(["a"]), ctx.grants(["a", "b"]), ctx.grants([])]),
  );
  for (const [auth, expected] of [
    [{ scopes: ["a"] }, [true, false, true]],
    [undefined, [false, false, true]],
    [{ scopes: "a" } as never, [false, false, true]],
  ] as const) {
    const [ours, theirs] = createChannelPair();
    await server.accept(theirs, { auth });
    const client = await connect({ channel: ours });
    deepEqual(JSON.parse((await client.callTool("may")).text), expected);
    await client.close();
  }
  await server.close();
});

test("a call without an access token has no authorization", () => {
  for (const auth of [undefined, null, "t", { user: "ada" }]) {
    throws(() => authOf({ auth }), { code: "no_auth" });
  }
});

test("data of the gate that was kept without its token is an authorization whose token cannot be read", () => {
  const auth = toKeptAuth({ subject: "ada", scopes: ["a"] });
  const kept = authOf({ auth });
  deepEqual(kept, { subject: "ada", scopes: ["a"] });
  deepEqual(JSON.parse(JSON.stringify(kept)), { subject: "ada", scopes: ["a"] });
  throws(() => kept.token, { code: "no_token" });
  equal("token" in auth, false);
});

test("a protection alone is a gate for any framework", async () => {
  const gate = protect({
    resource: "https://mcp.example/mcp",
    authorizationServers: ["https://login.example"],
    verify: (token) => (token === "t" ? { token, scopes: ["a"], audience: "https://mcp.example/mcp" } : undefined),
  });
  const request = (headers: Record<string, string> = {}) => new Request("https://mcp.example/mcp", { headers });
  const refused = await gate.check(request());
  equal(refused instanceof Response && refused.status, 401);
  const admitted = await gate.check(request({ authorization: "Bearer t" }));
  ok(!(admitted instanceof Response));
  equal(authOf({ auth: admitted.auth }).token, "t");
  // A verifier may say more than it is asked for, in whatever words.
  const more = { token: "t", scopes: [], status: 200, headers: {}, body: "x" };
  const wordy = await protect({ verify: () => more }).check(request({ authorization: "Bearer t" }));
  ok(!(wordy instanceof Response));
  equal(wordy.auth, more);
  equal(admitted.principal, undefined);
});

test("what is no scope is refused when it is written down", () => {
  const least = {
    resource: "https://mcp.example",
    authorizationServers: ["https://as.example"],
    verify: () => undefined,
  };
  for (const bad of ["", "two words", 'a"b', "a\\b", "é", "a\nb"]) {
    throws(() => protect({ ...least, scopes: ["fine", bad] }), /scopes: .* is not a valid scope/, String(bad));
    throws(
      () => protect({ ...least, scopesSupported: [bad] }),
      /scopesSupported: .* is not a valid scope/,
      String(bad),
    );
  }
  ok(protect({ ...least, scopes: ["fine", "notes:read", "https://a.example/x"] }));
});
