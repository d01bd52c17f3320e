import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import type { HttpExchange } from "#src/http/exchange.js";
import type { GateVerdict } from "#src/http/gate.js";
import { answer, LegacyEndpoint, messages, settle, status, until } from "../../support/legacy-endpoint.js";
import { modernRequest } from "../../support/modern-request.js";

/** A gate that believes the name in a header, if there is one. */
const gate = (exchange: HttpExchange): GateVerdict => ({ principal: exchange.header("x-user") });

function createWorld(limits: object) {
  const endpoint = new LegacyEndpoint({ gate }, { limits });
  endpoint.server.resource("note://{id}", { name: "note" }, () => "");
  const by = (user: string | undefined) => ({ headers: { "x-user": user }, principal: user });
  return {
    endpoint,
    session: (user?: string) => endpoint.open("2025-11-25", {}, by(user)),
    listen(uris: readonly string[], user?: string) {
      const { body, headers } = modernRequest("subscriptions/listen", {
        params: { notifications: { resourceSubscriptions: uris } },
        headers: { "x-user": user },
      });
      return endpoint.send("POST", body, { headers });
    },
    open: () => endpoint.server.stats().subscriptions,
  };
}

type Session = Awaited<ReturnType<ReturnType<typeof createWorld>["session"]>>;

let nextId = 0;
const subscribe = async (session: Session, uri: string) =>
  answer(session.request(++nextId, "resources/subscribe", { uri }));

test("the subscriptions of all sessions and of both eras are counted together", async () => {
  const { endpoint, session, listen, open } = createWorld({ maxSubscriptions: 4 });
  const [first, second] = [await session(), await session()];
  deepEqual((await subscribe(first, "note://1")).result, {});
  deepEqual((await subscribe(first, "note://1")).result, {}, "the same one again");
  deepEqual((await subscribe(second, "note://1")).result, {});
  const stream = listen(["note://1", "note://2"]);
  await until(() => open() === 4);
  for (const refused of [await subscribe(second, "note://2"), messages(await status(listen(["note://3"]), 503))[0]]) {
    equal(refused?.error?.code, -32005);
    match(refused?.error?.message ?? "", /allows 4 \(limits\.maxSubscriptions\)/);
  }
  equal(endpoint.server.stats().refused, 2);
  await status(first.delete(), 200);
  equal(open(), 3);
  deepEqual((await subscribe(second, "note://2")).result, {});
  stream.disconnect();
  await until(() => open() === 2);
  await endpoint.server.close();
  equal(open(), 0);
});

test("a principal has a share of its own, however many connections it has", async () => {
  const { endpoint, session, listen, open } = createWorld({ maxSubscriptionsPerPrincipal: 2 });
  const [first, second] = [await session("ada"), await session("ada")];
  await subscribe(first, "note://1");
  const stream = listen(["note://1"], "ada");
  await until(() => open() === 2);
  for (const refused of [
    await subscribe(second, "note://2"),
    messages(await status(listen(["note://2"], "ada"), 429))[0],
  ])
    match(refused?.error?.message ?? "", /may have 2 \(limits\.maxSubscriptionsPerPrincipal/);
  deepEqual((await subscribe(await session("bob"), "note://2")).result, {});
  await answer(first.request("u", "resources/unsubscribe", { uri: "note://1" }));
  deepEqual((await subscribe(second, "note://2")).result, {});
  stream.disconnect();
  await settle();
  await endpoint.server.close();
  equal(open(), 0);
});

test("where nobody is named, each session and each subscription request has a share", async () => {
  const { endpoint, session, listen, open } = createWorld({ maxSubscriptionsPerPrincipal: 1 });
  for (const each of [await session(), await session()]) {
    deepEqual((await subscribe(each, "note://1")).result, {});
    match((await subscribe(each, "note://2")).error?.message ?? "", /limits\.maxSubscriptionsPerPrincipal/);
  }
  await status(listen(["note://1", "note://2"]), 429);
  listen(["note://1"]);
  await until(() => open() === 3);
  await endpoint.server.close();
});
