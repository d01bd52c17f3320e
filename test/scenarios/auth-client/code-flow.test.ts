import { deepEqual, equal, match, notEqual, ok, rejects } from "node:assert/strict";
import { createHash } from "node:crypto";
import { AuthError, createAuthSteps, memoryStore, oauth } from "bowline/auth/client";
import { CALLBACK, eachEra, everyTransport, failsAt } from "../../support/auth-world.js";
import { verifies } from "../../support/verifies.js";

verifies(
  ["client-auth:401-triggers-flow", "client-auth:no-tokens:no-auth-header", "client-auth:middleware:with-oauth"],
  everyTransport,
  async (world) => {
    const client = await world.connect(world.oauth());
    equal((await client.callTool("echo", {})).content[0]?.type, "text");
    equal(world.count("GET https://as.example/.well-known"), 1);
    equal(world.count("GET https://as.example/authorize"), 1);
    equal(world.count("POST https://as.example/token"), 1);
    const [first, second] = world.to(world.entrance);
    equal(first?.headers.has("authorization"), false);
    match(second?.headers.get("authorization") ?? "", /^Bearer token-/);
    equal(second?.body, first?.body);
  },
);

verifies("client-auth:middleware:with-oauth", "a gated URL that is fetched directly", eachEra, async (world) => {
  const auth = world.oauth();
  const response = await auth.fetch(world.mcp, world.opening());
  equal(response.status, 200);
  ok((await response.text()).includes("guarded"));
  deepEqual(
    world.to(world.posts).map(({ headers }) => headers.has("authorization")),
    [false, true],
  );
  const away = world.oauth({ authorize: () => undefined });
  await rejects(away.fetch(world.mcp, world.opening()), failsAt("redirected"));
  world.accepts = () => false;
  world.arrivals.length = 0;
  await rejects(world.oauth().fetch(world.mcp, world.opening()), failsAt("unauthorized"));
  equal(world.count(world.posts), 2);
});

verifies("client-auth:401-after-auth-throws", everyTransport, async (world) => {
  world.accepts = () => false;
  const auth = world.oauth();
  const refused = (error: unknown) =>
    error instanceof AuthError && error.step === "unauthorized" && error.status === 401;
  await rejects(world.connect(auth), refused);
  equal(world.count("GET https://as.example/authorize"), 1);
  await rejects(world.connect(auth), refused);
  equal(world.count("GET https://as.example/authorize"), 2);
});

verifies("client-auth:401-single-flight", everyTransport, async (world) => {
  const client = await world.connect(world.oauth());
  world.as.live.clear();
  world.arrivals.length = 0;
  const calls = Array.from({ length: 10 }, () => client.callTool("echo", {}));
  equal((await Promise.all(calls)).length, 10);
  equal(world.count("GET https://as.example/authorize"), 1);
  equal(world.count("POST https://as.example/token"), 1);
  world.as.live.clear();
  world.routes.set("POST https://as.example/token", () => ({ status: 400, json: { error: "invalid_request" } }));
  const failures = await Promise.allSettled(Array.from({ length: 10 }, () => client.callTool("echo", {})));
  const reasons = new Set(failures.map((failure) => (failure.status === "rejected" ? failure.reason : "resolved")));
  equal(reasons.size, 1);
  ok([...reasons][0] instanceof AuthError);
});

verifies(
  "client-auth:401-single-flight",
  "ten clients that come together for the first time",
  everyTransport,
  async (world) => {
    const auth = world.oauth();
    const clients = await Promise.all(Array.from({ length: 10 }, () => world.connect(auth)));
    const results = await Promise.all(clients.map((client) => client.callTool("echo", {})));
    deepEqual(
      results.map(({ text }) => text),
      clients.map(() => "echo"),
    );
    equal(world.count("POST https://as.example/register"), 1);
    equal(world.count("GET https://as.example/authorize"), 1);
    equal(world.count("POST https://as.example/token"), 1);
  },
);

