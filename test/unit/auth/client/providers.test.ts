import { deepEqual, equal, notEqual, ok, rejects } from "node:assert/strict";
import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { AuthError, clientCredentials, memoryStore } from "bowline/auth/client";
import { guardedFetch } from "bowline/node";
import { CALLBACK, failsAt } from "../../../support/auth-world.js";
import { browse, type Kind, ProviderWorld } from "../../../support/provider-world.js";

/** A signed token for the resource that was asked for. */
const signed = (resource: string) => ({
  scope: "tools",
  audience: resource,
  accessTokenFormat: "jwt",
  jwt: { sign: { alg: "RS256" } },
});
const known = {
  client_id: "known",
  client_secret: "a-secret-of-some-length-0123456789",
  redirect_uris: [CALLBACK],
  grant_types: ["authorization_code", "refresh_token"],
};
const client = { id: known.client_id, secret: known.client_secret };

/** OpenID metadata below the path of a realm, open registration, tokens for the resource that is asked for. */
const keycloakKind: Kind = {
  path: "/realms/demo",
  configure: () => ({
    features: {
      registration: { enabled: true },
      revocation: { enabled: true },
      resourceIndicators: {
        enabled: true,
        getResourceServerInfo: (_: unknown, resource: string) => signed(resource),
        useGrantedResource: () => true,
      },
    },
    scopes: ["openid", "offline_access", "tools"],
  }),
};

test("Keycloak kind: it registers itself, logs in, refreshes and logs out", async (t) => {
  const world = await ProviderWorld.open(t, keycloakKind);
  const store = memoryStore();
  const auth = world.oauth({ store });
  equal(await world.visit(auth), "echo");
  // Metadata is only at the last of the three places.
  deepEqual(
    world.asked.slice(0, 3).map(({ path }) => path),
    [
      "/.well-known/oauth-authorization-server/realms/demo",
      "/.well-known/openid-configuration/realms/demo",
      "/.well-known/openid-configuration",
    ],
  );
  equal(world.count("POST", "/reg"), 1);
  const logins = world.asked.filter(({ path, query }) => path === "/auth" && query.has("resource"));
  equal(logins.length, 1);
  equal(logins[0]?.query.get("resource"), world.mcp);
  equal(logins[0]?.query.get("scope"), "tools offline_access");
  world.asked.length = 0;
  equal(await world.visit(world.oauth({ store })), "echo");
  deepEqual(world.asked, []);
  world.expireAll();
  equal(await world.visit(auth), "echo");
  equal(world.count("GET", "/auth"), 0);
  equal(world.count("POST", "/token"), 1);
  await auth.logout(world.mcp);
  equal(world.count("POST", "/token/revocation"), 1);
});

test("Keycloak kind: a fetch that looks at where it connects to carries it all", async (t) => {
  const world = await ProviderWorld.open(t, keycloakKind);
  equal(await world.visit(world.oauth({ fetch: guardedFetch({ allowLoopback: true }) })), "echo");
  await rejects(world.visit(world.oauth({ fetch: guardedFetch() })), /private address/);
});

/** `audience` says what the token is for, `resource` nothing; without it tokens are opaque. */
const auth0Kind: Kind = {
  path: "",
  configure: (resource) => ({
    clients: [{ ...known, grant_types: [...known.grant_types, "client_credentials"] }],
    features: {
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => undefined,
        getResourceServerInfo: () => signed(resource),
        useGrantedResource: () => true,
      },
    },
    scopes: ["openid", "offline_access", "tools"],
  }),
  async front(request: IncomingMessage & { body?: unknown }, _response, next) {
    const rename = (params: URLSearchParams) => {
      params.delete("resource");
      const audience = params.get("audience");
      params.delete("audience");
      if (audience !== null) params.set("resource", audience);
      return params;
    };
    const url = new URL(request.url ?? "", "http://provider");
    request.url = `${url.pathname}?${rename(url.searchParams)}`;
    if (request.method === "POST" && url.pathname === "/token") {
      request.body = Object.fromEntries(rename(new URLSearchParams(await text(request))));
    }
    next();
  },
};

test("Auth0 kind: it wants an audience beside the resource, of users and of machines", async (t) => {
  const world = await ProviderWorld.open(t, auth0Kind);
  const parameters = { audience: world.mcp };
  equal(await world.visit(world.oauth({ client, parameters })), "echo");
  const machine = { grant: clientCredentials(), client, parameters, scope: "tools" };
  equal(await world.visit(world.oauth(machine)), "echo");
});

test("Auth0 kind: without one the MCP server refuses the token, and the error says whose it is", async (t) => {
  const world = await ProviderWorld.open(t, auth0Kind);
  await rejects(world.visit(world.oauth({ client })), (error) => {
    ok(failsAt("unauthorized")(error) && error instanceof AuthError);
    ok(error.message.includes(world.issuer) && error.message.includes("not a token for this server"), error.message);
    deepEqual([error.status, error.error], [401, "invalid_token"]);
    return true;
  });
  equal(world.seen.size, 1);
});

test("Auth0 kind: a client that it does not know cannot register", async (t) => {
  const world = await ProviderWorld.open(t, auth0Kind);
  await rejects(world.visit(world.oauth()), failsAt("registration", /option client/));
});

