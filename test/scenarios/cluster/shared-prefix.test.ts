import { deepEqual, equal, match, throws } from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { createMemoryIssuerStore, type IssuerStore } from "bowline/auth/issuer";
import { authStore, createMemoryState, issuerStore } from "bowline/cluster";
import { AuthWorld } from "../../support/auth-world.js";
import { CLIENT, createPkce, IssuerWorld } from "../../support/issuer-world.js";

test("the requests of a user never have the tokens of another user of the same cluster", async (t) => {
  const world = await AuthWorld.open(t, "modern");
  const state = createMemoryState();
  const storeOf = (user: string) => authStore(state.node(), { user });
  equal((await world.call(world.oauth({ store: storeOf("ann") }))).status, 200);
  world.arrivals.length = 0;
  const authorize = () => Promise.reject(new Error("bob was asked"));
  const asked = await world.call(world.oauth({ store: storeOf("bob"), authorize })).catch((error: unknown) => error);
  match(String((asked as Error).message), /bob was asked/);
  const credentials = world.to(world.posts).map(({ headers }) => headers.get("authorization"));
  deepEqual(credentials, [null]);
  world.arrivals.length = 0;
  equal((await world.call(world.oauth({ store: storeOf("ann"), authorize }))).status, 200, "ann has her tokens still");
  equal(world.arrivals.length, 1);
});

test("no name of a user reaches the values or locks of another user", async () => {
  const cluster = createMemoryState().node();
  const names = ["a", "a/b", "a%2Fb", "a ", "A", "ä", "a\u0308", "a:b", "..", "a\u0000"];
  const stores = names.map((user) => authStore(cluster, { user }));
  for (const [at, store] of stores.entries()) {
    for (const key of ["x", "b/x", "/x"]) await store.set(key, names[at]);
  }
  for (const [at, store] of stores.entries()) {
    for (const key of ["x", "b/x", "/x"]) equal(await store.get(key), names[at]);
  }
  const { signal } = new AbortController();
  const lockAll = stores.reduceRight(
    (inner, store) => () => store.lock("x", inner, signal),
    async () => "all at once",
  );
  equal(await lockAll(), "all at once");
});

test("a store of tokens needs the name of its user", () => {
  const cluster = createMemoryState().node();
  for (const options of [undefined, {}, { user: "" }, { user: 7 }, { user: "\ud800" }])
    throws(() => authStore(cluster, options as never), { name: "DefinitionError", message: /^authStore: .*user/ });
  throws(() => authStore(cluster, { user: "ann", keepMS: 1 } as never), { message: /did you mean keepMs\?/ });
});

for (const [name, createStore] of [
  ["a cluster", () => issuerStore(createMemoryState().node())],
  ["a memory store", () => createMemoryIssuerStore()],
] as const) {
  test(`two issuers in ${name} share neither clients nor codes nor tokens`, async (t) => {
    await issuersApart(t, createStore());
  });
}

async function issuersApart(t: TestContext, store: IssuerStore): Promise<void> {
  const one = await IssuerWorld.open(t, { store });
  const other = await IssuerWorld.open(t, { store, issuer: "https://as.example/other" });
  const { id } = await one.register();
  equal((await one.browser().authorize({ client_id: id, code_challenge: createPkce().challenge })).status, 200);
  const refused = await other.browser().authorize({ client_id: id, code_challenge: createPkce().challenge });
  equal(refused.status, 400);
  const code = await one.code();
  equal((await other.redeem(code)).json.error, "invalid_grant");
  const { json } = await one.redeem(code);
  const refresh = { grant_type: "refresh_token", client_id: CLIENT, refresh_token: String(json.refresh_token) };
  equal((await other.token(refresh)).json.error, "invalid_grant");
  equal((await one.token(refresh)).status, 200, "the use at the other issuer has not ended the grant");
}
