import { deepEqual, equal, notEqual, ok, rejects } from "node:assert/strict";
import { createHash } from "node:crypto";
import { clientCredentials, memoryStore } from "bowline/auth/client";
import { calculateJwkThumbprint, EmbeddedJWK, type JWK, jwtVerify } from "jose";
import { type Arrival, type AuthWorld, eachEra, failsAt } from "../../support/auth-world.js";
import { verifies } from "../../support/verifies.js";

interface Proof {
  readonly claims: Record<string, unknown>;
  readonly thumbprint: string;
}

/** Checks a proof as a server would and returns what it says. */
async function proofOf({ headers, method, url }: Arrival): Promise<Proof> {
  const { payload, protectedHeader } = await jwtVerify(headers.get("dpop") ?? "", EmbeddedJWK, { typ: "dpop+jwt" });
  equal(protectedHeader.alg, "ES256");
  equal(protectedHeader.jwk !== undefined && "d" in protectedHeader.jwk, false);
  equal(payload.htm, method);
  equal(payload.htu, `${url.origin}${url.pathname}`);
  ok(Math.abs((payload.iat ?? 0) - Date.now() / 1000) < 60);
  return { claims: payload, thumbprint: await calculateJwkThumbprint(protectedHeader.jwk as JWK) };
}

function binding(world: AuthWorld, extra: Record<string, unknown> = {}) {
  world.as.metadata = { ...world.as.metadata, dpop_signing_alg_values_supported: ["ES256"] };
  world.as.extra = { token_type: "DPoP", ...extra };
  world.challenge = 'DPoP resource_metadata="https://mcp.example/.well-known/oauth-protected-resource/mcp"';
}

const tokens = (world: AuthWorld) => world.to("POST https://as.example/token");
const authorized = (world: AuthWorld) =>
  world.arrivals.filter(({ url, headers }) => url.origin === "https://mcp.example" && headers.has("authorization"));

verifies(["client-auth:dpop:auth-scheme", "client-auth:dpop:fresh-proof"], eachEra, async (world) => {
  binding(world);
  const client = await world.connect(world.oauth({ dpop: true }));
  await client.callTool("echo", {});
  await client.close();
  const { thumbprint } = await proofOf(tokens(world)[0] as Arrival);
  const ids = new Set<unknown>();
  const sent = authorized(world);
  for (const arrival of sent) {
    const header = arrival.headers.get("authorization") ?? "";
    ok(header.startsWith("DPoP token-"));
    const proof = await proofOf(arrival);
    equal(proof.claims.ath, createHash("sha256").update(header.slice(5)).digest("base64url"));
    equal(proof.thumbprint, thumbprint);
    ids.add(proof.claims.jti);
  }
  equal(ids.size, sent.length);
  const methods = new Set(sent.map(({ method }) => method));
  deepEqual([...methods].sort(), world.era === "modern" ? ["POST"] : ["DELETE", "GET", "POST"]);
});

verifies("client-auth:dpop:auth-scheme", "in place of the caller's own credentials", eachEra, async (world) => {
  binding(world);
  const auth = world.oauth({ dpop: true });
  await world.call(auth, { headers: { authorization: "Basic bWU6bXk=" } });
  const [first, second] = authorized(world).map(({ headers }) => headers.get("authorization") ?? "");
  equal(first, "Basic bWU6bXk=");
  ok(second?.startsWith("DPoP token-"));
  equal(authorized(world).length, 2);
});

verifies(["client-auth:dpop:token-request-proof", "client-auth:dpop:key-binding"], eachEra, async (world) => {
  binding(world);
  world.as.refreshes = true;
  world.as.metadata = { ...world.as.metadata, token_endpoint: "https://as.example/token?tenant=1" };
  const store = memoryStore();
  const auth = world.oauth({ dpop: true, store });
  await world.call(auth);
  world.as.live.clear();
  await world.call(auth);
  const [login, refresh] = await Promise.all(tokens(world).map(proofOf));
  equal(login?.thumbprint, refresh?.thumbprint);
  equal(tokens(world)[1]?.form.get("grant_type"), "refresh_token");
  equal((store.get("dpop https://as.example") as CryptoKeyPair).privateKey.extractable, false);
  await world.call(world.oauth({ dpop: true, grant: clientCredentials(), client: { id: "m", secret: "s" } }));
  await proofOf(tokens(world).at(-1) as Arrival);
  // Without the key the tokens are lost: a new login, and no request with the old token.
  store.delete("dpop https://as.example");
  world.arrivals.length = 0;
  await world.call(world.oauth({ dpop: true, store }));
  equal(world.arrivals[0]?.headers.has("authorization"), false);
  equal(world.count("GET https://as.example/authorize"), 1);
});

