import { deepEqual, equal, match, ok, rejects, throws } from "node:assert/strict";
import { test } from "node:test";
import { AuthError, type IntrospectionVerifierOptions, introspectionVerifier } from "bowline/auth/server";
import { decodeJwt } from "jose";
import { gate } from "../../../support/gate.js";
import { ISSUER, NOW, RESOURCE } from "../../../support/guarded.js";
import { TokenIssuer } from "../../../support/token-issuer.js";

const ENDPOINT = `${ISSUER}/introspect`;
const client = { id: "the server", secret: "its secret+" };

async function setUp(answer: () => object, more: Partial<IntrospectionVerifierOptions> = {}) {
  const issuer = await TokenIssuer.create();
  issuer.routes.set(ENDPOINT, () => Response.json(answer()));
  const verify = introspectionVerifier({ ...issuer.settings, client, ...more });
  return { issuer, verify };
}

const active = (more: object = {}) => ({
  active: true,
  scope: "a b",
  client_id: "c",
  sub: "ada",
  aud: RESOURCE,
  exp: NOW / 1000 + 60,
  ...more,
});

test("the answer becomes what handlers see; what is not active is nothing", async () => {
  const { issuer, verify } = await setUp(() => active({ username: "Ada" }));
  const info = await verify("opaque");
  deepEqual([info?.scopes, info?.clientId, info?.subject, info?.audience], [["a", "b"], "c", "ada", RESOURCE]);
  equal(info?.claims?.username, "Ada");
  const init = issuer.asked.at(-1)?.init ?? {};
  equal(init.method, "POST");
  const form = new URLSearchParams(String(init.body));
  deepEqual([form.get("token"), form.get("token_type_hint")], ["opaque", "access_token"]);
  equal(new Headers(init.headers).get("authorization"), `Basic ${btoa("the+server:its+secret%2B")}`);
  for (const answer of [{ active: false }, {}, { active: "true" }, active({ iss: "https://evil.example" })]) {
    const other = await setUp(() => answer);
    equal(await other.verify("opaque"), undefined, JSON.stringify(answer));
  }
});

test("what is not good is remembered for a moment, apart from what is", async () => {
  let good = false;
  const { issuer, verify } = await setUp(() => (good ? active() : { active: false }), {
    limits: { maxIntrospectedTokens: 1 },
  });
  equal(await verify("junk"), undefined);
  equal(await verify("junk"), undefined);
  equal(issuer.count("/introspect"), 1);
  good = true;
  ok((await verify("opaque")) !== undefined);
  equal(await verify("junk"), undefined);
  issuer.now += 4_000;
  ok((await verify("opaque")) !== undefined);
  equal(issuer.count("/introspect"), 2);
  issuer.now += 1_000;
  ok((await verify("junk")) !== undefined);
  const eager = await setUp(() => ({ active: false }), { limits: { introspectedTokenMs: 0 } });
  await eager.verify("junk");
  await eager.verify("junk");
  equal(eager.issuer.count("/introspect"), 2);
});

test("the server says who it is by secret in the body, or by a key", async () => {
  const posted = await setUp(active, { client: { ...client, method: "client_secret_post" } });
  await posted.verify("opaque");
  const form = new URLSearchParams(String(posted.issuer.asked.at(-1)?.init.body));
  deepEqual([form.get("client_id"), form.get("client_secret")], ["the server", "its secret+"]);
  const pair = await posted.issuer.addKey();
  const signed = await setUp(active, { client: { id: "s", key: pair.privateKey } });
  await signed.verify("opaque");
  const assertion = new URLSearchParams(String(signed.issuer.asked.at(-1)?.init.body)).get("client_assertion") ?? "";
  deepEqual([decodeJwt(assertion).iss, decodeJwt(assertion).aud], ["s", ISSUER]);
});

test("an assertion is for the endpoint if no issuer is configured", async () => {
  const issuer = await TokenIssuer.create();
  issuer.routes.set(ENDPOINT, () => Response.json(active()));
  const { privateKey: key } = await issuer.addKey();
  const { issuer: _, ...settings } = issuer.settings;
  const verify = introspectionVerifier({ ...settings, endpoint: ENDPOINT, client: { id: "s", key } });
  equal((await verify("opaque"))?.subject, "ada");
  const assertion = new URLSearchParams(String(issuer.asked.at(-1)?.init.body)).get("client_assertion") ?? "";
  equal(decodeJwt(assertion).aud, ENDPOINT);
});

