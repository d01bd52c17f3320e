import { deepEqual, equal, notEqual, ok, rejects } from "node:assert/strict";
import { inspect } from "node:util";
import { AuthError, clientCredentials, memoryStore } from "bowline/auth/client";
import { type AuthWorld, answerTo, CALLBACK, eachEra, failsAt, MockIssuer } from "../../support/auth-world.js";
import { verifies } from "../../support/verifies.js";

/** A user whose browser comes back with something else than the authorization server sent. */
function tampering(world: AuthWorld, change: (back: URL) => void) {
  return async (url: URL) => {
    const back = new URL(await world.browse(url));
    change(back);
    return back;
  };
}

const tokenRequests = (world: AuthWorld) => world.arrivals.filter(({ url }) => url.pathname === "/token").length;

verifies(["client-auth:iss:mismatch-reject", "client-auth:iss:no-normalize"], "mix-up", eachEra, async (world) => {
  world.as.metadata = { ...world.as.metadata };
  for (const iss of [
    "https://evil.example",
    "https://as.example/",
    "https://AS.example",
    "https://as.example:443",
    "https://as%2Eexample",
  ]) {
    const authorize = tampering(world, (back) => back.searchParams.set("iss", iss));
    await rejects(
      world.call(world.oauth({ authorize })),
      failsAt("issuer", /has the iss "https:.*, expected https:\/\/as\.example$/),
      iss,
    );
  }
  equal(tokenRequests(world), 0);
  const encoded = async (url: URL) =>
    (await world.browse(url)).replace("https%3A%2F%2Fas.example", "https%3a%2f%2fas%2eexample");
  await world.call(world.oauth({ authorize: encoded }));
  equal(tokenRequests(world), 1);
});

verifies("client-auth:iss:no-normalize", "an encoded character is another issuer", eachEra, async (world) => {
  for (const [path, other] of [
    ["~port", "%7Eport"],
    ["%7Eport", "~port"],
    ["%7Eport", "%7eport"],
  ]) {
    world.arrivals.length = 0;
    const issuer = new MockIssuer(`https://as.example/${path}`);
    world.issuers.splice(0, 1, issuer);
    world.listed = [issuer.issuer];
    const authorize = tampering(world, (back) => back.searchParams.set("iss", `https://as.example/${other}`));
    await rejects(world.call(world.oauth({ authorize })), failsAt("issuer"), other);
    equal(tokenRequests(world), 0);
    await world.call(world.oauth());
    equal(tokenRequests(world), 1);
  }
});

verifies("client-auth:iss:mismatch-reject", "what is stored stays", eachEra, async (world) => {
  const store = memoryStore();
  await world.call(world.oauth({ store }));
  const kept = () =>
    ["client https://as.example", `tokens ${world.mcp} https://as.example`].map((key) => store.get(key));
  const before = structuredClone(kept());
  let needsMore = true;
  world.routes.set(world.posts, (request) =>
    world.accepts(request) && needsMore
      ? { status: 403, headers: { "www-authenticate": 'Bearer error="insufficient_scope", scope="more"' } }
      : undefined,
  );
  world.arrivals.length = 0;
  const authorize = tampering(world, (back) => back.searchParams.set("iss", "https://evil.example"));
  await rejects(world.call(world.oauth({ store, authorize })), failsAt("issuer"));
  equal(tokenRequests(world), 0);
  deepEqual(kept(), before);
  needsMore = false;
  world.arrivals.length = 0;
  equal((await world.call(world.oauth({ store }))).status, 200);
  equal(world.arrivals.length, 1);
});

verifies("client-auth:iss:supported-missing-reject", eachEra, async (world) => {
  const gone = tampering(world, (back) => back.searchParams.delete("iss"));
  await rejects(world.call(world.oauth({ authorize: gone })), failsAt("issuer", /has no iss, which/));
  const empty = tampering(world, (back) => back.searchParams.set("iss", ""));
  await rejects(world.call(world.oauth({ authorize: empty })), failsAt("issuer", /has the iss "", expected/));
  equal(tokenRequests(world), 0);
  world.as.metadata = { ...world.as.metadata, authorization_response_iss_parameter_supported: "true" };
  await world.call(world.oauth({ authorize: gone }));
  equal(tokenRequests(world), 1);
});

verifies(["client-auth:iss:unadvertised-compare", "client-auth:iss:unadvertised-proceed"], eachEra, async (world) => {
  for (const advertised of [undefined, false]) {
    world.arrivals.length = 0;
    world.as.metadata = { ...world.as.metadata, authorization_response_iss_parameter_supported: advertised };
    const wrong = tampering(world, (back) => back.searchParams.set("iss", "https://evil.example"));
    await rejects(world.call(world.oauth({ authorize: wrong })), failsAt("issuer"));
    equal(tokenRequests(world), 0);
    await world.call(world.oauth());
    await world.call(world.oauth({ authorize: tampering(world, (back) => back.searchParams.delete("iss")) }));
    equal(tokenRequests(world), 2);
  }
});

verifies("client-auth:iss:error-response", eachEra, async (world) => {
  const said = { error: "poisoned_code", error_description: "poisoned words", error_uri: "https://poisoned.example" };
  for (const iss of ["https://evil.example", undefined]) {
    const authorize = (url: URL) => ({ ...said, iss, state: url.searchParams.get("state") ?? "" });
    const failure = await world.call(world.oauth({ authorize })).catch((error: unknown) => error);
    ok(failsAt("issuer")(failure));
    equal(/poisoned/.test(inspect(failure, { depth: 9 })), false);
  }
  equal(tokenRequests(world), 0);
});

verifies("client-auth:iss:no-metadata", eachEra, async (world) => {
  world.challenge = "Bearer";
  world.routes.set("GET https://mcp.example/.well-known/oauth-protected-resource/mcp", () => ({ status: 404 }));
  world.routes.set("POST https://mcp.example/register", () => ({ status: 201, json: { client_id: "c" } }));
  world.routes.set("POST https://mcp.example/token", () => world.as.issue(undefined));
  const back = (more: Record<string, string>) => (url: URL) => answerTo(url, { code: "c", ...more });
  await rejects(world.call(world.oauth({ authorize: back({ iss: "https://mcp.example" }) })), failsAt("issuer"));
  equal(tokenRequests(world), 0);
  await world.call(world.oauth({ authorize: back({}) }));
  equal(tokenRequests(world), 1);
});

verifies(["client-auth:iss:recorded-before-redirect", "client-auth:callback-as-binding"], eachEra, async (world) => {
  const evil = new MockIssuer("https://evil.example");
  world.issuers.push(evil);
  const store = memoryStore();
  const sent: URL[] = [];
  const auth = world.oauth({ store, authorize: (url) => void sent.push(url) });
  await rejects(world.call(auth), failsAt("redirected"));
  const callback = await world.browse(sent[0] as URL);
  // The server's metadata now names another authorization server, and a second attempt is made there.
  world.listed = ["https://evil.example"];
  await rejects(world.call(auth), failsAt("redirected"));
  const crossed = new URL(await world.browse(sent[1] as URL));
  crossed.searchParams.set("state", sent[0]?.searchParams.get("state") ?? "");
  await rejects(auth.finish(crossed), failsAt("issuer"));
  await rejects(auth.finish(callback), failsAt("issuer", /evil\.example/));
  equal(tokenRequests(world), 0);
  const empty = world.oauth({ store: memoryStore() });
  await rejects(empty.finish(callback), failsAt("callback", /missing, unknown or expired/));
  equal(tokenRequests(world), 0);
  equal(store.get(`tokens ${world.mcp} https://evil.example`), undefined);
});

verifies(["client-auth:state:verify", "client-auth:pkce:fresh-verifier"], "fixation", eachEra, async (world) => {
  const sent: URL[] = [];
  const auth = world.oauth({ authorize: (url) => void sent.push(url) });
  await rejects(world.call(auth), failsAt("redirected"));
  await rejects(world.call(auth), failsAt("redirected"));
  notEqual(sent[0]?.searchParams.get("code_challenge"), sent[1]?.searchParams.get("code_challenge"));
  const good = new URL(await world.browse(sent[1] as URL));
  for (const state of [undefined, "guessed", ""]) {
    const bad = new URL(good);
    if (state === undefined) bad.searchParams.delete("state");
    else bad.searchParams.set("state", state);
    await rejects(auth.finish(bad), failsAt("callback"));
  }
  equal(tokenRequests(world), 0);
  await auth.finish(good);
  equal(tokenRequests(world), 1);
  const earlier = sent[0]?.searchParams.get("state") ?? "";
  const stale = world.oauth({ authorize: tampering(world, (back) => back.searchParams.set("state", earlier)) });
  await rejects(world.call(stale), failsAt("callback"));
  const inline = world.oauth({ authorize: tampering(world, (back) => back.searchParams.set("state", "fixed")) });
  await rejects(world.call(inline), failsAt("callback"));
  equal(tokenRequests(world), 1);
});

verifies(["client-auth:pkce:s256", "client-auth:state:verify"], "code injection", eachEra, async (world) => {
  // The attacker's code is put into the victim's answer: the victim's verifier does not fit it.
  let stolen = "";
  const attacker = world.oauth({
    authorize: async (url) => {
      stolen = new URL(await world.browse(url)).searchParams.get("code") ?? "";
      return undefined;
    },
  });
  await rejects(world.call(attacker), failsAt("redirected"));
  const victim = world.oauth({ authorize: tampering(world, (back) => back.searchParams.set("code", stolen)) });
  await rejects(world.call(victim), { step: "token", error: "invalid_grant" });
  equal(world.as.live.size, 0);
});

verifies("client-auth:callback:duplicate-params", eachEra, async (world) => {
  for (const [name, value] of [
    ["code", "x"],
    ["iss", "https://as.example"],
    ["iss", "https://evil.example"],
    ["state", "x"],
    ["error", "x"],
  ] as const) {
    const twice = tampering(world, (back) => {
      back.searchParams.append(name, value);
      back.searchParams.append(name, value);
    });
    await rejects(world.call(world.oauth({ authorize: twice })), failsAt("callback"), name);
  }
  equal(tokenRequests(world), 0);
});

verifies("client-auth:authorize:error-surfaces", eachEra, async (world) => {
  const back = (params: Record<string, string>) => (url: URL) => ({
    iss: "https://as.example",
    state: url.searchParams.get("state") ?? "",
    ...params,
  });
  const denied = { error: "access_denied", error_description: "nope", error_uri: "https://as.example/why" };
  await rejects(world.call(world.oauth({ authorize: back(denied) })), {
    step: "authorize",
    error: "access_denied",
    description: "nope",
    uri: "https://as.example/why",
  });
  await rejects(world.call(world.oauth({ authorize: back({}) })), failsAt("callback"));
  await rejects(world.call(world.oauth({ authorize: back({ code: "" }) })), failsAt("callback"));
  equal(tokenRequests(world), 0);
});

verifies("client-auth:redirect-uri:consistent", "open redirect", eachEra, async (world) => {
  const elsewhere = tampering(world, (back) => {
    back.host = "evil.example";
  });
  await rejects(world.call(world.oauth({ authorize: elsewhere })), failsAt("callback", /evil\.example/));
  equal(tokenRequests(world), 0);
  for (const redirectUrl of ["http://app.example/callback", "not a url"]) {
    let thrown: unknown;
    try {
      world.oauth({ redirectUrl });
    } catch (error) {
      thrown = error;
    }
    ok(thrown instanceof AuthError);
  }
  world.oauth({ redirectUrl: CALLBACK });
});

verifies("client-auth:authorization-url:scheme-allowlist", eachEra, async (world) => {
  for (const endpoint of [
    "javascript:alert(1)",
    "data:text/html,x",
    "file:///etc/passwd",
    "vbscript:x",
    "http://as.example/a",
  ]) {
    world.as.metadata = { ...world.as.metadata, authorization_endpoint: endpoint };
    const sent: URL[] = [];
    await rejects(
      world.call(world.oauth({ authorize: (url) => void sent.push(url) })),
      failsAt("configuration"),
      endpoint,
    );
    deepEqual(sent, []);
  }
  // The default endpoints of a server without metadata are on its own origin.
  const bare = "http://mcp.example/mcp";
  world.routes.set(`POST ${bare}`, () => ({ status: 401 }));
  const sent: URL[] = [];
  await rejects(world.call(world.oauth({ authorize: (url) => void sent.push(url) }), {}, bare), AuthError);
  deepEqual(sent, []);
});

verifies("client-auth:token-endpoint:https-guard", eachEra, async (world) => {
  for (const endpoint of ["http://as.example/token", "http://127.0.0.1.evil.example/token"]) {
    world.as.metadata = { ...world.as.metadata, token_endpoint: endpoint };
    await rejects(world.call(world.oauth()), failsAt("configuration"), endpoint);
  }
  world.as.metadata = { ...world.as.metadata, registration_endpoint: "http://as.example/register" };
  await rejects(world.call(world.oauth()), failsAt("configuration"));
  world.as.metadata = { ...world.as.metadata, token_endpoint: "http://as.example/token" };
  const machine = { grant: clientCredentials(), client: { id: "m", secret: "s" } };
  await rejects(world.call(world.oauth(machine)), failsAt("configuration"));
  equal(world.arrivals.filter(({ url }) => url.protocol === "http:").length, 0);
  world.as.metadata = { ...world.as.metadata, token_endpoint: "http://127.0.0.1/token" };
  world.routes.set("POST http://127.0.0.1/token", () => world.as.issue(undefined));
  await world.call(world.oauth({ ...machine, allowPrivateAddresses: true }));
  equal(world.count("POST http://127.0.0.1/token"), 1);
});

verifies("client-auth:token-endpoint:https-guard", "of a refresh", eachEra, async (world) => {
  world.as.refreshes = true;
  const auth = world.oauth();
  await world.call(auth);
  world.as.live.clear();
  world.as.metadata = { ...world.as.metadata, token_endpoint: "http://as.example/token" };
  await rejects(world.call(auth), failsAt("configuration"));
  equal(world.count("GET https://as.example/authorize"), 1);
  equal(world.count("POST http://as.example/token"), 0);
});