verifies("client-auth:dpop:token-request-proof", "only where it is supported or required", eachEra, async (world) => {
  await world.call(world.oauth({ dpop: true }));
  equal(tokens(world)[0]?.headers.has("dpop"), false);
  // Where it is required, a token that is bound to nothing is no answer.
  await rejects(world.call(world.oauth({ dpop: { required: true } })), failsAt("token"));
  await proofOf(tokens(world)[1] as Arrival);
  equal(authorized(world).length, 1);
  world.as.extra = { token_type: "DPoP" };
  await world.call(world.oauth({ dpop: { required: true } }));
  equal(authorized(world).length, 2);
});

verifies("client-auth:dpop:as-nonce", eachEra, async (world) => {
  binding(world);
  let demands = 1;
  world.routes.set("POST https://as.example/token", () => {
    if (demands-- <= 0) return undefined;
    return { status: 400, json: { error: "use_dpop_nonce" }, headers: { "dpop-nonce": "as-nonce" } };
  });
  await world.call(world.oauth({ dpop: true }));
  const [first, second] = await Promise.all(tokens(world).map(proofOf));
  equal(first?.claims.nonce, undefined);
  equal(second?.claims.nonce, "as-nonce");
  notEqual(first?.claims.jti, second?.claims.jti);
  equal(tokens(world)[0]?.form.get("code"), tokens(world)[1]?.form.get("code"));
  demands = 99;
  world.arrivals.length = 0;
  await rejects(world.call(world.oauth({ dpop: true })), { step: "token", error: "use_dpop_nonce" });
  equal(tokens(world).length, 2);
});

verifies("client-auth:dpop:rs-nonce", eachEra, async (world) => {
  binding(world);
  world.as.metadata = { ...world.as.metadata };
  let wanted = "rs-1";
  world.routes.set("POST https://as.example/token", () => ({
    ...world.as.issue(undefined),
    headers: { "dpop-nonce": "as-only" },
  }));
  world.routes.set(`POST ${world.mcp}`, async (request) => {
    if (!world.accepts(request)) return undefined;
    const { claims } = await proofOf(request);
    if (claims.nonce === wanted) return undefined;
    const headers = { "dpop-nonce": wanted, "www-authenticate": 'DPoP error="use_dpop_nonce"' };
    return { status: 401, headers };
  });
  const client = await world.connect(world.oauth({ dpop: true }));
  equal(tokens(world).length, 1);
  world.arrivals.length = 0;
  await client.callTool("echo", {});
  equal(world.to(`POST ${world.mcp}`).length, 1);
  wanted = "rs-2";
  await client.callTool("echo", {});
  equal(tokens(world).length, 0);
  equal(world.to(`POST ${world.mcp}`).length, 3);
  const nonces = await Promise.all(
    world.to(`POST ${world.mcp}`).map(async (arrival) => (await proofOf(arrival)).claims.nonce),
  );
  deepEqual(nonces, ["rs-1", "rs-1", "rs-2"]);
});

verifies("client-auth:dpop:asymmetric-alg", eachEra, async (world) => {
  binding(world);
  await rejects(world.call(world.oauth({ dpop: { alg: "HS256" } })), failsAt("configuration"));
  await rejects(world.call(world.oauth({ dpop: { alg: "none" } })), failsAt("configuration"));
  world.as.metadata = { ...world.as.metadata, dpop_signing_alg_values_supported: ["RS256"] };
  await rejects(world.call(world.oauth({ dpop: true })), failsAt("configuration"));
  equal(tokens(world).length, 0);
});

verifies("client-auth:dpop:auth-scheme", "a challenge names the place of the metadata", eachEra, async (world) => {
  binding(world);
  world.challenge = 'DPoP algs="ES256", resource_metadata="https://mcp.example/here", scope="a"';
  world.routes.set("GET https://mcp.example/here", () => ({
    json: { resource: world.mcp, authorization_servers: [world.as.issuer] },
  }));
  await world.call(world.oauth({ dpop: true }));
  equal(world.count("GET https://mcp.example/here"), 1);
  equal(world.count("GET https://mcp.example/.well-known"), 0);
  equal(world.to("GET https://as.example/authorize")[0]?.url.searchParams.get("scope"), "a");
  equal(authorized(world).length, 1);
});

verifies("client-auth:dpop:auth-scheme", "a bound token without a key is not sent", eachEra, async (world) => {
  world.as.extra = { token_type: "DPoP" };
  await rejects(world.call(world.oauth()), failsAt("token"));
  equal(authorized(world).length, 0);
});
