import { deepEqual, doesNotMatch, equal, match, ok } from "node:assert/strict";
import type { TestContext } from "node:test";
import { type IssuerOptions, type IssuerStore, memoryIssuerStore, type UpstreamOptions } from "bowline/auth/issuer";
import { answerOf, type Browser, createPkce, IssuerWorld } from "../../support/issuer-world.js";
import { proves } from "../../support/verifies.js";

const http = { wire: "http" };

/** An identity provider that knows one client, and everything that was sent to it. */
class Provider {
  readonly asked: { readonly headers: Headers; readonly body: string }[] = [];
  answer: () => Response = () =>
    Response.json({
      access_token: "upstream-access",
      refresh_token: "upstream-refresh",
      id_token: "id",
      expires_in: 3600,
    });

  readonly options: UpstreamOptions = {
    authorizationEndpoint: "https://idp.example/authorize?tenant=1",
    tokenEndpoint: "https://idp.example/token",
    clientId: "the-issuer",
    clientSecret: "shh",
    scope: "openid email",
    issuer: "https://idp.example",
    user: ({ idToken }) => ({ id: `user-of-${idToken}` }),
    fetch: async (_url, { headers, body }) => {
      this.asked.push({ headers: new Headers(headers), body: String(body) });
      return this.answer();
    },
  };

  async world(t: TestContext, options: Partial<IssuerOptions> = {}): Promise<IssuerWorld> {
    return await IssuerWorld.open(t, { upstream: this.options, ...options });
  }
}

/** A user approves and is sent on; returns what the provider is given. */
async function begin(browser: Browser, fields = {}): Promise<URLSearchParams> {
  const response = await browser.approve(fields);
  const location = new URL(response.headers.get("location") ?? "");
  equal(location.origin + location.pathname, "https://idp.example/authorize");
  return location.searchParams;
}

/** The cookies of logins that are under way in a browser. */
const logins = ({ cookies }: Browser) =>
  [...cookies].flatMap(([name, value]) => (name.startsWith("__Host-login-") && value !== "" ? [name] : []));

const back = (browser: Browser, params: Record<string, string>) =>
  browser.fetch(`callback?${new URLSearchParams(params)}`);

proves(
  ["hosting:auth:as:upstream:state", "hosting:auth:as:consent:required", "hosting:auth:as-iss-emission"],
  http,
  "the browser goes upstream after the consent, with a state of its own, and comes back once",
  async (t) => {
    const provider = new Provider();
    const world = await provider.world(t, { limits: { upstreamMs: Number.POSITIVE_INFINITY } });
    const { id } = await world.register();
    const browser = world.browser();
    const page = await browser.authorize({ client_id: id });
    equal(page.status, 200);
    equal(page.headers.get("location"), null);
    const away = new URL((await browser.press(page)).headers.get("location") ?? "").searchParams;
    equal(away.get("client_id"), "the-issuer");
    equal(away.get("redirect_uri"), "https://as.example/callback");
    equal(away.get("scope"), "openid email");
    equal(away.get("tenant"), "1");
    equal(away.get("code_challenge_method"), "S256");
    match(away.get("state") ?? "", /^[\w-]{43}$/);
    equal(away.has("iss"), false);
    const state = away.get("state") ?? "";
    const answer = answerOf(await back(browser, { state, code: "c", iss: "https://idp.example" }));
    ok(answer.has("code"));
    equal(answer.get("state"), "xyz");
    equal(answer.get("iss"), "https://as.example");
    // Another client of the same browser is asked about anew, though the provider would not ask again.
    const { id: second } = await world.register({ client_name: "Deputy" });
    equal((await browser.authorize({ client_id: second })).status, 200);
  },
);

proves(
  "hosting:auth:as:upstream:state",
  http,
  "a login that nobody began, or somebody else did, leads nowhere",
  async (t) => {
    const provider = new Provider();
    const world = await provider.world(t);
    const [ada, eve] = [world.browser(), world.browser()];
    const state = (await begin(ada)).get("state") ?? "";
    await begin(eve);
    const bad = {
      "no state": await back(ada, { code: "c" }),
      "made up": await back(ada, { code: "c", state: "x".repeat(43) }),
      "another browser": await back(eve, { code: "c", state }),
      "no cookies": await back(world.browser(), { code: "c", state }),
      "twice the state": await ada.fetch(`callback?code=c&state=${state}&state=${state}`),
    };
    for (const [name, response] of Object.entries(bad)) {
      ok(response.status >= 400 && response.status < 500, name);
      equal(response.headers.get("location"), null, name);
    }
    equal(provider.asked.length, 0);
    ok(answerOf(await back(ada, { code: "c", state })).has("code"));
    const again = await back(ada, { code: "c", state });
    equal(again.status, 400);
    equal(again.headers.get("location"), null);
    const late = (await begin(ada)).get("state") ?? "";
    world.skippedMs = 601_000;
    equal((await back(ada, { code: "c", state: late })).status, 400);
    equal(provider.asked.length, 1);
  },
);

