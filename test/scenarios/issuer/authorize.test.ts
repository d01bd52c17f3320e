import { deepEqual, equal, match, ok } from "node:assert/strict";
import { DefinitionError } from "bowline/server";
import {
  answerOf,
  CALLBACK,
  CLIENT,
  IssuerWorld,
  inOrder,
  RESOURCE,
  read,
  toParams,
} from "../../support/issuer-world.js";
import { proves } from "../../support/verifies.js";

const http = { wire: "http" };

/** A refusal that the client hears of, without a code. */
async function refusal(world: IssuerWorld, fields: Parameters<IssuerWorld["code"]>[0]): Promise<URLSearchParams> {
  const answer = answerOf(await world.browser().authorize(fields));
  equal(answer.has("code"), false);
  return answer;
}

/** A refusal that the user alone sees. */
async function direct(world: IssuerWorld, fields: Parameters<IssuerWorld["code"]>[0], why: string): Promise<string> {
  const response = await world.browser().authorize(fields);
  equal(response.status, 400, why);
  equal(response.headers.get("location"), null, why);
  return await response.text();
}

proves("hosting:auth:as:authorize-requires-pkce", http, "no code without a challenge, whoever asks", async (t) => {
  const world = await IssuerWorld.open(t, {
    clients: [
      { clientId: CLIENT, redirectUris: [CALLBACK] },
      { clientId: "confidential", clientSecret: "s", redirectUris: [CALLBACK] },
    ],
  });
  for (const client_id of [CLIENT, "confidential"]) {
    const answer = await refusal(world, { client_id, code_challenge: undefined, code_challenge_method: undefined });
    equal(answer.get("error"), "invalid_request");
    equal(answer.get("state"), "xyz");
  }
});

proves("hosting:auth:as:authorize-pkce-method", http, "S256 and nothing else", async (t) => {
  const world = await IssuerWorld.open(t);
  const challenge = inOrder().code_challenge ?? "";
  const bad = [
    { code_challenge_method: "plain" },
    { code_challenge_method: "S512" },
    { code_challenge_method: "s256" },
    { code_challenge_method: undefined },
    { code_challenge: challenge.slice(1) },
    { code_challenge: `${challenge}a` },
    { code_challenge: `${challenge.slice(1)}=` },
    { code_challenge: `${challenge.slice(1)}+` },
  ];
  for (const fields of bad)
    equal((await refusal(world, fields)).get("error"), "invalid_request", JSON.stringify(fields));
  ok(answerOf(await world.browser().approve()).has("code"));
});

proves("hosting:auth:as:authorize:client-validation", http, "a client that nobody knows leads nowhere", async (t) => {
  const world = await IssuerWorld.open(t);
  for (const client_id of ["nobody", undefined, "", "__proto__"]) {
    await direct(world, { client_id, redirect_uri: "https://evil.example/cb" }, String(client_id));
  }
});

proves(
  "hosting:auth:as:redirect-uri-exact",
  http,
  "an address that is not the registered one gets nothing",
  async (t) => {
    const world = await IssuerWorld.open(t);
    const bad = [
      "https://app.example/cb/more",
      "https://app.example/cb?x=1",
      "https://app.example/CB",
      "https://app.example/cb/",
      "https://user@app.example/cb",
      "https://sub.app.example/cb",
      "https://app.example:443/cb",
      "https://APP.example/cb",
      "http://app.example/cb",
      "https://app.example/%63b",
      "https://app.example/x/../cb",
      "https://app.example.evil.example/cb",
      "//app.example/cb",
      "javascript:alert(1)",
    ];
    for (const redirect_uri of bad) await direct(world, { redirect_uri }, redirect_uri);
    // Errors do not go there either.
    for (const redirect_uri of bad) await direct(world, { redirect_uri, scope: "nonsense" }, redirect_uri);
  },
);

