import { deepEqual, equal, match, ok, throws } from "node:assert/strict";
import { protect } from "bowline/auth/server";
import { acceptProof, ClusterError, memoryCluster } from "bowline/cluster";
import { createMemoryState, FakeClock } from "bowline/testing";
import { SignJWT } from "jose";
import { DpopClient, type ProofFaults } from "../../support/dpop-client.js";
import { withoutRoom } from "../../support/full-cluster.js";
import { type Guarded, guardedHttp, ISSUER, type Knock, NOW, RESOURCE } from "../../support/guarded.js";
import { replaceParts } from "../../support/nodes-world.js";
import { verifies } from "../../support/verifies.js";

const show = ({ knock }: Guarded, proof: string | undefined, token = "bound") =>
  knock({ authorization: `DPoP ${token}`, dpop: proof });

function isRefused({ status, challenges, params, text }: Knock, error = "invalid_dpop_proof"): void {
  deepEqual([status, challenges[0]?.scheme, params.error], [401, "dpop", error], params.error_description ?? "");
  ok(!text.includes("jsonrpc"));
}

verifies("hosting:auth:dpop:validate-proof", guardedHttp, async (world) => {
  const client = await DpopClient.create();
  const thief = await DpopClient.create();
  world.tokens.set("bound", { confirmation: { jkt: client.thumbprint } });
  const guarded = await world.guard({ protect: { dpop: true } });
  equal((await show(guarded, await client.proof("bound"))).status, 200);
  for (const url of ["HTTPS://MCP.example:443/mcp", `${RESOURCE}?x=1`, `${RESOURCE}#x`, "https://mcp.example/./mcp"]) {
    equal((await show(guarded, await client.proof("bound", { url }))).status, 200, url);
  }
  const faults: ProofFaults[] = [
    { header: { typ: "JWT" } },
    { header: { typ: undefined } },
    { header: { jwk: undefined } },
    { header: { jwk: client.privateJwk } },
    { header: { jwk: thief.jwk } },
    { header: { jwk: "x" } },
    { method: "GET" },
    { claims: { htm: "post" } },
    { claims: { htm: undefined } },
    { url: "https://mcp.example/other" },
    { url: "https://mcp.example/mcp/" },
    { url: "https://evil.example/mcp" },
    { url: "http://mcp.example/mcp" },
    { url: "https://a:b@mcp.example/mcp" },
    { claims: { htu: undefined } },
    { claims: { htu: 7 } },
    { token: "another" },
    { claims: { ath: undefined } },
    { claims: { jti: undefined } },
    { claims: { jti: "" } },
    { claims: { jti: 7 } },
    { claims: { jti: "x".repeat(300) } },
    { claims: { iat: undefined } },
    { claims: { exp: NOW / 1000 - 400 } },
  ];
  for (const fault of faults) isRefused(await show(guarded, await client.proof("bound", fault)));
  const good = await client.proof("bound");
  for (const proof of [
    undefined,
    "",
    "x",
    "a.b.c",
    `${good}x`,
    `${good}, ${await client.proof("bound")}`,
    "x".repeat(9_000),
  ]) {
    isRefused(await show(guarded, proof));
  }
  // Shared secrets and no signature at all.
  const claims = { jti: "1", htm: "POST", htu: RESOURCE, iat: NOW / 1000 };
  const secret = new TextEncoder().encode("0123456789abcdef0123456789abcdef");
  const jwk = { kty: "oct", k: Buffer.from(secret).toString("base64url") };
  const header = { alg: "HS256", typ: "dpop+jwt", jwk };
  isRefused(await show(guarded, await new SignJWT(claims).setProtectedHeader(header).sign(secret)));
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  isRefused(await show(guarded, `${encode({ ...header, alg: "none" })}.${encode(claims)}.`));
  // Another key than the token's, with a proof that is fine in itself.
  isRefused(await show(guarded, await thief.proof("bound")));
  // An algorithm that is not allowed here.
  const rsa = await DpopClient.create("RS256");
  world.tokens.set("rsa", { confirmation: { jkt: rsa.thumbprint } });
  equal((await show(guarded, await rsa.proof("rsa"), "rsa")).status, 200);
  const strict = await world.guard({ protect: { dpop: { algorithms: ["ES256"] } } });
  isRefused(await show(strict, await rsa.proof("rsa"), "rsa"));
  for (const alg of ["none", "HS256"]) {
    const build = () =>
      protect({
        resource: RESOURCE,
        authorizationServers: [ISSUER],
        verify: () => undefined,
        dpop: { algorithms: [alg] },
      });
    throws(build, /dpop\.algorithms/);
  }
});