proves("hosting:auth:as:upstream:state", http, "no state is kept before the user has approved", async (t) => {
  const kept: string[] = [];
  const memory = memoryIssuerStore();
  const store: IssuerStore = {
    ...memory,
    put: async (key, value, expiresAt) => {
      kept.push(key.split(":", 1)[0] ?? "");
      await memory.put(key, value, expiresAt);
    },
  };
  const world = await new Provider().world(t, { store });
  const browser = world.browser();
  const page = await browser.authorize();
  deepEqual(logins(browser), []);
  await browser.press(page);
  equal(logins(browser).length, 1);
  deepEqual(kept, [], "the browser keeps it, sealed, and nobody else");
});

proves(
  "hosting:auth:as:upstream:no-passthrough",
  http,
  "tokens of the provider stay here, and those of here do not go there",
  async (t) => {
    const provider = new Provider();
    const values: string[] = [];
    const memory = memoryIssuerStore();
    const put: IssuerStore["put"] = async (key, value, expiresAt) => {
      values.push(JSON.stringify(value));
      await memory.put(key, value, expiresAt);
    };
    const world = await provider.world(t, { store: { ...memory, put } });
    const browser = world.browser();
    const pkce = createPkce();
    const state = (await begin(browser, { code_challenge: pkce.challenge })).get("state") ?? "";
    const answer = answerOf(await back(browser, { state, code: "c" }));
    const { json } = await world.redeem({ code: answer.get("code") ?? "", verifier: pkce.verifier });
    const token = String(json.access_token);
    doesNotMatch(JSON.stringify(json), /upstream-access|upstream-refresh/);
    for (const value of values) doesNotMatch(value, /upstream-access|upstream-refresh/);
    const verified = await world.issuer.verify(token);
    equal(verified?.subject, "user-of-id");
    doesNotMatch(atob((token.split(".")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/")), /upstream-refresh/);
    const grantId = verified?.grantId ?? "";
    equal((await world.issuer.upstreamTokens(grantId))?.accessToken, "upstream-access");

    // Renewed where they are about to end, once for all who wait.
    world.skippedMs = 3_590_000;
    provider.answer = () => Response.json({ access_token: "second", expires_in: 3600 });
    const both = await Promise.all([world.issuer.upstreamTokens(grantId), world.issuer.upstreamTokens(grantId)]);
    deepEqual(
      both.map((tokens) => tokens?.accessToken),
      ["second", "second"],
    );
    deepEqual(
      provider.asked.map(({ body }) => new URLSearchParams(body).get("grant_type")),
      ["authorization_code", "refresh_token"],
    );
    for (const { headers, body } of provider.asked) {
      equal(headers.get("authorization"), `Basic ${btoa("the-issuer:shh")}`);
      equal(body.includes(token), false);
    }
    await world.issuer.revokeGrant(grantId);
    equal(await world.issuer.upstreamTokens(grantId), undefined);
    equal(await memory.get(`upstream-tokens:${grantId}`), undefined);
  },
);

proves(
  "hosting:auth:as:upstream:state",
  http,
  "a login that fails is told to the client, and nothing of it",
  async (t) => {
    const provider = new Provider();
    const world = await provider.world(t);
    const browser = world.browser();
    const fail = async (params: Record<string, string>) => {
      const state = (await begin(browser)).get("state") ?? "";
      const answer = answerOf(await back(browser, { state, ...params }));
      equal(answer.has("code"), false);
      equal(answer.get("state"), "xyz");
      return answer;
    };
    equal((await fail({ error: "access_denied", error_description: "secret" })).get("error"), "access_denied");
    equal((await fail({ code: "c", iss: "https://evil.example" })).get("error"), "access_denied");
    equal((await fail({})).get("error"), "access_denied");
    equal(provider.asked.length, 0);
    provider.answer = () => Response.json({ error: "invalid_client", hint: "secret" }, { status: 401 });
    const failed = await fail({ code: "c" });
    equal(failed.get("error"), "server_error");
    doesNotMatch(failed.toString(), /secret/);
    provider.answer = () => new Response("<html>secret</html>");
    equal((await fail({ code: "c" })).get("error"), "server_error");
    provider.answer = () => Response.json({ access_token: "" });
    equal((await fail({ code: "c" })).get("error"), "server_error");
    for (const error of world.errors) doesNotMatch(String(error), /secret|shh/);
  },
);
