import { deepEqual, doesNotMatch, equal, rejects, throws } from "node:assert/strict";
import { once } from "node:events";
import { createServer, request } from "node:http";
import type { AddressInfo } from "node:net";
import { test } from "node:test";
import { type IssuerLimits, memoryIssuerStore, type OAuthProblem, rateLimiter } from "bowline/auth/issuer";
import { guardedFetch, toNodeListener } from "bowline/node";
import { freshMs } from "#src/auth/issuer/clients/document.js";
import { setCookie } from "#src/auth/issuer/login/consents.js";
import { Seal } from "#src/auth/issuer/seal.js";
import { gate } from "../../../support/gate.js";

/** A memory store that is small, at a time that can be set. */
function openStore(limits: Partial<IssuerLimits>) {
  const clock = { ms: 0 };
  const store = memoryIssuerStore({ limits, now: () => clock.ms });
  const keys = async (...names: string[]) => {
    const values = await Promise.all(names.map(store.get));
    return names.filter((_, index) => values[index] !== undefined);
  };
  return { clock, store, keys };
}

const FULL = { code: "temporarily_unavailable", status: 503, headers: { "retry-after": "60" } };
const LATE = 1_000_000;

test("the memory store forgets what expires, and the oldest of what nothing holds", async () => {
  const { clock, store, keys } = openStore({ maxClients: 2 });
  await store.put("client:a", 1, LATE);
  await store.put("client:b", 2, LATE);
  await store.put("refresh:x", 9, 10);
  await store.put("client:a", 3, LATE);
  await store.put("client:c", 4, LATE);
  deepEqual(await keys("client:a", "client:b", "client:c", "refresh:x"), ["client:a", "client:c", "refresh:x"]);
  equal(await store.get("client:a"), 3);
  clock.ms = 10;
  equal(await store.get("refresh:x"), undefined);
  await store.delete("client:a");
  equal(await store.get("client:a"), undefined);
});

test("no value that is held or needed makes room, and a store of such values takes no more", async () => {
  const { clock, store, keys } = openStore({ maxClients: 2 });
  await store.put("client:used", 1, LATE);
  await store.put("refresh:grant", 1, 5_000, { owner: "ada", needs: "client:used" });
  await store.put("client:new", 1, LATE, { heldUntil: 600 });
  await rejects(store.put("client:more", 1, LATE), FULL);
  deepEqual(await keys("client:used", "client:new", "client:more"), ["client:used", "client:new"]);
  clock.ms = 600;
  await store.put("client:more", 1, LATE, { heldUntil: LATE });
  deepEqual(await keys("client:used", "client:new", "client:more"), ["client:used", "client:more"]);
  await rejects(store.put("client:third", 1, LATE), FULL);
  // A grant that is replaced, as by a refresh, goes on to need its client; one that has ended does not.
  await store.put("refresh:grant", 2, 5_000, { owner: "ada", needs: "client:used" });
  await rejects(store.put("client:third", 1, LATE), FULL);
  clock.ms = 5_000;
  await store.put("client:third", 1, LATE);
  deepEqual(await keys("client:used", "client:more", "client:third"), ["client:more", "client:third"]);
});

test("a user has a share of the memory store, and takes room from no other user", async () => {
  const { store, keys } = openStore({ maxGrants: 4, maxGrantsPerUser: 2, maxClients: 4 });
  await store.put("client:first", 1, LATE);
  await store.put("refresh:ada", 1, LATE, { owner: "ada", needs: "client:first" });
  for (const name of ["1", "2", "3"]) {
    await store.put(`client:${name}`, 1, LATE);
    await store.put(`refresh:${name}`, 1, LATE, { owner: "eve", needs: `client:${name}` });
  }
  deepEqual(await keys("refresh:ada", "refresh:1", "refresh:2", "refresh:3"), [
    "refresh:ada",
    "refresh:2",
    "refresh:3",
  ]);
  // The client of the grant that is gone is free to go.
  await store.put("client:4", 1, LATE);
  deepEqual(await keys("client:first", "client:1", "client:2"), ["client:first", "client:2"]);
  await store.put("refresh:bob", 1, LATE, { owner: "bob" });
  await rejects(store.put("refresh:cleo", 1, LATE, { owner: "cleo" }), FULL);
  deepEqual(await keys("refresh:ada", "refresh:bob"), ["refresh:ada", "refresh:bob"]);
});