verifies("hosting:auth:dpop:validate-proof", "a proof is good once", guardedHttp, async (world) => {
  const client = await DpopClient.create();
  world.tokens.set("bound", { confirmation: { jkt: client.thumbprint } });
  const guarded = await world.guard({ protect: { dpop: true } });
  const proof = await client.proof("bound");
  const answers = await Promise.all([show(guarded, proof), show(guarded, proof), show(guarded, proof)]);
  deepEqual(answers.map(({ status }) => status).sort(), [200, 401, 401]);
  const again = await show(guarded, proof);
  isRefused(again);
  match(again.params.error_description ?? "", /already been used/);
  // Servers that share their load remember together.
  const used = new Set<string>();
  const acceptProof = async (name: string) => !used.has(name) && used.add(name) !== undefined;
  const two = [
    await world.guard({ protect: { dpop: { acceptProof } } }),
    await world.guard({ protect: { dpop: { acceptProof } } }),
  ];
  const shared = await client.proof("bound");
  deepEqual(
    [(await show(two[0] as Guarded, shared)).status, (await show(two[1] as Guarded, shared)).status],
    [200, 401],
  );
});

verifies(
  ["hosting:auth:dpop:validate-proof", "cluster:clocks"],
  "a proof is not accepted again by a server whose clock is a minute behind",
  guardedHttp,
  async (world) => {
    const client = await DpopClient.create();
    world.tokens.set("bound", { confirmation: { jkt: client.thumbprint }, expiresAt: NOW / 1000 + 3_600 });
    const clock = new FakeClock();
    const state = createMemoryState({ clock });
    const node = (skewMs: number) => {
      const own = Object.assign(new FakeClock(), { timeOfDay: () => NOW + clock.now() + skewMs });
      const dpop = { acceptProof: acceptProof(state.node(), own) };
      return world.guard({ protect: { dpop, now: own.timeOfDay } });
    };
    const [ahead, behind] = [await node(60_000), await node(0)];
    const proof = await client.proof("bound");
    equal((await show(ahead, proof)).status, 200);
    for (let passed = 0; passed < 299; passed += 20) {
      isRefused(await show(behind, proof));
      clock.advance(20_000);
    }
  },
);

verifies("cluster:engine-full:auth", "a proof or token that cannot be looked up now", guardedHttp, async (world) => {
  const client = await DpopClient.create();
  world.tokens.set("bound", { confirmation: { jkt: client.thumbprint } });
  for (const failure of ["unavailable", "unknown_outcome", "refused"] as const) {
    const inner = memoryCluster();
    let isAway = true;
    const cluster = withoutRoom(inner, () => (isAway ? failure : undefined));
    const dpop = { acceptProof: acceptProof(replaceParts(inner, cluster)) };
    const guarded = await world.guard({ protect: { dpop } });
    const expected = failure === "refused" ? [500, null] : [503, "5"];
    const knocked = await show(guarded, await client.proof("bound"));
    deepEqual([knocked.status, knocked.headers.get("retry-after")], expected, failure);
    world.tokens.set("unclear", new ClusterError(failure, "10.0.0.5 is away"));
    const verified = await guarded.present("unclear");
    deepEqual([verified.status, verified.headers.get("retry-after")], expected, failure);
    equal(verified.text.includes("10.0.0.5"), false);
    deepEqual(guarded.seen, []);
    isAway = false;
    equal((await show(guarded, await client.proof("bound"))).status, 200);
  }
});

verifies("hosting:auth:dpop:iat-window", guardedHttp, async (world) => {
  const client = await DpopClient.create();
  world.tokens.set("bound", { confirmation: { jkt: client.thumbprint } });
  const at = (seconds: number) => client.proof("bound", { claims: { iat: NOW / 1000 + seconds } });
  const guarded = await world.guard({ protect: { dpop: true } });
  for (const seconds of [-299, 299]) equal((await show(guarded, await at(seconds))).status, 200);
  for (const seconds of [-301, 301]) isRefused(await show(guarded, await at(seconds)));
  const strict = await world.guard({ protect: { dpop: true, limits: { proofWindowMs: 10_000 } } });
  equal((await show(strict, await at(-9))).status, 200);
  isRefused(await show(strict, await at(-11)));
  for (const proofWindowMs of [0, 300_001, Number.NaN]) {
    const build = () =>
      protect({
        resource: RESOURCE,
        authorizationServers: [ISSUER],
        verify: () => undefined,
        dpop: true,
        limits: { proofWindowMs },
      });
    throws(build, /proofWindowMs/);
  }
});

