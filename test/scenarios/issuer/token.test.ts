import { deepEqual, equal, match, ok } from "node:assert/strict";
import { memoryIssuerStore } from "bowline/auth/issuer";
import { CALLBACK, CLIENT, createPkce, IssuerWorld, RESOURCE, read, slowStore } from "../../support/issuer-world.js";
import { proves } from "../../support/verifies.js";

const http = { wire: "http" };
const OTHER = "https://other.example/mcp";

proves("hosting:auth:as:token-cache-headers", http, "no answer of the token endpoint is kept", async (t) => {
  const world = await IssuerWorld.open(t);
  const answers = {
    200: await world.redeem(await world.code()),
    400: await world.token({}),
    401: await world.token({ grant_type: "refresh_token", client_id: "nobody" }),
    405: await world.fetch("token"),
  };
  for (const [status, { status: given, headers }] of Object.entries(answers)) {
    equal(String(given), status);
    equal(headers.get("cache-control"), "no-store", status);
    equal(headers.get("pragma"), "no-cache", status);
  }
});

proves(
  ["hosting:auth:as:verifier-mismatch", "hosting:auth:as:verifier-required"],
  http,
  "a code is good with its verifier alone",
  async (t) => {
    const world = await IssuerWorld.open(t);
    const wrong = await world.redeem(await world.code(), { code_verifier: createPkce().verifier });
    equal(wrong.status, 400);
    equal(wrong.json.error, "invalid_grant");
    equal("access_token" in wrong.json, false);
    const bad = [undefined, "", "short", "x".repeat(42), "x".repeat(129), `${"x".repeat(43)}!`, `${"x".repeat(43)} `];
    for (const code_verifier of bad) {
      const { status, json } = await world.redeem(await world.code(), { code_verifier });
      equal(status, 400);
      equal(json.error, "invalid_request", code_verifier);
    }
    const { challenge, code } = await world.code();
    equal((await world.redeem({ code, verifier: challenge })).json.error, "invalid_grant");
  },
);

proves("hosting:auth:as:verifier-mismatch", http, "a comparison reads the whole challenge", async (t) => {
  const world = await IssuerWorld.open(t);
  const read = new Map<string, number>();
  const original = String.prototype.charCodeAt;
  t.mock.method(String.prototype, "charCodeAt", function (this: string, at: number) {
    if (this.length === 43) read.set(this, (read.get(this) ?? 0) + 1);
    return original.call(this, at);
  });
  for (const verifier of [undefined, createPkce().verifier, createPkce().verifier]) {
    const code = await world.code();
    const { status } = await world.redeem(code, verifier === undefined ? {} : { code_verifier: verifier });
    equal(status, verifier === undefined ? 200 : 400);
    // The digest of the right verifier is the same text, so it is read twice.
    equal(read.get(code.challenge), verifier === undefined ? 86 : 43);
  }
});

proves(
  ["hosting:auth:as:code-single-use", "hosting:auth:as:code-reuse-revokes"],
  http,
  "a code that comes again is refused and takes back what it gave",
  async (t) => {
    const world = await IssuerWorld.open(t);
    const code = await world.code();
    const first = await world.redeem(code);
    const refreshed = await world.refresh(String(first.json.refresh_token));
    ok(await world.admits(first.json.access_token));
    ok(await world.admits(refreshed.json.access_token));
    const second = await world.redeem(code);
    equal(second.status, 400);
    equal(second.json.error, "invalid_grant");
    equal(await world.admits(first.json.access_token), false);
    equal(await world.admits(refreshed.json.access_token), false);
    equal((await world.refresh(String(refreshed.json.refresh_token))).json.error, "invalid_grant");
    ok(await world.admits((await world.tokens()).access));
  },
);

proves("hosting:auth:as:code-atomic", http, "of several who redeem one code at once, one does", async (t) => {
  const world = await IssuerWorld.open(t, { store: slowStore() });
  const code = await world.code();
  const answers = await Promise.all([1, 2, 3, 4, 5].map(() => world.redeem(code)));
  deepEqual(answers.map(({ status }) => status).sort(), [200, 400, 400, 400, 400]);
  const losers = answers.filter(({ status }) => status === 400);
  deepEqual([...new Set(losers.map(({ json }) => json.error))], ["invalid_grant"]);
});