verifies("client-auth:retry-replays-message", eachEra, async (world) => {
  const client = await world.connect(world.oauth());
  world.as.live.clear();
  world.arrivals.length = 0;
  await client.callTool("echo", {});
  const [first, second] = world.to("POST https://mcp.example/mcp");
  equal(first?.body, second?.body);
  const bare = (headers: Headers | undefined) => {
    const entries = [...(headers ?? [])].filter(([name]) => !["authorization", "connection"].includes(name));
    return Object.fromEntries(entries);
  };
  deepEqual(bare(first?.headers), bare(second?.headers));
  notEqual(first?.headers.get("authorization"), second?.headers.get("authorization"));
  ok(first?.headers.has(world.era === "modern" ? "mcp-name" : "mcp-session-id"));
});

verifies(["client-auth:bearer-header:every-request", "client-auth:token-not-leaked"], everyTransport, async (world) => {
  const client = await world.connect(world.oauth());
  await client.callTool("echo", {});
  await client.close();
  const served = world.arrivals.slice(world.arrivals.findIndex(({ headers }) => headers.has("authorization")));
  for (const { method, url, headers } of served) {
    const own = url.origin === "https://mcp.example";
    equal(/^Bearer token-/.test(headers.get("authorization") ?? ""), own, `${method} ${url.href}`);
    equal(url.searchParams.has("access_token"), false);
  }
  const own = served.filter(({ url }) => url.origin === "https://mcp.example");
  const methods = { modern: ["POST"], legacy: ["DELETE", "GET", "POST"], sse: ["GET", "POST"] }[world.wire];
  deepEqual([...new Set(own.map(({ method }) => method))].sort(), methods);
  for (const { url, headers, body } of world.arrivals.filter(({ url }) => url.origin !== "https://mcp.example")) {
    equal(headers.has("mcp-session-id"), false, url.href);
    equal(/token-as/.test(`${url.href} ${body}`), false, url.href);
  }
});

verifies("client-auth:token-not-leaked", "a redirect to another origin", everyTransport, async (world) => {
  const auth = world.oauth();
  const away = () => ({ status: 307, headers: { location: "https://evil.example/" } });
  const client = await world.connect(auth);
  world.routes.set(world.posts, away);
  await rejects(client.callTool("echo", {}), { name: "ConnectionError", delivery: "sent" });
  world.routes.set(world.entrance, away);
  await rejects(world.connect(auth), { name: "ConnectionError", status: world.wire === "sse" ? 405 : 307 });
  deepEqual(
    world.arrivals.filter(({ url }) => url.origin === "https://evil.example"),
    [],
  );
});

verifies("client-auth:plain-403-no-flow", everyTransport, async (world) => {
  const client = await world.connect(world.oauth());
  for (const challenge of [undefined, 'Bearer error="access_denied"', 'Basic realm="insufficient_scope"']) {
    world.arrivals.length = 0;
    const headers = challenge === undefined ? {} : { "www-authenticate": challenge };
    world.routes.set(world.posts, () => ({ status: 403, headers }));
    await rejects(client.callTool("echo", {}), { name: "ConnectionError", status: 403 });
    deepEqual(
      world.arrivals.map(({ method, url }) => `${method} ${url.origin}${url.pathname}`),
      [world.posts],
    );
  }
});

verifies(
  ["client-auth:pkce:s256", "client-auth:pkce:fresh-verifier", "client-auth:token-request:shape"],
  everyTransport,
  async (world) => {
    const auth = world.oauth();
    const challenges = new Set<string>();
    for (let round = 0; round < 2; round++) {
      world.as.live.clear();
      world.arrivals.length = 0;
      await world.visit(auth);
      const asked = world.to("GET https://as.example/authorize")[0]?.url.searchParams;
      const [token] = world.to("POST https://as.example/token");
      equal(asked?.get("code_challenge_method"), "S256");
      const verifier = token?.form.get("code_verifier") ?? "";
      match(verifier, /^[\w.~-]{43,128}$/);
      equal(createHash("sha256").update(verifier).digest("base64url"), asked?.get("code_challenge"));
      challenges.add(asked?.get("code_challenge") ?? "");
      match(token?.headers.get("content-type") ?? "", /^application\/x-www-form-urlencoded/);
      equal(token?.headers.get("accept"), "application/json");
      equal(token?.url.search, "");
      for (const name of ["grant_type", "code", "redirect_uri", "client_id", "code_verifier"]) {
        equal(token?.form.getAll(name).length, 1, name);
      }
    }
    equal(challenges.size, 2);
  },
);