verifies("hosting:auth:dpop:reject-401", guardedHttp, async (world) => {
  const client = await DpopClient.create();
  world.tokens.set("bound", { confirmation: { jkt: client.thumbprint } });
  world.tokens.set("late", { confirmation: { jkt: client.thumbprint }, expiresAt: 1 });
  const dpop = { algorithms: ["ES256", "EdDSA"] };
  const guarded = await world.guard({ protect: { dpop, scopes: ["a"] } });
  const metadata = "https://mcp.example/.well-known/oauth-protected-resource/mcp";
  const refusals = [
    await show(guarded, undefined),
    await show(guarded, await client.proof("late"), "late"),
    await show(guarded, await client.proof("x"), "unknown"),
    await show(guarded, await client.proof("good"), "good"),
  ];
  deepEqual(
    refusals.map(({ params }) => params.error),
    ["invalid_dpop_proof", "invalid_token", "invalid_token", "invalid_token"],
  );
  for (const refused of refusals) {
    isRefused(refused, refused.params.error);
    deepEqual([refused.params.algs, refused.params.resource_metadata], ["ES256 EdDSA", metadata]);
    equal(refused.params.scope, "a");
  }
  const poor = await show(guarded, await client.proof("bound"));
  deepEqual([poor.status, poor.challenges[0]?.scheme, poor.params.error], [403, "dpop", "insufficient_scope"]);
  deepEqual(guarded.seen, []);
  equal(guarded.server.stats().sessions, 0);
  // Both ways are offered to whoever comes with nothing, or one where there is one.
  const offered = async ({ knock }: Guarded) => (await knock()).challenges.map(({ scheme }) => scheme);
  deepEqual(await offered(guarded), ["bearer", "dpop"]);
  deepEqual(await offered(await world.guard({ protect: { dpop: { required: true } } })), ["dpop"]);
});

verifies("hosting:auth:dpop:bound-token-as-bearer", guardedHttp, async (world) => {
  const client = await DpopClient.create();
  world.tokens.set("bound", { confirmation: { jkt: client.thumbprint } });
  world.tokens.set("by-certificate", { confirmation: { "x5t#S256": "x" } });
  for (const dpop of [true, undefined] as const) {
    const { knock, present } = await world.guard({ protect: { dpop } });
    for (const token of ["bound", "by-certificate"]) {
      const { status, params } = await present(token);
      deepEqual([status, params.error], [401, "invalid_token"]);
    }
    const proved = await knock({ authorization: "Bearer bound", dpop: await client.proof("bound") });
    deepEqual([proved.status, proved.params.error], [401, "invalid_token"]);
    equal((await present("good")).status, 200);
  }
  const strict = await world.guard({ protect: { dpop: { required: true } } });
  const { status, params } = await strict.present("good");
  deepEqual([status, params.error], [401, "invalid_token"]);
  equal((await show(strict, await client.proof("bound"))).status, 200);
});

verifies("hosting:auth:dpop:nonce", guardedHttp, async (world) => {
  const client = await DpopClient.create();
  world.tokens.set("bound", { confirmation: { jkt: client.thumbprint }, expiresAt: undefined });
  let now = NOW;
  const key = "a key that two servers have in common";
  const make = () => world.guard({ protect: { dpop: { nonce: { key, ttlMs: 60_000 } }, now: () => now } });
  const [one, two] = [await make(), await make()];
  const proof = (nonce: string | undefined) =>
    client.proof("bound", { claims: { iat: Math.floor(now / 1000), ...(nonce === undefined ? {} : { nonce }) } });
  const challenged = await show(one, await proof(undefined));
  isRefused(challenged, "use_dpop_nonce");
  const nonce = challenged.headers.get("dpop-nonce") ?? "";
  match(nonce, /^[\x21\x23-\x5b\x5d-\x7e]+$/);
  const retried = await show(one, await proof(nonce));
  deepEqual([retried.status, retried.headers.get("dpop-nonce")], [200, null]);
  equal((await show(two, await proof(nonce))).status, 200);
  now += 40_000;
  const fresh = (await show(one, await proof(nonce))).headers.get("dpop-nonce") ?? "";
  ok(fresh !== "" && fresh !== nonce);
  now += 21_000;
  const stale = await show(two, await proof(nonce));
  isRefused(stale, "use_dpop_nonce");
  ok(stale.headers.get("dpop-nonce") !== null);
  equal((await show(two, await proof(fresh))).status, 200);
  const changed = `${Math.floor(now).toString(36)}${fresh.slice(fresh.indexOf("."))}`;
  for (const made of ["x", "", changed]) isRefused(await show(one, await proof(made)), "use_dpop_nonce");
  const other = await world.guard({ protect: { dpop: { nonce: true }, now: () => now } });
  isRefused(await show(other, await proof(fresh)), "use_dpop_nonce");
});

verifies("hosting:auth:dpop:audience", guardedHttp, async (world) => {
  const client = await DpopClient.create();
  const confirmation = { jkt: client.thumbprint };
  world.tokens.set("foreign", { confirmation, audience: "https://other.example/mcp" });
  world.tokens.set("silent", { confirmation, audience: undefined });
  const guarded = await world.guard({ protect: { dpop: true } });
  for (const token of ["foreign", "silent"])
    isRefused(await show(guarded, await client.proof(token), token), "invalid_token");
});
