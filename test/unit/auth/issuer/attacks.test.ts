import { deepEqual, doesNotThrow, equal, ok, throws } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createIssuer, type IssuerOptions, type IssuerStore, memoryIssuerStore } from "bowline/auth/issuer";
import { gate } from "../../../support/gate.js";
import { CLIENT, IssuerWorld } from "../../../support/issuer-world.js";

/** An issuer with a memory store that is changed a little, and has the world's time. */
async function openWith(t: TestContext, change: (memory: IssuerStore) => Partial<IssuerStore>): Promise<IssuerWorld> {
  let world: IssuerWorld | undefined;
  const memory = memoryIssuerStore({ now: () => Date.now() + (world?.skippedMs ?? 0) });
  world = await IssuerWorld.open(t, { store: { ...memory, ...change(memory) } });
  return world;
}

/** An issuer whose memory store has room for four of each kind, and forty marks. */
async function openSmall(t: TestContext, options: Partial<IssuerOptions> = {}): Promise<IssuerWorld> {
  let world: IssuerWorld | undefined;
  const now = () => Date.now() + (world?.skippedMs ?? 0);
  const limits = { maxClients: 4, maxGrants: 4, maxMarks: 40, maxMarksPerUser: 40 };
  world = await IssuerWorld.open(t, { store: memoryIssuerStore({ limits, now }), ...options });
  return world;
}

test("a client that refreshes often takes room from nobody, and its oldest token still gives a thief away", async (t) => {
  const world = await openSmall(t);
  const idle = await world.tokens();
  const busy = await world.tokens();
  let newest = busy.refresh;
  for (let round = 0; round < 10; round++) {
    const { status, json } = await world.refresh(newest);
    equal(status, 200);
    newest = String(json.refresh_token);
    world.skippedMs += 900_000;
  }
  equal((await world.refresh(idle.refresh)).status, 200);
  equal((await world.redeem(await world.code())).status, 200);
  equal((await world.refresh(busy.refresh)).json.error, "invalid_grant");
  equal((await world.refresh(newest)).json.error, "invalid_grant");
  deepEqual(world.errors, []);
});

test("whoever answers question after question keeps nobody from redeeming a code", async (t) => {
  const world = await openSmall(t);
  const code = await world.code();
  for (let round = 0; round < 40; round++) {
    const browser = world.browser();
    await browser.press(await browser.authorize(), "deny");
  }
  equal((await world.redeem(code)).status, 200);
});

test("a revocation is remembered for as long as what it revokes would live, and no longer", async (t) => {
  const marks: number[] = [];
  const world = await openWith(t, (memory) => ({
    add: (key, value, expiresAt) => {
      if (key.startsWith("revoked:")) marks.push(expiresAt);
      return memory.add(key, value, expiresAt);
    },
  }));
  const revoked = await world.tokens();
  equal((await world.post("revoke", { client_id: CLIENT, token: revoked.refresh })).status, 200);
  const stolen = await world.tokens();
  const next = String((await world.refresh(stolen.refresh)).json.refresh_token);
  equal((await world.refresh(stolen.refresh)).json.error, "invalid_grant");
  const code = await world.code();
  const twice = await world.redeem(code);
  equal((await world.redeem(code)).json.error, "invalid_grant");
  equal(marks.length, 3);
  const most = Date.now() + 16 * 60_000;
  for (const mark of marks) ok(mark <= most, `a mark for ${mark - Date.now()} ms`);
  const gone = [revoked.access, stolen.access, twice.json.access_token];
  for (const token of gone) equal(await world.admits(token), false);
  world.skippedMs += 17 * 60_000;
  for (const token of [revoked.refresh, next, stolen.refresh, String(twice.json.refresh_token)]) {
    equal((await world.refresh(token)).json.error, "invalid_grant");
  }
  deepEqual(world.errors, []);
});

test("a refresh that is under way when its grant is revoked yields nothing that outlives the revocation", async (t) => {
  const [writing, written] = [gate(), gate()];
  let slow = false;
  const world = await openWith(t, (memory) => ({
    put: async (key, value, expiresAt) => {
      if (slow && key.startsWith("refresh:")) {
        writing.open();
        await written.opened;
      }
      await memory.put(key, value, expiresAt);
    },
  }));
  const { refresh } = await world.tokens();
  slow = true;
  const refreshing = world.refresh(refresh);
  await writing.opened;
  equal((await world.post("revoke", { client_id: CLIENT, token: refresh })).status, 200);
  written.open();
  const { json } = await refreshing;
  equal(await world.admits(json.access_token), false);
  world.skippedMs += 17 * 60_000;
  for (const token of [String(json.refresh_token), refresh]) {
    equal((await world.refresh(token)).json.error, "invalid_grant");
  }
});

test("half a refresh token, or one of a made-up family, is no refresh token and ends nothing", async (t) => {
  const world = await openSmall(t);
  const { refresh } = await world.tokens();
  const half = refresh.slice(refresh.length / 2 + 1);
  for (const forged of [half, `x.${refresh}`, `${half}.${refresh}`, ".", "x"]) {
    equal((await world.refresh(forged)).json.error, "invalid_grant", forged);
  }
  equal((await world.refresh(refresh)).status, 200);
});

test("the client's secret goes to no provider in the clear", () => {
  const issuer = (authorizationEndpoint: string, tokenEndpoint: string) => () =>
    createIssuer({
      issuer: "https://as.example",
      resources: ["https://mcp.example/mcp"],
      upstream: { authorizationEndpoint, tokenEndpoint, clientId: "a", clientSecret: "b", user: () => ({ id: "c" }) },
    });
  throws(issuer("https://login.example/a", "http://login.example/t"), /login\.example\/t/);
  throws(issuer("http://login.example/a", "https://login.example/t"), /login\.example\/a/);
  throws(issuer("https://login.example/a", "nowhere"), /nowhere/);
  doesNotThrow(issuer("https://login.example/a", "http://127.0.0.1:9/t"));
});

test("what a stranger registers is kept, and so it is small", async (t) => {
  const world = await openSmall(t);
  const uris = (length: number) => ({ redirect_uris: [`https://app.example/${"x".repeat(length)}`] });
  equal((await world.register(uris(1_900))).status, 201);
  equal((await world.register(uris(2_100))).json.error, "invalid_redirect_uri");
  equal((await world.register({ padding: "x".repeat(20_000) })).status, 413);
});

test("a provider vouches for no users of another: who has several says who is who", () => {
  const issuer = (identityAssertion: NonNullable<IssuerOptions["identityAssertion"]>) => () =>
    createIssuer({
      issuer: "https://as.example",
      resources: ["https://mcp.example/mcp"],
      user: () => ({ id: "a" }),
      identityAssertion,
    });
  const providers = [{ issuer: "https://one.example" }, { issuer: "https://two.example" }];
  throws(issuer({ providers }), /identityAssertion\.subject/);
  doesNotThrow(issuer({ providers, subject: ({ iss, sub }) => `${iss} ${sub}` }));
  doesNotThrow(issuer({ providers: providers.slice(1) }));
});