/** Says nothing about itself, answers as a form unless JSON is asked for, knows commas between scopes, no refresh tokens. */
function githubKind(publishes: "nothing" | "no PKCE"): Kind {
  return {
    path: "/login/oauth",
    opaque: true,
    configure: () => ({
      clients: [known],
      features: { resourceIndicators: { enabled: false } },
      pkce: { required: () => false },
      issueRefreshToken: () => false,
      scopes: ["tools", "user"],
    }),
    front(request, response, next) {
      const path = request.url?.split("?", 1)[0];
      if (path?.startsWith("/.well-known/")) {
        if (publishes === "nothing") return void response.writeHead(404).end();
        rewrite(response, ({ issuer, authorization_endpoint, token_endpoint }) =>
          JSON.stringify({ issuer, authorization_endpoint, token_endpoint }),
        );
      }
      if (path === "/token") {
        const json = request.headers.accept?.includes("application/json") === true;
        rewrite(response, ({ access_token, scope }) => {
          const answer = { access_token, token_type: "bearer", scope: String(scope).replaceAll(" ", ",") };
          return json ? JSON.stringify(answer) : String(new URLSearchParams(answer as Record<string, string>));
        });
      }
      withoutIss(response);
      next();
    },
  };
}

/** Changes the body of a JSON answer. */
function rewrite(response: ServerResponse, change: (json: Record<string, unknown>) => string): void {
  const end = response.end.bind(response) as (chunk: string) => ServerResponse;
  response.end = ((chunk: Buffer | string) => {
    const json = JSON.parse(String(chunk)) as Record<string, unknown>;
    const body = response.statusCode === 200 ? change(json) : String(chunk);
    response.setHeader("content-length", Buffer.byteLength(body));
    if (!body.startsWith("{")) response.setHeader("content-type", "application/x-www-form-urlencoded");
    return end(body);
  }) as typeof response.end;
}

/** Answers to the browser do not say who they come from. */
function withoutIss(response: ServerResponse): void {
  const set = response.setHeader.bind(response);
  response.setHeader = (name, value) => {
    if (name.toLowerCase() !== "location" || !String(value).startsWith(CALLBACK)) return set(name, value);
    const url = new URL(String(value));
    url.searchParams.delete("iss");
    return set(name, url.href);
  };
}

const described = (world: ProviderWorld) => ({
  issuer: world.issuer,
  authorization_endpoint: `${world.issuer}/auth`,
  token_endpoint: `${world.issuer}/token`,
  code_challenge_methods_supported: ["S256"],
});

test("GitHub kind: without metadata the error says where it was looked for and what to do", async (t) => {
  const world = await ProviderWorld.open(t, githubKind("nothing"));
  await rejects(world.visit(world.oauth({ client })), (error) => {
    ok(failsAt("server_metadata", /option serverMetadata/)(error) && error instanceof AuthError);
    equal(error.tried.filter((url) => url.startsWith(new URL(world.issuer).origin)).length, 3);
    return true;
  });
});

test("GitHub kind: metadata that does not mention PKCE is not enough", async (t) => {
  const world = await ProviderWorld.open(t, githubKind("no PKCE"));
  await rejects(world.visit(world.oauth({ client })), failsAt("authorize", /S256.*option serverMetadata/));
  await rejects(world.visit(world.oauth()), failsAt("registration", /option client/));
  equal(world.count("GET", "/auth"), 0);
});

test("GitHub kind: what is said for it is used, and each token that ends takes a login", async (t) => {
  const world = await ProviderWorld.open(t, githubKind("no PKCE"));
  const store = memoryStore();
  let logins = 0;
  const authorize = (url: URL) => {
    logins++;
    equal(url.searchParams.get("code_challenge_method"), "S256");
    return browse(url);
  };
  const options = { client, store, serverMetadata: described(world), scope: "tools", authorize };
  const auth = world.oauth(options);
  equal(await world.visit(auth), "echo");
  equal(world.count("GET", "/.well-known/openid-configuration"), 0);
  const stored = store.get(`tokens ${world.mcp} ${world.issuer}`) as { scope: string; refreshToken?: string };
  equal(stored.refreshToken, undefined);
  equal(await world.visit(auth), "echo");
  equal(logins, 1);
  world.expireAll();
  equal(await world.visit(auth), "echo");
  equal(logins, 2);
  notEqual(world.seen.size, 1);
});

test("GitHub kind: commas between scopes are understood, an answer that is no JSON is named", async (t) => {
  const world = await ProviderWorld.open(t, githubKind("nothing"));
  const store = memoryStore();
  const serverMetadata = described(world);
  const validateResource = () => undefined;
  const twoScopes = (url: URL) => {
    url.searchParams.set("scope", "tools user");
    return browse(url);
  };
  await world.visit(world.oauth({ client, store, serverMetadata, validateResource, authorize: twoScopes }));
  const stored = store.get(`tokens ${world.mcp} ${world.issuer}`) as { scope: string };
  equal(stored.scope, "tools user");
  const fetchAs = (url: URL | string, init: RequestInit = {}) => {
    const headers = new Headers(init.headers);
    if (String(url).endsWith("/token")) headers.set("accept", "*/*");
    return fetch(url, { ...init, headers });
  };
  await rejects(
    world.visit(world.oauth({ client, serverMetadata, fetch: fetchAs })),
    failsAt("token", /not a JSON object \(content type: application\/x-www-form-urlencoded\)/),
  );
});
