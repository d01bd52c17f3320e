import { deepEqual, equal, rejects } from "node:assert/strict";
import { test } from "node:test";
import { createMirror } from "#src/auth/server/documents.js";
import { TokenCache, toAuthInfo } from "#src/auth/server/verified-tokens.js";

function caching(max: number) {
  const time = { now: 1_000_000 };
  return { time, cache: new TokenCache(max, () => time.now) };
}

const info = (token: string, expiresAt?: number) => ({ token, scopes: [], expiresAt });

test("a token is known until its time is over, or until its own end", () => {
  const { time, cache } = caching(10);
  cache.keep(info("a"), 100);
  cache.keep(info("b", 1_000), 100);
  cache.keep(info("c", 1_000.05), 100);
  equal(cache.find("b"), undefined, "it ends now");
  time.now += 49;
  equal(cache.find("c")?.token, "c");
  time.now += 1;
  equal(cache.find("c"), undefined);
  time.now += 49;
  equal(cache.find("a")?.token, "a");
  time.now += 1;
  equal(cache.find("a"), undefined);
  cache.keep(info("d"), 0);
  equal(cache.find("d"), undefined);
});

test("as many tokens are kept as are allowed, and the oldest make room", () => {
  const { cache } = caching(2);
  for (const token of ["a", "b"]) cache.keep(info(token), 100);
  cache.keep(info("a"), 100);
  cache.keep(info("c"), 100);
  deepEqual(
    ["a", "b", "c"].map((token) => cache.find(token) !== undefined),
    [true, false, true],
  );
  const none = caching(0);
  none.cache.keep(info("a"), 100);
  equal(none.cache.find("a"), undefined);
});

test("claims are read in the forms that servers use", () => {
  const read = (claims: object) => {
    const { clientId, scopes, subject, issuer } = toAuthInfo("t", claims as never);
    return [clientId, scopes, subject, issuer];
  };
  deepEqual(read({ client_id: "c", azp: "z", scope: "a  b", sub: "u", iss: "i" }), ["c", ["a", "b"], "u", "i"]);
  deepEqual(read({ azp: "z", scp: ["a", "", 7, "b"], sub: 12, iss: "" }), ["z", ["a", "b"], "12", undefined]);
  deepEqual(read({ client_id: "", scope: 7, sub: {} }), [undefined, [], undefined, undefined]);
  const { expiresAt, audience, confirmation } = toAuthInfo("t", { exp: 5, aud: ["a"], cnf: { jkt: "k" } });
  deepEqual([expiresAt, audience, confirmation], [5, ["a"], { jkt: "k" }]);
});

test("metadata of an issuer is fetched once per time, and after a failure once per shorter time", async () => {
  let now = 0;
  let asked = 0;
  let fails = false;
  const server = {
    metadata: async () => {
      asked++;
      if (fails) throw new Error("down");
      return { issuer: "i", asked };
    },
  };
  const limits = { mirrorMs: 100, keysCooldownMs: 10 };
  const mirror = createMirror("i", server as never, () => now, limits as never);
  equal(await mirror(), '{"issuer":"i","asked":1}');
  now = 99;
  equal(await mirror(), '{"issuer":"i","asked":1}');
  now = 100;
  equal(await mirror(), '{"issuer":"i","asked":2}');
  fails = true;
  now = 200;
  await rejects(mirror(), /down/);
  now = 209;
  await rejects(mirror(), /down/);
  equal(asked, 3);
  fails = false;
  now = 210;
  equal(await mirror(), '{"issuer":"i","asked":4}');
});