proves(
  "hosting:auth:as:redirect-uri-loopback-port",
  http,
  "on loopback the port is free, and nothing else",
  async (t) => {
    const world = await IssuerWorld.open(t, {
      clients: [
        { clientId: CLIENT, redirectUris: ["http://127.0.0.1/cb"] },
        { clientId: "six", redirectUris: ["http://[::1]:5/cb?x=1"] },
        { clientId: "web", redirectUris: ["https://10.0.0.1/cb"] },
        { clientId: "tls", redirectUris: ["https://127.0.0.1/cb"] },
      ],
    });
    const used = "http://127.0.0.1:51234/cb";
    const code = await world.code({ redirect_uri: used });
    equal((await world.redeem(code, { redirect_uri: "http://127.0.0.1/cb" })).json.error, "invalid_grant");
    const again = await world.code({ redirect_uri: used });
    equal((await world.redeem(again, { redirect_uri: used })).status, 200);
    ok(
      answerOf(await world.browser().approve({ client_id: "six", redirect_uri: "http://[::1]:77/cb?x=1" })).has("code"),
    );
    const bad = [
      [CLIENT, "http://127.0.0.1:51234/other"],
      [CLIENT, "https://127.0.0.1:51234/cb"],
      [CLIENT, "http://localhost:51234/cb"],
      [CLIENT, "http://[::1]:51234/cb"],
      [CLIENT, "http://127.0.0.1:51234/cb?x"],
      [CLIENT, "http://127.0.0.1:99999/cb"],
      [CLIENT, "http://127.0.0.1:51234@evil.example/cb"],
      [CLIENT, "http://127.1:51234/cb"],
      ["six", "http://[::1]:77/cb"],
      ["web", "https://10.0.0.1:8443/cb"],
      ["tls", "https://127.0.0.1:8443/cb"],
    ];
    for (const [client_id, redirect_uri] of bad) await direct(world, { client_id, redirect_uri }, `${redirect_uri}`);
  },
);

proves("hosting:auth:as:redirect-uri-omitted", http, "the only one may be left out", async (t) => {
  const world = await IssuerWorld.open(t, {
    clients: [
      { clientId: CLIENT, redirectUris: [CALLBACK] },
      { clientId: "two", redirectUris: [CALLBACK, "https://app.example/other"] },
      { clientId: "none" },
    ],
  });
  const response = await world.browser().approve({ redirect_uri: undefined });
  match(response.headers.get("location") ?? "", /^https:\/\/app\.example\/cb\?code=/);
  for (const client_id of ["two", "none"]) {
    match(await direct(world, { client_id, redirect_uri: undefined }, client_id), /invalid_request/);
  }
});

proves("hosting:auth:as:authorize:response-type", http, "code is all there is", async (t) => {
  const world = await IssuerWorld.open(t);
  for (const response_type of ["token", "code id_token", "Code"]) {
    equal((await refusal(world, { response_type })).get("error"), "unsupported_response_type", response_type);
  }
  equal((await refusal(world, { response_type: undefined })).get("error"), "invalid_request");
});

const failing = ["hosting:auth:as:authorize:error-redirect", "hosting:auth:as:error-500"];
proves(failing, http, "errors go to the client, with its state", async (t) => {
  const world = await IssuerWorld.open(t, {
    user: () => {
      if (world.user === undefined) throw new Error("the secret of the database");
      return world.user;
    },
  });
  const scope = await world.browser().authorize({ scope: "nonsense" });
  equal(scope.status, 302);
  equal(answerOf(scope).get("error"), "invalid_scope");
  match(answerOf(scope).get("error_description") ?? "", /nonsense/);
  equal(answerOf(scope).get("state"), "xyz");
  equal((await refusal(world, { code_challenge: undefined })).get("state"), "xyz");
  world.user = undefined;
  const failed = await refusal(world, {});
  equal(failed.get("error"), "server_error");
  equal(failed.get("state"), "xyz");
  equal(failed.toString().includes("secret"), false);
  equal(world.errors.length, 1);
  for (const none of [undefined, {}, { id: "" }]) {
    const careless = await IssuerWorld.open(t, { user: () => none as never });
    equal((await refusal(careless, {})).get("error"), "server_error");
    const [problem] = careless.errors;
    ok(problem instanceof DefinitionError);
    equal(problem.message, "createIssuer: user must return { id } with an id that is not empty, or a Response");
  }
});

