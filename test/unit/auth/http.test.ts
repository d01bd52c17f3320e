import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { AuthError } from "bowline/client";
import { type AuthRun, OAuthHttp } from "#src/auth/http.js";
import type { Fetch } from "#src/http/client/send.js";

const METADATA = new URL("https://as.example/.well-known/oauth-authorization-server");
const TOKEN = new URL("https://as.example/token");

const open = (fetch: Fetch) => new OAuthHttp(fetch, { allowInsecure: false, allowPrivate: false }, {});

const startRun = (): AuthRun => ({ signal: new AbortController().signal, tried: [], now: () => 0 });

test("a metadata document is a JSON object, and nothing else", async () => {
  const read = async (body: string) => {
    const http = open(async () => new Response(body));
    return await http.getDocument(METADATA, startRun(), "server_metadata");
  };
  deepEqual(await read('{"issuer":"https://as.example"}'), { kind: "found", json: { issuer: "https://as.example" } });
  for (const body of ["null", "[]", '[{"issuer":"x"}]', "1", "true", '"text"'])
    deepEqual(await read(body), { kind: "absent", why: "not a JSON object", status: 200 }, body);
  deepEqual(await read("{"), { kind: "absent", why: "not JSON", status: 200 });
});

test("a failure lists the URLs that were requested, those of posts too, and no refused one", async () => {
  const http = open(async (url) => {
    if (String(url) === TOKEN.href) throw new TypeError("connection refused");
    return new Response("{}");
  });
  const run = startRun();
  await http.getDocument(METADATA, run, "server_metadata");
  const tried = [METADATA.href, TOKEN.href];
  const lists = (step: string) => (error: unknown) => {
    deepEqual(error instanceof AuthError && [error.step, error.tried], [step, tried]);
    return true;
  };
  await rejects(http.post(TOKEN, { body: "a=1" }, run, "token"), lists("token"));
  await rejects(http.post(new URL("http://as.example/token"), {}, run, "token"), lists("configuration"));
  equal(run.tried.length, 2);
});
