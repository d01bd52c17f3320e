import { equal, ok, rejects } from "node:assert/strict";
import type { TestContext } from "node:test";
import { AuthError, createAuthSteps, type OAuthOptions, oauth } from "bowline/auth/client";
import type { IssuerOptions } from "bowline/auth/issuer";
import { type Browser, CALLBACK, IssuerWorld, RESOURCE } from "../../support/issuer-world.js";
import { proves } from "../../support/verifies.js";

const http = { wire: "http" };
const METADATA = "https://mcp.example/.well-known/oauth-protected-resource/mcp";

/** An MCP server that takes tokens of an issuer, and a web in which both are found. */
class Guarded {
  readonly worlds: IssuerWorld[] = [];

  static async open(t: TestContext, options: Partial<IssuerOptions> = {}): Promise<Guarded> {
    const guarded = new Guarded();
    guarded.worlds.push(await IssuerWorld.open(t, options));
    return guarded;
  }

  get world(): IssuerWorld {
    return this.worlds[0] as IssuerWorld;
  }

  readonly fetch = async (url: URL | string, init: RequestInit = {}): Promise<Response> => {
    const { href, origin } = new URL(url);
    if (href === METADATA) {
      const { issuer } = this.world.issuer;
      return Response.json({ resource: RESOURCE, authorization_servers: [issuer], scopes_supported: ["notes:read"] });
    }
    const world = this.worlds.find((candidate) => candidate.origin === origin);
    if (world !== undefined) return await world.fetch(url, init);
    const token = new Headers(init.headers).get("authorization")?.replace("Bearer ", "") ?? "";
    if (href === RESOURCE && (await this.world.admits(token))) return new Response("welcome");
    return new Response(null, {
      status: 401,
      headers: { "www-authenticate": `Bearer resource_metadata="${METADATA}"` },
    });
  };

  oauth(browser: Browser, options: OAuthOptions = {}) {
    return oauth({
      fetch: this.fetch,
      redirectUrl: CALLBACK,
      warnDeprecated: false,
      now: () => Date.now() + this.world.skippedMs,
      authorize: async (url) => {
        const page = await browser.fetch(url);
        const answer = page.status === 200 ? await browser.press(page) : page;
        return answer.headers.get("location") ?? "";
      },
      ...options,
    });
  }
}

proves(
  ["hosting:auth:as:metadata:issuer-verbatim", "hosting:auth:as:refresh:audience-kept"],
  http,
  "the client of this package registers, logs in and refreshes",
  async (t) => {
    for (const issuer of ["https://as.example", "https://as.example/", "https://as.example/tenant"]) {
      const guarded = await Guarded.open(t, { issuer });
      const oauth = guarded.oauth(guarded.world.browser(), { clientName: "Bowline" });
      const call = async () => await (await oauth.fetch(RESOURCE)).text();
      equal(await call(), "welcome");
      guarded.world.skippedMs += 20 * 60_000;
      equal(await call(), "welcome");
      guarded.world.skippedMs += 20 * 60_000;
      equal(await call(), "welcome");
    }
  },
);

proves(
  "hosting:auth:as:token:basic-decoding",
  http,
  "what the client of this package encodes is decoded",
  async (t) => {
    for (const [id, secret] of [
      ["a:b", "c:d"],
      ["100%", "%41"],
      ["a+b", "c d+e"],
      ["ü", "größe 🚀"],
    ] as const) {
      const guarded = await Guarded.open(t, {
        clients: [{ clientId: id, clientSecret: secret, redirectUris: [CALLBACK] }],
      });
      const { issuer } = guarded.world.issuer;
      const oauth = guarded.oauth(guarded.world.browser(), { client: { id, secret, issuer }, issuer });
      equal(await (await oauth.fetch(RESOURCE)).text(), "welcome", id);
    }
  },
);

proves("hosting:auth:as:cimd:fetch", http, "the client of this package needs no registration", async (t) => {
  const id = "https://tool.example/client.json";
  const document = { client_id: id, client_name: "Tool", redirect_uris: [CALLBACK] };
  const guarded = await Guarded.open(t, {
    registration: false,
    clientDocuments: { fetch: async () => Response.json(document) },
  });
  const oauth = guarded.oauth(guarded.world.browser(), { clientMetadataUrl: id });
  equal(await (await oauth.fetch(RESOURCE)).text(), "welcome");
});

proves(
  ["hosting:auth:as:verifier-mismatch", "hosting:auth:as:code-client-binding"],
  http,
  "a code that an attacker puts into the answer of a victim is worth nothing",
  async (t) => {
    const guarded = await Guarded.open(t);
    const steps = createAuthSteps(RESOURCE, { fetch: guarded.fetch, redirectUrl: CALLBACK, warnDeprecated: false });
    const guard = await steps.discover(await guarded.fetch(RESOURCE));
    const identity = await steps.identify(guard);
    const { attempt, url } = await steps.start(guard, identity);
    const [victim, attacker] = [guarded.world.browser(), guarded.world.browser()];
    const honest = new URL((await victim.press(await victim.fetch(url))).headers.get("location") ?? "");
    // The same client, another login: only the verifier tells them apart.
    const stolen = await guarded.world.code({ client_id: identity.clientId }, attacker);
    const injected = new URL(honest);
    injected.searchParams.set("code", stolen.code);
    await rejects(steps.exchange(attempt, injected), /invalid_grant/);
    const tokens = await steps.exchange(attempt, honest);
    ok(await guarded.world.admits(tokens.accessToken));
  },
);

proves("hosting:auth:as-iss-emission", http, "an answer of another issuer is told apart by its name", async (t) => {
  const guarded = await Guarded.open(t);
  const evil = await IssuerWorld.open(t, { issuer: "https://evil.example" });
  guarded.worlds.push(evil);
  const { id } = await evil.register();
  const oauth = guarded.oauth(guarded.world.browser(), {
    authorize: async (url) => {
      const other = new URL(url.href.replace("as.example", "evil.example"));
      other.searchParams.set("client_id", id);
      const browser = evil.browser();
      return (await browser.press(await browser.fetch(other))).headers.get("location") ?? "";
    },
  });
  await rejects(oauth.fetch(RESOURCE), (error) => error instanceof AuthError && error.step === "issuer");
});