test("an answer is kept for a while, but not beyond the token's end", async () => {
  const { issuer, verify } = await setUp(() => active({ exp: NOW / 1000 + 15 }));
  await verify("one");
  issuer.now += 9_000;
  await verify("one");
  equal(issuer.count("/introspect"), 1);
  await verify("two");
  equal(issuer.count("/introspect"), 2);
  issuer.now += 1_000;
  await verify("one");
  equal(issuer.count("/introspect"), 3);
  // The answer of second 10 is good until the end of the token in second 15, and not until second 20.
  issuer.now += 5_000;
  await verify("one");
  equal(issuer.count("/introspect"), 4);
  equal(issuer.count("/.well-known/oauth-authorization-server"), 1);
});

test("nothing is kept where that is not wanted, nor beyond the bound", async () => {
  const off = await setUp(active, { limits: { introspectedTokenMs: 0 } });
  await off.verify("one");
  await off.verify("one");
  equal(off.issuer.count("/introspect"), 2);
  const bounded = await setUp(active, { limits: { maxIntrospectedTokens: 2 } });
  for (const token of ["one", "two", "three", "two", "three", "one"]) await bounded.verify(token);
  equal(bounded.issuer.count("/introspect"), 4);
});

test("a bounded number of tokens is asked about at a time, and the others are answered at once", async () => {
  const { issuer, verify } = await setUp(active, { limits: { maxIntrospections: 2 } });
  const answer = gate();
  issuer.routes.set(ENDPOINT, async () => {
    await answer.opened;
    return Response.json(active());
  });
  const asked = [verify("one"), verify("two"), verify("one")];
  await rejects(async () => verify("three"), { name: "AuthError", message: /limits\.maxIntrospections/ });
  answer.open();
  for (const info of await Promise.all(asked)) ok(info !== undefined);
  ok((await verify("three")) !== undefined);
});

test("requests at the same time ask once", async () => {
  const { issuer, verify } = await setUp(active, { limits: { introspectedTokenMs: 0 } });
  const asked = gate();
  const answer = gate();
  issuer.routes.set(ENDPOINT, async () => {
    asked.open();
    await answer.opened;
    return Response.json(active());
  });
  const all = [verify("one"), verify("one"), verify("one")];
  await asked.opened;
  all.push(verify("one"));
  answer.open();
  deepEqual(
    (await Promise.all(all)).map((info) => info?.subject),
    ["ada", "ada", "ada", "ada"],
  );
  equal(issuer.count("/introspect"), 1);
});

test("a failure is an AuthError without the token in it, and is not kept", async () => {
  const secret = "s3cr3t-token";
  const failures: (() => Response | Promise<Response>)[] = [
    () => new Response(secret, { status: 401 }),
    () => new Response(null, { status: 500 }),
    () => new Response(secret),
    () => Response.json([secret]),
    () => new Response(null, { status: 302, headers: { location: "https://evil.example" } }),
    () => Promise.reject(new TypeError("fetch failed")),
    () => Response.json({ active: true, padding: "x".repeat(300_000) }),
  ];
  const { issuer, verify } = await setUp(active);
  for (const failure of failures) {
    issuer.routes.set(ENDPOINT, failure);
    await rejects(
      async () => verify(secret),
      (error: unknown) => {
        ok(error instanceof AuthError);
        match(error.message, /introspect/);
        ok(!`${error.message}${error.stack}${JSON.stringify(error)}`.includes(secret));
        return true;
      },
    );
  }
  issuer.routes.set(ENDPOINT, () => Response.json(active()));
  ok(await verify(secret));
});

test("it asks over https alone, and knows where", async () => {
  throws(() => introspectionVerifier({ client }), /issuer/);
  const { issuer } = await setUp(active);
  const plain = introspectionVerifier({ ...issuer.settings, client, endpoint: "http://login.example/introspect" });
  await rejects(async () => plain("x"), AuthError);
  deepEqual(issuer.asked, []);
  issuer.metadata = { issuer: ISSUER };
  await rejects(async () => introspectionVerifier({ ...issuer.settings, client })("x"), /no introspection_endpoint/);
});

test("requestMs may be without an end", async () => {
  const { verify } = await setUp(() => active(), { limits: { requestMs: Number.POSITIVE_INFINITY } });
  equal((await verify("opaque"))?.subject, "ada");
});