proves("hosting:auth:as:authorize:state-echo", http, "the state comes back as it was, once", async (t) => {
  const world = await IssuerWorld.open(t);
  const states = ["a b", "a+b", "a&b=c", "ü🚀", "%2520", "x".repeat(500), "<script>"];
  for (const state of states) deepEqual(answerOf(await world.browser().approve({ state })).getAll("state"), [state]);
  equal(answerOf(await world.browser().approve({ state: undefined })).has("state"), false);
  equal((await refusal(world, { state: undefined, scope: "nonsense" })).has("state"), false);
});

proves("hosting:auth:as:authorize:query-preserved", http, "a query of the address is kept", async (t) => {
  const uri = "https://app.example/cb?x=1&x=2";
  const world = await IssuerWorld.open(t, { clients: [{ clientId: CLIENT, redirectUris: [uri] }] });
  const answer = answerOf(await world.browser().approve({ redirect_uri: uri }));
  deepEqual(answer.getAll("x"), ["1", "2"]);
  for (const name of ["code", "state", "iss"]) equal(answer.getAll(name).length, 1, name);
  equal((await world.register({ redirect_uris: ["https://app.example/cb?code=1"] })).status, 400);
});

proves(
  "hosting:auth:as:authorize:duplicate-params",
  http,
  "a parameter comes once, unless it is a resource",
  async (t) => {
    const world = await IssuerWorld.open(t, { resources: [RESOURCE, "https://other.example/mcp"] });
    await direct(world, { client_id: [CLIENT, CLIENT] }, "client_id");
    await direct(world, { redirect_uri: [CALLBACK, CALLBACK] }, "redirect_uri");
    for (const fields of [{ scope: ["notes:read", "notes:write"] }, { state: ["a", "b"] }, { vendor: ["a", "b"] }]) {
      equal((await refusal(world, fields)).get("error"), "invalid_request");
    }
    const both = await world.redeem(await world.code({ resource: [RESOURCE, "https://other.example/mcp"] }));
    ok(await world.admits(both.json.access_token));
    ok(await world.admits(both.json.access_token, "https://other.example/mcp"));
  },
);

proves("hosting:auth:as:authorize:scope", http, "what client and server allow, and the default for none", async (t) => {
  const world = await IssuerWorld.open(t, {
    scopes: ["a", "b", "c"],
    defaultScopes: ["a", "b"],
    clients: [
      { clientId: CLIENT, redirectUris: [CALLBACK] },
      { clientId: "only-b", redirectUris: [CALLBACK], scopes: ["b"] },
    ],
  });
  const rows: [client: string, scope: string | undefined, granted: string | undefined][] = [
    [CLIENT, "c", "c"],
    [CLIENT, "a c", "a c"],
    [CLIENT, undefined, "a b"],
    [CLIENT, "d", undefined],
    [CLIENT, "a d", undefined],
    ["only-b", "b", "b"],
    ["only-b", "a", undefined],
    ["only-b", "a b", undefined],
    ["only-b", undefined, "b"],
  ];
  for (const [client_id, scope, granted] of rows) {
    if (granted === undefined) {
      equal((await refusal(world, { client_id, scope })).get("error"), "invalid_scope", `${client_id} ${scope}`);
      continue;
    }
    const { json } = await world.redeem(await world.code({ client_id, scope }), { client_id });
    equal(json.scope, granted);
  }
});

proves("hosting:auth:as:authorize:resource", http, "a resource is one that is served, in any spelling", async (t) => {
  const world = await IssuerWorld.open(t);
  for (const resource of [
    "https://other.example/mcp",
    "/mcp",
    "mcp",
    `${RESOURCE}#x`,
    `${RESOURCE}/more`,
    "https://mcp.example",
  ]) {
    equal((await refusal(world, { resource })).get("error"), "invalid_target", resource);
  }
  for (const resource of ["HTTPS://MCP.example/mcp", "https://mcp.example:443/mcp", `${RESOURCE}/`]) {
    const { json } = await world.redeem(await world.code({ resource }));
    ok(await world.admits(json.access_token), resource);
  }
});