test("a limit of 0 per user rejects every value of a user, and leaves clients alone", async () => {
  const { store, keys } = openStore({ maxGrantsPerUser: 0, maxMarksPerUser: 0 });
  await rejects(store.put("refresh:a", 1, LATE, { owner: "ada" }), FULL);
  await rejects(store.add("spent:a", true, LATE, { owner: "ada" }), FULL);
  await store.put("client:a", 1, LATE);
  deepEqual(await keys("refresh:a", "spent:a", "client:a"), ["client:a"]);
});

test("marks are added once, and never dropped for others", async () => {
  const { clock, store } = openStore({ maxMarks: 20, maxMarksPerUser: 10 });
  const add = (name: string, owner: string, expiresAt = 20_000) =>
    store.add(`spent:${name}`, true, expiresAt, { owner });
  deepEqual(await Promise.all([add("a", "ada", 10_000), add("a", "ada")]), [true, false]);
  for (let count = 1; count < 10; count++) equal(await add(String(count), "ada"), true);
  const full = (error: OAuthProblem) =>
    /has reached limits\.maxMarksPerUser \(\d+\); raise this limit$/.test(String(error.cause));
  await rejects(add("more", "ada"), full);
  equal(await add("b", "bob"), true, "another user is not held to it");
  for (let count = 11; count < 20; count++) equal(await add(String(count), "bob"), true);
  await rejects(add("c", "cleo"), FULL);
  equal(await add("a", "ada"), false);
  clock.ms = 10_000;
  equal(await add("more", "ada"), true);
  equal(await store.get("spent:1"), true);
});

test("what is sealed opens for the same purpose, until it expires, with any key of the ring", async () => {
  let now = 0;
  const [one, two] = [new Uint8Array(32).fill(1), new Uint8Array(32).fill(2)];
  const old = new Seal([one], () => now);
  const sealed = await old.close("cookie", { a: "secret" }, 10);
  doesNotMatch(atob((sealed.split(".")[1] ?? "").replaceAll("-", "+").replaceAll("_", "/")), /secret/);
  deepEqual(await new Seal([two, one], () => now).open("cookie", sealed), { a: "secret" });
  equal(await old.open("form", sealed), undefined);
  equal(await new Seal([two], () => now).open("cookie", sealed), undefined);
  for (const text of [undefined, "", ".", "a.b", "a.b.c", `${sealed}x`, "!.!"])
    equal(await old.open("cookie", text), undefined);
  now = 10;
  equal(await old.open("cookie", sealed), undefined);
  throws(() => new Seal([new Uint8Array(31)], () => now), /32 bytes/);
  throws(() => new Seal([], () => now), /at least one/);
});

test("a limiter lets through what it allows, by endpoint and key, and says how long to wait", async () => {
  let now = 0;
  const limit = rateLimiter({
    allow: { token: { requests: 2, periodMs: 10_000 } },
    key: (asked) => asked.headers.get("x-client") ?? "",
    now: () => now,
  });
  const from = (client: string) => new Request("https://as.example/token", { headers: { "x-client": client } });
  deepEqual([limit("token", from("a")), limit("token", from("a"))], [undefined, undefined]);
  equal(limit("token", from("a")), 5);
  equal(limit("token", from("b")), undefined);
  equal(limit("register", from("a")), undefined);
  now = 5_000;
  equal(limit("token", from("a")), undefined);
  equal(limit("token", from("a")), 5);
});

test("headers say how long a document is fresh", () => {
  const fresh = (headers: Record<string, string>) => freshMs(new Headers(headers));
  equal(fresh({ "cache-control": "max-age=60" }), 60_000);
  equal(fresh({ "cache-control": "public, Max-Age=60", age: "45" }), 15_000);
  equal(fresh({ "cache-control": "max-age=60, no-store" }), 0);
  equal(fresh({ "cache-control": "no-cache" }), 0);
  equal(fresh({}), 60_000);
});

