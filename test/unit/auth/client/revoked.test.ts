import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { test } from "node:test";
import { AuthError, memoryStore } from "bowline/auth/client";
import { AuthWorld } from "../../../support/auth-world.js";

const HOUR = 3_600_000;
const refreshes = (world: AuthWorld) =>
  world.to("POST https://as.example/token").filter(({ form }) => form.get("grant_type") === "refresh_token");
const logins = (world: AuthWorld) => world.count("GET https://as.example/authorize");

/** What a user does who takes the grant back at the authorization server: both kinds of token are good no more. */
function revoke(world: AuthWorld): void {
  world.as.live.clear();
  world.as.refresh.clear();
}

for (const era of ["modern", "legacy"] as const) {
  test(`a revoked refresh token is tried once for all calls under way, and one login serves them [${era}]`, async (t) => {
    const world = await AuthWorld.open(t, era);
    world.as.refreshes = true;
    const store = memoryStore();
    const client = await world.connect(world.oauth({ store }));
    const key = `tokens ${world.mcp} https://as.example`;
    const { refreshToken: revoked } = store.get(key) as { refreshToken: string };
    revoke(world);
    const outcomes = await Promise.all(Array.from({ length: 10 }, () => client.callTool("echo", {})));
    deepEqual([...new Set(outcomes.map(({ text }) => text))], ["echo"]);
    deepEqual(
      refreshes(world).map(({ form }) => form.get("refresh_token")),
      [revoked],
    );
    equal(logins(world), 2);
    const { refreshToken: next } = store.get(key) as { refreshToken: string };
    ok(next !== revoked);
    world.as.live.clear();
    await client.callTool("echo", {});
    equal(refreshes(world).at(-1)?.form.get("refresh_token"), next, "the new grant is refreshed by its own token");
    equal(logins(world), 2);
  });

  test(`a server that rejects the refreshed token leads to a login, without another refresh [${era}]`, async (t) => {
    const world = await AuthWorld.open(t, era);
    world.as.refreshes = true;
    const client = await world.connect(world.oauth());
    world.as.live.clear();
    world.routes.set("POST https://as.example/token", ({ form }) => {
      const reply = world.as.token(form);
      if (form.get("grant_type") === "refresh_token") world.as.live.clear();
      return reply;
    });
    equal((await client.callTool("echo", {})).text, "echo");
    deepEqual([refreshes(world).length, logins(world)], [1, 2]);
  });

  for (const [when, laterMs] of [
    ["about to end", HOUR - 1000],
    ["over", 2 * HOUR],
  ] as const) {
    test(`a refresh token that was revoked leads to a login when the access token is ${when} [${era}]`, async (t) => {
      const world = await AuthWorld.open(t, era);
      world.as.refreshes = true;
      world.as.extra = { expires_in: 3600 };
      let now = Date.now();
      const client = await world.connect(world.oauth({ now: () => now }));
      revoke(world);
      now += laterMs;
      equal((await client.callTool("echo", {})).text, "echo");
      deepEqual([refreshes(world).length, logins(world)], [1, 2]);
    });
  }

  test(`a revoked grant of a user who does not consent again fails the calls, and keeps nothing [${era}]`, async (t) => {
    const world = await AuthWorld.open(t, era);
    world.as.refreshes = true;
    const store = memoryStore();
    const away = new Error("nobody is at the screen");
    let isAway = false;
    const authorize = (url: URL) => (isAway ? Promise.reject(away) : world.browse(url));
    const client = await world.connect(world.oauth({ store, authorize, redirectUrl: "http://127.0.0.1/callback" }));
    const key = `tokens ${world.mcp} https://as.example`;
    revoke(world);
    isAway = true;
    for (let round = 0; round < 2; round++) {
      await rejects(client.callTool("echo", {}), (error) => error instanceof AuthError && error.cause === away);
      equal(store.get(key), undefined);
    }
    equal(refreshes(world).length, 1, "a refresh token that was refused is not sent again");
    isAway = false;
    equal((await client.callTool("echo", {})).text, "echo");
    equal(refreshes(world).length, 1);
  });
}