verifies("client-auth:pkce:refuse-if-unsupported", everyTransport, async (world) => {
  for (const methods of [undefined, [], ["plain"], "S256"]) {
    world.as.metadata = { ...world.as.metadata, code_challenge_methods_supported: methods };
    await rejects(world.visit(world.oauth()), (error) => error instanceof AuthError && error.step === "authorize");
    equal(world.count("GET https://as.example/authorize"), 0);
  }
  world.as.metadata = { ...world.as.metadata, code_challenge_methods_supported: ["S256", "plain"] };
  await world.visit(world.oauth());
});

verifies("client-auth:authorize:response-type-unsupported", everyTransport, async (world) => {
  world.as.metadata = { ...world.as.metadata, response_types_supported: ["token"] };
  const auth = world.oauth({
    authorize: () => {
      throw new Error("asked");
    },
  });
  await rejects(world.visit(auth), (error) => error instanceof AuthError && error.step === "authorize");
});

verifies("client-auth:authorize:endpoint-query-preserved", everyTransport, async (world) => {
  const { metadata } = world.as;
  world.as.metadata = {
    ...metadata,
    authorization_endpoint: "https://as.example/authorize?tenant=t1",
    token_endpoint: "https://as.example/token?tenant=t1",
  };
  await world.visit(world.oauth());
  const [asked] = world.to("GET https://as.example/authorize");
  equal(asked?.url.searchParams.get("tenant"), "t1");
  equal(asked?.url.href.split("?").length, 2);
  equal(world.to("POST https://as.example/token")[0]?.url.search, "?tenant=t1");
});

verifies("client-auth:redirect-uri:consistent", everyTransport, async (world) => {
  await world.visit(world.oauth());
  const registered = JSON.parse(world.to("POST https://as.example/register")[0]?.body ?? "{}");
  deepEqual(registered.redirect_uris, [CALLBACK]);
  equal(world.to("GET https://as.example/authorize")[0]?.url.searchParams.get("redirect_uri"), CALLBACK);
  equal(world.to("POST https://as.example/token")[0]?.form.get("redirect_uri"), CALLBACK);
  const auth = world.oauth({ client: { id: "known", redirectUris: ["http://127.0.0.1:9/other"] } });
  const asked = world.count("GET https://as.example/authorize");
  await rejects(world.visit(auth), (error) => error instanceof AuthError && error.step === "configuration");
  equal(world.count("GET https://as.example/authorize"), asked);
});

verifies(
  ["client-auth:redirect-then-finish", "client-auth:state:unguessable-single-use"],
  everyTransport,
  async (world) => {
    const store = memoryStore();
    const sent: URL[] = [];
    const options = { store, authorize: (url: URL) => void sent.push(url) };
    await rejects(
      world.connect(world.oauth(options)),
      (error) => error instanceof AuthError && error.step === "redirected",
    );
    const callback = await world.browse(sent[0] as URL);
    const elsewhere = world.oauth(options);
    await elsewhere.finish(callback);
    const client = await world.connect(world.oauth(options));
    equal((await client.callTool("echo", {})).isError, false);
    equal(sent.length, 1);
    for (let attempt = 0; attempt < 2; attempt++) {
      await rejects(world.connect(world.oauth({ ...options, store: memoryStore() })), failsAt("redirected"));
    }
    const states = sent.map(({ searchParams }) => searchParams.get("state") ?? "");
    equal(new Set(states).size, 3);
    for (const state of states) ok(state.length >= 22);
    const tokens = world.count("POST https://as.example/token");
    await rejects(elsewhere.finish(callback), (error) => error instanceof AuthError && error.step === "callback");
    equal(world.count("POST https://as.example/token"), tokens);
  },
);

