import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { type IssuerStore, memoryIssuerStore } from "bowline/auth/issuer";
import { answerOf, IssuerWorld, inOrder, RESOURCE, toParams } from "../../../support/issuer-world.js";

test("a login page gets an address that repeats the whole authorization request", async (t) => {
  const other = "https://mcp.example/other";
  const addresses: URL[] = [];
  let user: { readonly id: string } | undefined;
  const world = await IssuerWorld.open(t, {
    resources: [RESOURCE, other],
    user: (_, { returnTo }) => {
      addresses.push(returnTo);
      return user ?? new Response("please log in", { status: 401 });
    },
  });
  const request = toParams({ ...inOrder(), resource: [RESOURCE, other], scope: "notes:read notes:write" });
  const browser = world.browser();
  equal((await browser.fetch(`authorize?${request}`)).status, 401);
  const [address] = addresses;
  ok(address !== undefined);
  const sorted = (params: URLSearchParams) => [...params].sort();
  deepEqual(sorted(address.searchParams), sorted(request));
  user = { id: "ada" };
  const answer = answerOf(await browser.press(await browser.fetch(address)));
  ok(answer.has("code"));
  equal(answer.get("state"), "xyz");
});

test("a browser goes to the upstream provider only after the store protects its client", async (t) => {
  const memory = memoryIssuerStore();
  const failed = new Error("the store is gone");
  let fails = false;
  const put: IssuerStore["put"] = async (key, ...rest) => {
    if (fails && key.startsWith("client:")) throw failed;
    await memory.put(key, ...rest);
  };
  const world = await IssuerWorld.open(t, {
    store: { ...memory, put },
    upstream: {
      authorizationEndpoint: "https://idp.example/authorize",
      tokenEndpoint: "https://idp.example/token",
      clientId: "the-issuer",
      clientSecret: "a secret of the two",
      user: () => ({ id: "ada" }),
    },
  });
  const { id } = await world.register();
  const browser = world.browser();
  const page = await browser.authorize({ client_id: id });
  fails = true;
  const response = await browser.press(page);
  deepEqual([response.status, response.headers.get("location")], [500, null]);
  deepEqual(world.errors, [failed]);
});