proves("hosting:auth:as:code-client-binding", http, "a code is good for the client it was made for", async (t) => {
  const world = await IssuerWorld.open(t);
  const { id } = await world.register();
  const code = await world.code();
  const stolen = await world.redeem(code, { client_id: id });
  equal(stolen.status, 400);
  equal(stolen.json.error, "invalid_grant");
  equal((await world.redeem(code)).status, 200);
});

proves("hosting:auth:as:code-expiry", http, "a code lasts a minute, and ten at the very most", async (t) => {
  const world = await IssuerWorld.open(t);
  const code = await world.code();
  world.skippedMs = 61_000;
  equal((await world.redeem(code)).json.error, "invalid_grant");
  let refused: unknown;
  await IssuerWorld.open(t, { lifetimes: { codeMs: 601_000 } }).catch((error: unknown) => {
    refused = error;
  });
  match(String(refused), /at most 600000/);
});

proves(
  "hosting:auth:as:redirect-uri-binding",
  http,
  "the exchange repeats the address that was asked with",
  async (t) => {
    const world = await IssuerWorld.open(t);
    for (const redirect_uri of [undefined, "https://app.example/other", `${CALLBACK}/`]) {
      const { status, json } = await world.redeem(await world.code(), { redirect_uri });
      equal(status, 400);
      equal(json.error, "invalid_grant");
    }
    const omitted = await world.code({ redirect_uri: undefined });
    equal((await world.redeem(omitted, { redirect_uri: undefined })).status, 200);
  },
);

proves("hosting:auth:as:token:audience-binding", http, "a token is for the resource it was asked for", async (t) => {
  const world = await IssuerWorld.open(t, { resources: [RESOURCE, OTHER] });
  const switched = await world.redeem(await world.code(), { resource: OTHER });
  equal(switched.status, 400);
  equal(switched.json.error, "invalid_target");
  for (const resource of [RESOURCE, undefined]) {
    const { json } = await world.redeem(await world.code(), { resource });
    deepEqual((await world.issuer.verify(String(json.access_token)))?.audience, [RESOURCE]);
    ok(await world.admits(json.access_token, RESOURCE));
    equal(await world.admits(json.access_token, OTHER), false);
  }
});

proves("hosting:auth:as:token:audience-default", http, "who names no resource gets the default one", async (t) => {
  const single = await IssuerWorld.open(t);
  ok(await single.admits((await single.redeem(await single.code({ resource: undefined }))).json.access_token));
  const chosen = await IssuerWorld.open(t, { resources: [RESOURCE, OTHER], defaultResource: OTHER });
  const { json } = await chosen.redeem(await chosen.code({ resource: undefined }));
  ok(await chosen.admits(json.access_token, OTHER));
  const several = await IssuerWorld.open(t, { resources: [RESOURCE, OTHER] });
  const refused = await several.browser().authorize({ resource: undefined });
  match(refused.headers.get("location") ?? "", /error=invalid_target/);
});

proves("hosting:auth:as:token:grant-errors", http, "each fault of a request has its name", async (t) => {
  const world = await IssuerWorld.open(t, {
    clients: [
      { clientId: CLIENT, redirectUris: [CALLBACK] },
      { clientId: "codes", redirectUris: [CALLBACK], grantTypes: ["authorization_code"] },
    ],
  });
  const code = { grant_type: "authorization_code", client_id: CLIENT };
  const rows: [fields: Record<string, string>, error: string][] = [
    [{ client_id: CLIENT }, "invalid_request"],
    [{ grant_type: "", client_id: CLIENT }, "invalid_request"],
    [{ ...code, code_verifier: createPkce().verifier }, "invalid_request"],
    [{ ...code, code: "x" }, "invalid_request"],
    [{ grant_type: "refresh_token", client_id: CLIENT }, "invalid_request"],
    [{ grant_type: "password", client_id: CLIENT, username: "a", password: "b" }, "unsupported_grant_type"],
    [{ grant_type: "client_credentials", client_id: CLIENT }, "unsupported_grant_type"],
    [{ grant_type: "refresh_token", client_id: "codes", refresh_token: "x" }, "unauthorized_client"],
    [{ ...code, code: "unknown", code_verifier: createPkce().verifier }, "invalid_grant"],
  ];
  for (const [fields, error] of rows) {
    const { status, headers, json } = await world.token(fields);
    equal(status, 400, JSON.stringify(fields));
    equal(json.error, error, JSON.stringify(fields));
    match(headers.get("content-type") ?? "", /^application\/json/);
  }
});