verifies("client-auth:custom-fetch", everyTransport, async (world, t) => {
  const { fetch: real } = globalThis;
  const inner = world.fetch;
  let through = 0;
  // The world itself sends by the global fetch, so that one is only let through from inside.
  globalThis.fetch = (...args) =>
    through > 0 ? real(...args) : Promise.reject(new Error("the global fetch was used"));
  t.after(() => {
    globalThis.fetch = real;
  });
  const carried = async (url: URL | string, init: RequestInit = {}) => {
    through++;
    try {
      return await inner(url, init);
    } finally {
      through--;
    }
  };
  const auth = oauth({
    fetch: carried,
    redirectUrl: CALLBACK,
    authorize: async (url) => (await carried(url, { redirect: "manual" })).headers.get("location") ?? "",
  });
  const client = await world.connect(auth);
  equal((await client.callTool("echo", {})).isError, false);
  let sent = CALLBACK;
  const store = memoryStore();
  const later = oauth({
    fetch: carried,
    store,
    redirectUrl: CALLBACK,
    authorize: (url) => {
      sent = url.href;
    },
  });
  await rejects(world.connect(later), failsAt("redirected"));
  await later.finish((await carried(sent, { redirect: "manual" })).headers.get("location") ?? "");
  equal((await (await world.connect(later)).callTool("echo", {})).isError, false);
});

verifies("client-auth:negotiation:auth-before-era", eachEra, async (world) => {
  const client = await world.connect({ ...world.oauth(), era: "auto" });
  const methods = world.to("POST https://mcp.example/mcp").map(({ body }) => JSON.parse(body).method);
  deepEqual(methods.slice(0, 2), ["server/discover", "server/discover"]);
  equal(methods.filter((method) => method === "initialize").length, world.era === "legacy" ? 1 : 0);
  equal((await client.callTool("echo", {})).isError, false);
});

verifies("client-auth:low-level:discover-and-exchange", eachEra, async (world) => {
  world.as.refreshes = true;
  const steps = createAuthSteps(world.mcp, {
    fetch: world.fetch,
    redirectUrl: CALLBACK,
    deadlineMs: Number.POSITIVE_INFINITY,
  });
  const refusal = await world.fetch(world.mcp, world.opening());
  const guard = await steps.discover(refusal);
  const identity = await steps.identify(guard);
  const { attempt, url } = await steps.start(guard, identity, "a");
  const callback = new URL(await world.browse(url));
  const wrong = new URL(callback);
  wrong.searchParams.set("iss", "https://evil.example");
  await rejects(steps.exchange(attempt, wrong), failsAt("issuer"));
  const tokens = await steps.exchange(attempt, callback);
  equal(tokens.scope, "a");
  const renewed = await steps.refresh(guard, identity, tokens);
  notEqual(renewed.accessToken, tokens.accessToken);
  await steps.revoke(guard, renewed);
  equal(world.to("POST https://as.example/revoke")[0]?.form.get("token"), renewed.refreshToken);
  world.as.metadata = { ...world.as.metadata, code_challenge_methods_supported: ["plain"] };
  await rejects(steps.start(await steps.discover(refusal), identity), failsAt("authorize"));
  world.as.metadata = { ...world.as.metadata, token_endpoint: "http://as.example/token" };
  await rejects(steps.refresh(await steps.discover(refusal), identity, renewed), failsAt("configuration"));
  world.as.metadata = { ...world.as.metadata, issuer: "https://evil.example" };
  await rejects(steps.discover(refusal), failsAt("issuer"));
});
