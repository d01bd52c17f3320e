import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { inspect } from "node:util";
import {
  AuthError,
  clientCredentials,
  exchangeAtProvider,
  identityAssertion,
  memoryStore,
  workloadIdentity,
} from "bowline/auth/client";
import { type Arrival, AuthWorld, type WorldOptions } from "../../../support/auth-world.js";

const TOKEN = "POST https://as.example/token";
const SECRET = "a secret/of the+two";

/** What a request has given away. */
function sentIn({ headers, form }: Arrival): string[] {
  const values = [...form]
    .filter(([name]) => !/type|client_id|redirect_uri|resource|scope/.test(name))
    .map(([, v]) => v);
  return [...values, (headers.get("authorization") ?? "").split(" ")[1] ?? ""].filter((value) => value.length > 5);
}

async function failureOf(world: AuthWorld, options: WorldOptions, echoAt = TOKEN): Promise<AuthError> {
  world.routes.set(echoAt, ({ body, headers }) => {
    const said = `cannot read: ${body.slice(-200)} with ${headers.get("authorization")}`;
    return {
      status: 400,
      json: { error: "invalid_request", error_description: said, error_uri: `https://x/?${body}` },
    };
  });
  const failure = await world.call(world.oauth(options)).catch((error: unknown) => error);
  ok(failure instanceof AuthError);
  equal(failure.error, "invalid_request");
  return failure;
}

function assertNothingOf(arrival: Arrival | undefined, failure: AuthError): void {
  ok(arrival !== undefined);
  const shown = inspect(failure, { depth: 9 });
  const secrets = sentIn(arrival);
  ok(secrets.length > 0);
  for (const secret of secrets) {
    for (let at = 0; at + 16 <= secret.length; at++) {
      const piece = secret.slice(at, at + 16);
      ok(!shown.includes(piece), `${piece} in ${shown}`);
    }
  }
}

test("an authorization server that repeats the request puts no secret into the error", async (t) => {
  const client = { id: "known", secret: SECRET };
  const ways: WorldOptions[] = [
    {},
    { client },
    { client: { ...client, method: "client_secret_post" } },
    { client: { id: "known", assertion: "eyJhbGciOiJub25lIn0.the-clients-own.assertion" } },
    { grant: clientCredentials(), client },
    { grant: workloadIdentity(() => "eyJhbGciOiJub25lIn0.of-the-platform.token"), client: { id: "w" } },
    { grant: { request: async () => ({ type: "own", parameters: { saml: "an-assertion-of-another-kind" } }) }, client },
  ];
  for (const options of ways) {
    const world = await AuthWorld.open(t, "modern");
    const failure = await failureOf(world, options);
    assertNothingOf(world.to(TOKEN)[0], failure);
    ok(failure.message.includes("omitted"), failure.message);
  }
});

test("a refresh token and a subject token are not repeated either", async (t) => {
  const world = await AuthWorld.open(t, "modern");
  world.as.refreshes = true;
  const store = memoryStore();
  await world.call(world.oauth({ store }));
  world.as.live.clear();
  world.arrivals.length = 0;
  const unrenewed = await failureOf(world, { store });
  equal(world.to(TOKEN)[0]?.form.get("grant_type"), "refresh_token");
  assertNothingOf(world.to(TOKEN)[0], unrenewed);

  const provider = { tokenEndpoint: "https://idp.example/token", subjectToken: "the-id-token-of-the-user" };
  const grant = identityAssertion(exchangeAtProvider({ ...provider, clientSecret: SECRET }));
  const at = "POST https://idp.example/token";
  const refused = await failureOf(world, { grant, client: { id: "c" } }, at);
  assertNothingOf(world.to(at)[0], refused);
});

test("an MCP server that repeats the token in its challenge does not put it into the error", async (t) => {
  const world = await AuthWorld.open(t, "modern");
  world.routes.set(`POST ${world.mcp}`, ({ headers }) => {
    const token = headers.get("authorization")?.split(" ")[1];
    if (token === undefined) return undefined;
    const challenge = `Bearer error="invalid_token", error_description="bad token ${token}"`;
    return { status: 401, headers: { "www-authenticate": challenge } };
  });
  const failure = await world.call(world.oauth()).catch((error: unknown) => error);
  ok(failure instanceof AuthError);
  deepEqual([failure.step, failure.error], ["unauthorized", "invalid_token"]);
  ok(!inspect(failure, { depth: 9 }).includes([...world.as.live][0] as string));
});

test("what repeats nothing is shown as it was said", async (t) => {
  const world = await AuthWorld.open(t, "modern");
  const said = "the redirect address is not registered for this client";
  world.routes.set(TOKEN, () => ({ status: 400, json: { error: "invalid_grant", error_description: said } }));
  const failure = await world.call(world.oauth()).catch((error: unknown) => error);
  equal((failure as AuthError).description, said);
});
