import { deepEqual, equal, match } from "node:assert/strict";
import { test } from "node:test";
import type { HttpExchange } from "#src/http/exchange.js";
import type { GateVerdict } from "#src/http/gate.js";
import type { ServerOptions } from "#src/server/options.js";
import { gate as createGate } from "../../support/gate.js";
import { answer, LegacyEndpoint, messages, settle, status, until } from "../../support/legacy-endpoint.js";
import { modernRequest } from "../../support/modern-request.js";
import { proves } from "../../support/verifies.js";

const ID = "hosting:http:anonymous-subscriptions";

/** A gate that believes the name in a header, if there is one. */
const gate = (exchange: HttpExchange): GateVerdict => ({ principal: exchange.header("x-user") });

function createWorld(limits: object, resources: NonNullable<ServerOptions["resources"]> = {}) {
  const endpoint = new LegacyEndpoint({ gate }, { limits, resources });
  endpoint.server.resource("note://{id}", { name: "note" }, () => "");
  const by = (user: string | undefined, remote?: string) => ({ headers: { "x-user": user }, principal: user, remote });
  return {
    endpoint,
    session: (user?: string, remote?: string) => endpoint.open("2025-11-25", {}, by(user, remote)),
    listen(uris: readonly string[], user?: string, remote?: string) {
      const { body, headers } = modernRequest("subscriptions/listen", {
        params: { notifications: { resourceSubscriptions: uris } },
        headers: { "x-user": user },
      });
      return endpoint.send("POST", body, { headers, remote });
    },
    open: () => endpoint.server.stats().subscriptions,
  };
}

type Session = Awaited<ReturnType<ReturnType<typeof createWorld>["session"]>>;

let nextId = 0;
const subscribe = async (session: Session, uri: string) =>
  answer(session.request(++nextId, "resources/subscribe", { uri }));

test("the subscriptions of all sessions and of both eras are counted together", async () => {
  const { endpoint, session, listen, open } = createWorld({ maxSubscriptions: 4, anonymousShare: 1 });
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

const notes = (count: number, from = 0) => Array.from({ length: count }, (_, n) => `note://${from + n}`);
const limitIn = (exchange: ReturnType<LegacyEndpoint["send"]>) =>
  (messages(exchange)[0]?.error?.data as { readonly limit?: string } | undefined)?.limit;

proves(ID, { wire: "http" }, "an address has a share, however many connections it has", async () => {
  const { endpoint, session, listen, open } = createWorld({ maxSubscriptionsPerPrincipal: 2 });
  deepEqual((await subscribe(await session(undefined, "a"), "note://1")).result, {});
  listen(["note://2"], undefined, "a");
  await until(() => open() === 2);
  for (const refused of [
    await subscribe(await session(undefined, "a"), "note://3"),
    messages(await status(listen(["note://3"], undefined, "a"), 429))[0],
  ])
    match(refused?.error?.message ?? "", /limits\.maxSubscriptionsPerPrincipal/);
  listen(["note://3"], undefined, "b");
  await until(() => open() === 3);
  await endpoint.server.close();
  equal(open(), 0);
});

proves(ID, { wire: "http" }, "callers without a name leave some to those with one", async () => {
  const { endpoint, session, listen, open } = createWorld({ maxSubscriptions: 8, anonymousShare: 0.5 });
  listen(notes(3), undefined, "a");
  const session1 = await session(undefined, "b");
  deepEqual((await subscribe(session1, "note://1")).result, {});
  equal(limitIn(await status(listen(["note://1"], undefined, "c"), 503)), "anonymousShare");
  match((await subscribe(session1, "note://2")).error?.message ?? "", /limits\.anonymousShare/);
  listen(notes(4), "ada");
  await until(() => open() === 8);
  await endpoint.server.close();
  equal(open(), 0);
});

proves(ID, { wire: "http" }, "a hundred unknown callers are needed to use up what all of them may have", async () => {
  const { endpoint, listen, open } = createWorld({ maxSubscriptions: 2_000, anonymousShare: 0.75 });
  equal(limitIn(await status(listen(notes(16)), 429)), "anonymousShare");
  for (let streams = 0; streams < 10; streams++) listen(notes(15, streams));
  await until(() => open() === 150);
  listen(notes(1_000), "ada");
  await until(() => open() === 1_150);
  await endpoint.server.close();
});

proves(
  ["resources:subscribe:exists", "resources:listen:exists"],
  { wire: "http" },
  "what does not exist is not kept and does not count",
  async () => {
    const { endpoint, session, listen, open } = createWorld({ maxSubscriptionsPerPrincipal: 3 });
    const client = await session("ada");
    const { error } = await subscribe(client, "page://1");
    deepEqual([error?.code, error?.data], [-32002, { uri: "page://1" }]);
    equal(open(), 0);
    const stream = listen(["page://1", "note://1", "note://1", "page://2"], "ada");
    await until(() => open() === 1);
    deepEqual((messages(stream)[0]?.params as { notifications?: object } | undefined)?.notifications, {
      resourceSubscriptions: ["note://1"],
    });
    const none = listen(["page://1"], "ada");
    await none.done;
    deepEqual((messages(none)[0]?.params as { notifications?: object } | undefined)?.notifications, {});
    equal(open(), 1);
    await endpoint.server.close();
  },
);

test("a session that ends, or a request that is cancelled, while its resource is looked up subscribes to nothing", async () => {
  const heard: string[] = [];
  const { endpoint, session, listen, open } = createWorld({}, { onSubscribe: (uri) => heard.push(uri) });
  const [asked, visible] = [{ times: 0 }, createGate<boolean>()];
  const isSeen = () => {
    asked.times++;
    return visible.opened;
  };
  endpoint.server.resource("late://one", { name: "late", visible: isSeen }, () => "");
  const [ended, cancelling] = [await session(), await session()];
  const request = { uri: "late://one" };
  ended.request(1, "resources/subscribe", request);
  cancelling.request(2, "resources/subscribe", request);
  const stream = listen(["late://one"]);
  await until(() => asked.times === 3);
  await status(ended.delete(), 200);
  await status(cancelling.cancel(2), 202);
  stream.disconnect();
  visible.open(true);
  await settle();
  deepEqual([open(), heard], [0, []]);
});
