import { deepEqual, ok } from "node:assert/strict";
import { test } from "node:test";
import { createIssuer } from "bowline/auth/issuer";
import fc from "fast-check";
import { CALLBACK, CLIENT, ISSUER, RESOURCE } from "../../../support/issuer-world.js";

const errors: unknown[] = [];
const issuer = createIssuer({
  issuer: ISSUER,
  resources: [RESOURCE],
  scopes: ["a"],
  user: () => ({ id: "ada" }),
  clients: [{ clientId: CLIENT, clientSecret: "s", redirectUris: [CALLBACK] }],
  clientDocuments: { fetch: async () => new Response("nothing", { status: 404 }) },
  rateLimit: false,
  onError: (error) => errors.push(error),
});

const names = [
  "client_id client_secret client_assertion client_assertion_type redirect_uri response_type scope state resource prompt",
  "code_challenge code_challenge_method grant_type code code_verifier refresh_token token token_type_hint ask decision",
]
  .join(" ")
  .split(" ");
const likely = fc.constantFrom(
  CLIENT,
  CALLBACK,
  RESOURCE,
  "code",
  "S256",
  "a",
  "s",
  "authorization_code",
  "refresh_token",
  "https://tool.example/client.json",
  "https://[",
  "urn:ietf:params:oauth:client-assertion-type:jwt-bearer",
  "a.b.c",
  "x".repeat(43),
);
const value = fc.oneof(likely, fc.string({ unit: "binary", maxLength: 30 }));
const fields = fc.array(fc.tuple(fc.oneof(fc.constantFrom(...names), fc.string({ maxLength: 8 })), value), {
  maxLength: 12,
});
const path = fc.constantFrom(
  "authorize",
  "consent",
  "token",
  "register",
  "revoke",
  "jwks",
  ".well-known/oauth-authorization-server",
);
const header = fc.oneof(
  fc.constant(`Basic ${btoa(`${CLIENT}:s`)}`),
  fc.base64String({ maxLength: 20 }).map((text) => `Basic ${text}`),
);

test("whatever is asked, the answer is no failure of the server's", async () => {
  await fc.assert(
    fc.asyncProperty(path, fields, fc.boolean(), fc.option(header), async (name, pairs, posts, authorization) => {
      const params = new URLSearchParams(pairs);
      const headers: Record<string, string> = authorization === null ? {} : { authorization };
      const request = posts
        ? new Request(`${ISSUER}/${name}`, { method: "POST", body: params, headers })
        : new Request(`${ISSUER}/${name}?${params}`, { headers });
      const { status } = await issuer.fetch(request);
      ok(status < 500, `${status}`);
    }),
    { numRuns: 400 },
  );
  deepEqual(errors, []);
});

test("whatever is registered, the answer is no failure of the server's", async () => {
  const member = fc.constantFrom(
    ..."redirect_uris client_name grant_types response_types scope jwks jwks_uri contacts token_endpoint_auth_method".split(
      " ",
    ),
  );
  const json = fc.oneof(
    fc.jsonValue({ maxDepth: 3 }),
    fc.constantFrom([CALLBACK], "private_key_jwt", { keys: [null] }),
  );
  await fc.assert(
    fc.asyncProperty(fc.dictionary(member, json), async (metadata) => {
      const body = JSON.stringify({ redirect_uris: [CALLBACK], ...metadata });
      const { status } = await issuer.fetch(new Request(`${ISSUER}/register`, { method: "POST", body }));
      ok(status === 201 || status === 400, `${status}`);
    }),
    { numRuns: 300 },
  );
  deepEqual(errors, []);
});

test("registrations are limited unless the author decides otherwise", async () => {
  const least = { issuer: ISSUER, resources: [RESOURCE], user: () => ({ id: "ada" }), now: () => 1_000_000 };
  const register = (to: { fetch(request: Request): Promise<Response> }) =>
    to.fetch(new Request(`${ISSUER}/register`, { method: "POST", body: "{}" }));
  const statusesOf = async (to: { fetch(request: Request): Promise<Response> }) => {
    const replies = await Promise.all(Array.from({ length: 61 }, () => register(to)));
    return new Set(replies.map(({ status }) => status));
  };
  ok((await statusesOf(createIssuer(least))).has(429));
  ok(!(await statusesOf(createIssuer({ ...least, rateLimit: false }))).has(429));
});
