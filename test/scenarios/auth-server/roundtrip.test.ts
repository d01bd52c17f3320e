import { deepEqual, equal, ok } from "node:assert/strict";
import type { TestContext } from "node:test";
import {
  clientCredentials,
  identityAssertion,
  memoryStore,
  type OAuthOptions,
  oauth,
  workloadIdentity,
} from "bowline/auth/client";
import type { IssuerOptions } from "bowline/auth/issuer";
import { jwtVerifier, type ProtectOptions } from "bowline/auth/server";
import { type Client, connect } from "bowline/client";
import { type GuardedWorld, guardedHttp, ISSUER as PROVIDER, RESOURCE } from "../../support/guarded.js";
import { ISSUER, IssuerWorld } from "../../support/issuer-world.js";
import { TokenIssuer } from "../../support/token-issuer.js";
import { verifies } from "../../support/verifies.js";

const SCOPES = ["read", "write", "a", "b"];

interface Settings {
  readonly issuer?: Partial<IssuerOptions>;
  readonly protect?: Partial<ProtectOptions>;
  readonly oauth?: OAuthOptions;
}

/** A client, a protected server and the authorization server of this package, each by its public address. */
async function setUp(world: GuardedWorld, t: TestContext, { issuer, protect, oauth: options }: Settings = {}) {
  const as = await IssuerWorld.open(t, { resources: [RESOURCE], scopes: SCOPES, ...issuer });
  const asked: string[] = [];
  const toIssuer = (url: URL | RequestInfo, init?: RequestInit) => as.fetch(String(url), init);
  const guarded = await world.guard({
    protect: {
      verify: jwtVerifier({ issuer: ISSUER, fetch: toIssuer as typeof fetch }),
      authorizationServers: [ISSUER],
      scopes: ["read"],
      now: Date.now,
      ...protect,
    },
  });
  const browser = as.browser();
  const visits: URLSearchParams[] = [];
  const authorize = async (url: URL) => {
    visits.push(url.searchParams);
    const page = await browser.fetch(url);
    const answer = page.status === 200 ? await browser.press(page) : page;
    return answer.headers.get("location") ?? "";
  };
  const store = memoryStore();
  const auth = () =>
    oauth({
      ...(options?.grant === undefined ? { redirectUrl: "http://127.0.0.1:9/cb", authorize } : {}),
      clientName: "round tripper",
      store,
      fetch: async (input, init = {}) => {
        const url = new URL(String(input));
        const response = url.origin === ISSUER ? await as.fetch(url, init) : await guarded.fetch(url, init);
        asked.push(`${init.method ?? "GET"} ${url.origin}${url.pathname} ${response.status}`);
        return response;
      },
      ...options,
    });
  const dial = async (): Promise<Client> => {
    const client = await connect(RESOURCE, { ...auth(), era: world.era });
    t.after(() => client.close());
    return client;
  };
  return { as, guarded, dial, visits, asked };
}

verifies("flow:oauth:authorization-code-roundtrip", guardedHttp, async (world, t) => {
  const { dial, visits, asked, guarded } = await setUp(world, t);
  const client = await dial();
  const who = JSON.parse((await client.callTool("who")).text) as Record<string, unknown>;
  deepEqual([who.subject, who.issuer, who.scopes], ["ada", ISSUER, ["read"]]);
  const begun = [
    `POST ${RESOURCE} 401`,
    "GET https://mcp.example/.well-known/oauth-protected-resource/mcp 200",
    `GET ${ISSUER}/.well-known/oauth-authorization-server 200`,
    `POST ${ISSUER}/register 201`,
    `POST ${ISSUER}/token 200`,
    `POST ${RESOURCE} 200`,
  ];
  deepEqual(asked.slice(0, begun.length), begun);
  deepEqual(
    visits.map((visit) => [visit.get("scope"), visit.get("resource")]),
    [["read", RESOURCE]],
  );
  asked.splice(0);
  const again = await dial();
  equal((await again.callTool("who")).isError, false);
  ok(
    asked.every((line) => line.includes(` ${RESOURCE} `)),
    asked.join("\n"),
  );
  equal(visits.length, 1);
  equal(guarded.seen.length, 2);
});

verifies(
  "flow:oauth:authorization-code-roundtrip",
  "more is asked for when a tool needs it",
  guardedHttp,
  async (world, t) => {
    const { dial, visits } = await setUp(world, t);
    const client = await dial();
    ok((await client.tools().all()).some(({ name }) => name === "both"));
    const both = JSON.parse((await client.callTool("both")).text) as { scopes: string[] };
    deepEqual(new Set(both.scopes), new Set(["read", "a", "b"]));
    equal((await client.callTool("who")).isError, false);
    deepEqual(
      visits.map((visit) => new Set(visit.get("scope")?.split(" "))),
      [new Set(["read"]), new Set(["read", "a", "b"])],
    );
  },
);

verifies(
  "flow:oauth:authorization-code-roundtrip",
  "with tokens that are bound to a key",
  guardedHttp,
  async (world, t) => {
    const { dial, visits, asked } = await setUp(world, t, {
      issuer: { dpop: { nonce: true } },
      protect: { dpop: { required: true, nonce: true } },
      oauth: { dpop: {} },
    });
    const client = await dial();
    const who = JSON.parse((await client.callTool("who")).text) as { confirmation: object };
    deepEqual(Object.keys(who.confirmation), ["jkt"]);
    equal((await client.callTool("who")).isError, false);
    equal(visits.length, 1);
    ok(asked.includes(`POST ${ISSUER}/token 400`), "the first proof had no nonce");
  },
);

verifies(
  ["hosting:auth:as:client-credentials", "hosting:auth:as:wif:trust", "hosting:auth:as:identity-assertion:claims"],
  "clients without a browser get in",
  guardedHttp,
  async (world, t) => {
    const provider = await TokenIssuer.create();
    provider.now = Date.now();
    const fetch = provider.fetch as typeof globalThis.fetch;
    const jwtBearer = "urn:ietf:params:oauth:grant-type:jwt-bearer";
    const pinned = { issuer: ISSUER, client: { id: "service", secret: "s" } };
    const jti = () => crypto.randomUUID();
    const userAssertion = () =>
      provider.sign(
        { aud: ISSUER, client_id: "service", resource: RESOURCE, scope: "read", jti: jti() },
        { typ: "oauth-id-jag+jwt" },
      );
    const ways: [OAuthOptions, subject: string][] = [
      [{ ...pinned, grant: clientCredentials() }, "service"],
      [{ ...pinned, grant: identityAssertion(userAssertion, { requireProfile: true }) }, "ada"],
      [
        {
          issuer: ISSUER,
          grant: workloadIdentity(() => provider.sign({ aud: ISSUER, sub: "job", jti: jti() }, { typ: "JWT" })),
        },
        "job",
      ],
    ];
    for (const [oauth, subject] of ways) {
      const { dial, visits } = await setUp(world, t, {
        oauth,
        issuer: {
          clientCredentials: true,
          identityAssertion: { providers: [{ issuer: PROVIDER, fetch }] },
          workloadIdentity: { issuers: [{ issuer: PROVIDER, fetch, allow: ({ sub }) => sub === "job" }] },
          clients: [{ clientId: "service", clientSecret: "s", grantTypes: ["client_credentials", jwtBearer] }],
        },
      });
      const connected = await dial();
      const who = JSON.parse((await connected.callTool("who")).text) as { subject: string };
      deepEqual([who.subject, visits.length], [subject, 0]);
    }
  },
);
