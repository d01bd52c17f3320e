import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { cpSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, describe, it } from "node:test";
import { fileURLToPath, pathToFileURL } from "node:url";
import type * as auth from "bowline/auth/client";
import type * as authServer from "bowline/auth/server";

/** A copy of the package in a folder where of all optional packages only `jose` is installed, which servers need. */
const dist = dirname(dirname(fileURLToPath(import.meta.resolve("bowline/server"))));
const copy = mkdtempSync(join(tmpdir(), "bowline-alone-"));
cpSync(dist, copy, { recursive: true, filter: (path) => !path.endsWith(".map") });
mkdirSync(join(copy, "node_modules"));
const [jose = ""] = fileURLToPath(import.meta.resolve("jose")).split(/(?<=node_modules[\\/]jose)/);
symlinkSync(jose, join(copy, "node_modules/jose"), "junction");
after(() => rmSync(copy, { recursive: true, force: true }));

const ENTRIES = ["entry/auth-client.js", "entry/browser/auth-client.js"];
const RESOURCE = "https://api.example/mcp";
const ISSUER = "https://issuer.example";

const DOCUMENTS: { readonly [url: string]: object } = {
  "https://api.example/.well-known/oauth-protected-resource/mcp": {
    resource: RESOURCE,
    authorization_servers: [ISSUER],
  },
  [`${ISSUER}/.well-known/oauth-authorization-server`]: { issuer: ISSUER, token_endpoint: `${ISSUER}/token` },
};

describe("authorization of a client without the package oauth4webapi", () => {
  for (const entry of ENTRIES) {
    const load = async (): Promise<typeof auth> => import(pathToFileURL(join(copy, entry)).href);

    it(`sends tokens that the program has: ${entry}`, async () => {
      const { bearer } = await load();
      const sent: (string | null)[] = [];
      const { fetch } = bearer({
        token: () => "secret",
        fetch: async (_url, init) => {
          sent.push(new Headers(init.headers).get("authorization"));
          return new Response("{}");
        },
      });
      equal((await fetch(new URL(RESOURCE), {})).status, 200);
      deepEqual(sent, ["Bearer secret"]);
    });

    it(`names the package when it needs one: ${entry}`, async () => {
      const { AuthError, clientCredentials, oauth } = await load();
      const { fetch } = oauth({
        issuer: ISSUER,
        client: { id: "a", secret: "b" },
        grant: clientCredentials(),
        fetch: async (url) => {
          const found = DOCUMENTS[String(url)];
          return found === undefined ? new Response(null, { status: 401 }) : Response.json(found);
        },
      });
      await rejects(fetch(RESOURCE), (error) => {
        ok(error instanceof AuthError);
        equal(error.step, "configuration");
        equal(error.message, "oauth needs the package oauth4webapi: npm install oauth4webapi");
        return true;
      });
    });
  }
});

it("a server without the package oauth4webapi hears what needs it", async () => {
  const { introspectionVerifier }: typeof authServer = await import(
    pathToFileURL(join(copy, "entry/auth-server.js")).href
  );
  const { privateKey } = await crypto.subtle.generateKey({ name: "ECDSA", namedCurve: "P-256" }, false, ["sign"]);
  const verify = introspectionVerifier({ endpoint: `${ISSUER}/introspect`, client: { id: "a", key: privateKey } });
  await rejects(async () => verify("token"), {
    name: "AuthError",
    message: "a key of the client (private_key_jwt) needs the package oauth4webapi: npm install oauth4webapi",
  });
});