test("the age of a cookie is in whole seconds, and a cookie without one lasts as long as the browser", () => {
  equal(setCookie({ secure: true }, "a", "1", 90_500), "a=1; Path=/; Secure; HttpOnly; SameSite=Lax; Max-Age=90");
  equal(setCookie({ secure: false }, "a", "", 0), "a=; Path=/; HttpOnly; SameSite=Lax; Max-Age=0");
  equal(setCookie({ secure: true }, "a", "1"), "a=1; Path=/; Secure; HttpOnly; SameSite=Lax");
});

test("a guarded fetch reaches what it may, follows no redirect, and refuses the rest unseen", async (t) => {
  const seen: string[] = [];
  const server = createServer((incoming, outgoing) => {
    seen.push(`${incoming.method} ${incoming.url} ${incoming.headers.accept}`);
    outgoing.writeHead(incoming.url === "/moved" ? 302 : 200, { location: "/else", "x-a": ["1", "2"] }).end("{}");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const { port } = server.address() as AddressInfo;
  for (const host of ["127.0.0.1", "localhost", "[::1]", "10.0.0.1", "metadata.internal"]) {
    await rejects(guardedFetch()(new URL(`http://${host}:${port}/`), {}), /private address/, host);
  }
  const inside = guardedFetch({
    lookup: (_host, _options, done) => done(null, [{ address: "127.0.0.1", family: 4 }]),
  });
  await rejects(inside(new URL(`http://public.example:${port}/`), {}), /private address/);
  const nowhere = guardedFetch({ lookup: (_host, _options, done) => done(null, []) });
  await rejects(nowhere(new URL("http://public.example/"), {}), /no address/);
  deepEqual(seen, []);
  const local = guardedFetch({ allowLoopback: true });
  const response = await local(new URL(`http://localhost:${port}/moved`), { headers: { accept: "text/x" } });
  equal(response.status, 302);
  equal(response.headers.get("x-a"), "1, 2");
  equal(await response.text(), "{}");
  deepEqual(seen, ["GET /moved text/x"]);
  const abort = new AbortController();
  abort.abort(new Error("enough"));
  await rejects(local(new URL(`http://localhost:${port}/`), { signal: abort.signal }), { name: "AbortError" });
});

test("a function of web requests is served by node:http with cookies, bodies and departures", async (t) => {
  const [started, left] = [gate(), gate()];
  const listener = toNodeListener({
    fetch: async (asked) => {
      const { pathname } = new URL(asked.url);
      if (pathname === "/throws") throw new Error("secret");
      if (pathname === "/waits") {
        started.open();
        await once(asked.signal, "abort");
        left.open();
        return new Response(null);
      }
      if (pathname === "/early") {
        const reader = asked.body?.getReader();
        await reader?.read();
        await reader?.cancel();
        return new Response("too much", { status: 413 });
      }
      const headers = new Headers({ "x-method": asked.method });
      headers.append("set-cookie", "a=1");
      headers.append("set-cookie", "b=2");
      return new Response(`${asked.headers.get("x-twice")} ${await asked.text()}`, { status: 201, headers });
    },
  });
  const server = createServer(listener);
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  t.after(() => server.close());
  const base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const response = await fetch(`${base}/x?y`, { method: "POST", body: "hello", headers: { "x-twice": "1, 2" } });
  equal(response.status, 201);
  equal(await response.text(), "1, 2 hello");
  deepEqual(response.headers.getSetCookie(), ["a=1", "b=2"]);
  const failed = await fetch(`${base}/throws`);
  equal(failed.status, 500);
  doesNotMatch(await failed.text(), /secret/);
  const abort = new AbortController();
  const waiting = fetch(`${base}/waits`, { signal: abort.signal });
  await started.opened;
  abort.abort();
  await rejects(waiting, { name: "AbortError" });
  await left.opened;
  const early = await fetch(`${base}/early`, { method: "POST", body: "x".repeat(20_000_000) });
  equal(early.status, 413);
  equal(await early.text(), "too much");
  const long = "long ".repeat(200_000);
  equal(await (await fetch(`${base}/x`, { method: "POST", body: long })).text(), `null ${long}`);
  const odd = request(`${base}/`, { method: "TRACE" }).end();
  const [answer] = (await once(odd, "response")) as [import("node:http").IncomingMessage];
  equal(answer.statusCode, 400);
  answer.resume();
});