proves("hosting:auth:as:token:content-type", http, "parameters come as a form, once, within bounds", async (t) => {
  const world = await IssuerWorld.open(t);
  const ask = async (path: string, body: BodyInit, type = "application/x-www-form-urlencoded") =>
    await read(await world.fetch(path, { method: "POST", body, headers: { "content-type": type } }));
  for (const path of ["token", "revoke"]) {
    const form = "grant_type=refresh_token&client_id=known-app&refresh_token=x&token=x";
    const bad = {
      json: await ask(
        path,
        JSON.stringify({ grant_type: "refresh_token", client_id: CLIENT, token: "x" }),
        "application/json",
      ),
      text: await ask(path, form, "text/plain"),
      twice: await ask(path, `${form}&client_id=known-app`),
      address: await ask(`${path}?client_id=known-app`, form),
    };
    for (const [name, { status, json }] of Object.entries(bad)) {
      equal(status, 400, `${path} ${name}`);
      equal(json.error, "invalid_request", `${path} ${name}`);
    }
  }
  equal((await ask("token", `grant_type=${"x".repeat(70_000)}`)).status, 413);
  // A body without an end is answered while it is still being sent.
  let sent = 0;
  const endless = new ReadableStream<Uint8Array>({
    pull(controller) {
      sent += 16_384;
      controller.enqueue(new Uint8Array(16_384).fill(97));
    },
  });
  const response = await world.issuer.fetch(
    new Request("https://as.example/token", {
      method: "POST",
      body: endless,
      headers: { "content-type": "application/x-www-form-urlencoded" },
      duplex: "half",
    } as RequestInit),
  );
  equal(response.status, 413);
  ok(sent < 200_000, `${sent}`);
});

proves("hosting:auth:as:error-500", http, "what fails inside stays inside", async (t) => {
  const store = memoryIssuerStore();
  let broken = false;
  const get = async (key: string) => {
    if (broken) throw new Error("secret: the address of the database");
    return await store.get(key);
  };
  const world = await IssuerWorld.open(t, { store: { ...store, get } });
  const code = await world.code();
  broken = true;
  const { status, json } = await world.redeem(code);
  equal(status, 500);
  deepEqual(json, { error: "server_error", error_description: "the authorization server failed" });
  match(String(world.errors[0]), /secret/);
  const page = await world.browser().authorize({ client_id: "client-unknown" });
  equal(page.status, 500);
  equal((await page.text()).includes("secret"), false);
});

proves("hosting:auth:as:short-lived-tokens", http, "an access token ends when it says so", async (t) => {
  const world = await IssuerWorld.open(t);
  const { json } = await world.redeem(await world.code());
  ok(Number(json.expires_in) <= 3600);
  world.skippedMs = Number(json.expires_in) * 1000 - 5_000;
  ok(await world.admits(json.access_token));
  world.skippedMs += 6_000;
  equal(await world.admits(json.access_token), false);
});

proves("hosting:auth:as:code-entropy", http, "what must not be guessed has 256 random bits", async (t) => {
  const world = await IssuerWorld.open(t);
  const { code } = await world.code();
  const { refresh } = await world.tokens();
  const { id, json } = await world.register({ token_endpoint_auth_method: "client_secret_basic" });
  const next = String((await world.refresh(refresh)).json.refresh_token);
  // The name of the family stays; what is used up does not.
  ok(next.split(".")[0] === refresh.split(".")[0] && next.split(".")[1] !== refresh.split(".")[1]);
  for (const text of [
    code,
    ...refresh.split("."),
    ...next.split("."),
    id.replace("client-", ""),
    String(json.client_secret),
  ]) {
    match(text, /^[A-Za-z0-9_-]{43}$/);
  }
  const { randomToken } = await import("#src/auth/crypto.js");
  const sample = new Set(Array.from({ length: 10_000 }, () => randomToken()));
  equal(sample.size, 10_000);
  const original = crypto.getRandomValues;
  let bytes = 0;
  t.mock.method(crypto, "getRandomValues", (array: Uint8Array<ArrayBuffer>) => {
    bytes += array.byteLength;
    return original.call(crypto, array);
  });
  randomToken();
  equal(bytes, 32);
});