proves("hosting:auth:as:authorize:methods", http, "a form does what a query does", async (t) => {
  const world = await IssuerWorld.open(t);
  const browser = world.browser();
  const page = await browser.fetch("authorize", { method: "POST", body: toParams(inOrder()) });
  equal(page.status, 200);
  ok(answerOf(await browser.press(page)).has("code"));
  const bad = await browser.fetch("authorize", { method: "POST", body: toParams({ ...inOrder(), scope: "nonsense" }) });
  equal(answerOf(bad).get("error"), "invalid_scope");
  for (const method of ["PUT", "DELETE", "HEAD"]) {
    const refused = await browser.fetch("authorize", { method });
    equal(refused.status, 405);
    equal(refused.headers.get("allow"), "GET, POST");
  }
});

proves("hosting:auth:as:authorize:headers", http, "nothing of an authorization is kept or passed on", async (t) => {
  const world = await IssuerWorld.open(t);
  const browser = world.browser();
  const page = await browser.authorize();
  const answers = [
    page.clone(),
    await browser.authorize({ scope: "nonsense" }),
    await browser.authorize({ client_id: "x" }),
  ];
  for (const response of [...answers, await browser.press(page)]) {
    equal(response.headers.get("cache-control"), "no-store");
    equal(response.headers.get("referrer-policy"), "no-referrer");
    equal(response.headers.get("access-control-allow-origin"), null);
  }
});

proves(
  "hosting:auth:as:untrusted-redirect",
  http,
  "an app that the user does not know gets no browser by an error",
  async (t) => {
    const world = await IssuerWorld.open(t);
    const { id } = await world.register();
    const browser = world.browser();
    const page = await browser.authorize({ client_id: id, scope: "nonsense" });
    equal(page.status, 400);
    equal(page.headers.get("location"), null);
    const text = await page.text();
    match(text, /Continue to app\.example/);
    match(text, /href="https:\/\/app\.example\/cb\?error=invalid_scope/);
    ok(answerOf(await browser.approve({ client_id: id })).has("code"));
    equal(answerOf(await browser.authorize({ client_id: id, scope: "nonsense" })).get("error"), "invalid_scope");
    // What was approved was that address, and no other of the same app.
    const two = await world.register({ redirect_uris: [CALLBACK, "https://other.example/cb"] });
    await browser.approve({ client_id: two.id });
    const elsewhere = { client_id: two.id, redirect_uri: "https://other.example/cb", scope: "nonsense" };
    equal((await browser.authorize(elsewhere)).status, 400);
    const trusting = await IssuerWorld.open(t, { trustRedirect: () => true });
    const other = await trusting.register();
    equal(
      answerOf(await trusting.browser().authorize({ client_id: other.id, scope: "x" })).get("error"),
      "invalid_scope",
    );
  },
);

proves("hosting:auth:as:malformed-400", http, "nonsense is refused as such", async (t) => {
  const world = await IssuerWorld.open(t);
  const queries = [
    "client_id=%",
    "client_id=%ff%fe",
    "client_id=known-app&redirect_uri=http://[",
    "client_id=a%00b",
    "client_id[a][b][c]=x",
    `client_id=${CLIENT}&redirect_uri=%00`,
    "",
  ];
  for (const query of queries) equal((await world.fetch(`authorize?${query}`)).status, 400, query);
  equal((await refusal(world, { resource: "http://[" })).get("error"), "invalid_target");
  equal((await refusal(world, { scope: "a\u0000b" })).get("error"), "invalid_scope");
  const form = { "content-type": "application/x-www-form-urlencoded" };
  const bodies = [
    "%",
    "grant_type=%ff",
    "grant_type=\u0000",
    "a[b][c]=d",
    "=",
    "&&&",
    "grant_type=authorization_code&code=%",
  ];
  for (const body of bodies) {
    const { status, json } = await read(await world.fetch("token", { method: "POST", body, headers: form }));
    ok(status === 400 || status === 401, `${body}: ${status}`);
    equal(typeof json.error, "string");
  }
  deepEqual(world.errors, []);
});
