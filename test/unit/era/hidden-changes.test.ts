import assert from "node:assert/strict";
import { test } from "node:test";
import type { Caller } from "bowline/server";
import type { HttpExchange } from "#src/http/exchange.js";
import type { GateVerdict } from "#src/http/gate.js";
import { LegacyEndpoint, messages, status, until } from "../../support/legacy-endpoint.js";
import { modernRequest, sseMessages } from "../../support/modern-request.js";
import { proves } from "../../support/verifies.js";

const OPEN = "note://open";
const SECRET = "note://secret";
const MEMBER = "file://secret/1";
const UNKNOWN = "else://where";

/** A gate that believes what a header says, and resources of which some are for ada alone. */
function openHarbour(visible: (user: unknown) => boolean | Promise<boolean> = (user) => user === "ada") {
  const gate = (exchange: HttpExchange): GateVerdict => {
    const user = exchange.header("x-user") ?? "";
    return { auth: { subject: user }, principal: user };
  };
  const endpoint = new LegacyEndpoint({ gate });
  const hidden = { visible: (caller: Caller) => visible(caller.auth?.subject) };
  endpoint.server
    .resource(OPEN, { name: "open" }, () => "")
    .resource(SECRET, { name: "secret", ...hidden }, () => "")
    .resource("file://secret/{id}", { name: "file", ...hidden }, () => "");
  const publish = () => {
    for (const uri of [SECRET, MEMBER, UNKNOWN, OPEN]) endpoint.server.changes.resourceUpdated(uri);
  };
  return { endpoint, publish };
}

const ALL = [OPEN, SECRET, MEMBER];
const uris = [...ALL, UNKNOWN];
const updatedIn = (heard: readonly { method?: unknown; params?: unknown }[]) =>
  heard
    .filter(({ method }) => method === "notifications/resources/updated")
    .map(({ params }) => (params as { uri: string }).uri);

async function subscriber(endpoint: LegacyEndpoint, user: string, seen: readonly string[]) {
  const client = await endpoint.open("2025-11-25", {}, { headers: { "x-user": user }, principal: user });
  const stream = client.get(undefined, { "x-user": user });
  await until(() => stream.status === 200);
  for (const [id, uri] of uris.entries()) {
    const answered = await status(client.request(id, "resources/subscribe", { uri }), 200);
    const { result, error } = messages(answered).at(-1) ?? {};
    if (seen.includes(uri)) assert.deepEqual(result, {});
    else
      assert.deepEqual(
        error,
        { code: -32002, message: "Resource not found", data: { uri } },
        "what is hidden is answered as what is not known",
      );
  }
  return () => updatedIn(messages(stream));
}

async function listener(endpoint: LegacyEndpoint, user: string, seen: readonly string[]) {
  const { body, headers } = modernRequest("subscriptions/listen", {
    params: { notifications: { resourceSubscriptions: uris } },
    headers: { "x-user": user },
  });
  const stream = endpoint.send("POST", body, { headers });
  await until(() => sseMessages(stream.body()).length === 1);
  const [acknowledged] = sseMessages(stream.body());
  const params = acknowledged?.params as { readonly notifications: object } | undefined;
  assert.deepEqual(
    params?.notifications,
    { resourceSubscriptions: seen },
    "what is hidden is left out as what is not known",
  );
  return () => updatedIn(sseMessages(stream.body()));
}

for (const [era, join, id] of [
  ["a session", subscriber, "resources:subscribe:exists"],
  ["a subscription", listener, "resources:listen:exists"],
] as const) {
  proves(id, { wire: "http" }, `${era} hears nothing of resources that its caller cannot see`, async () => {
    const { endpoint, publish } = openHarbour();
    const [ada, bob] = [await join(endpoint, "ada", ALL), await join(endpoint, "bob", [OPEN])];
    publish();
    await until(() => ada().length === 3 && bob().length === 1);
    assert.deepEqual(ada().sort(), [...ALL].sort());
    assert.deepEqual(bob(), [OPEN]);
    await endpoint.server.close();
  });

  test(`${era} is asked at each change whether its caller may see`, async () => {
    const allowed = new Set<unknown>(["bob"]);
    const { endpoint, publish } = openHarbour(async (user) => allowed.has(user));
    const bob = await join(endpoint, "bob", ALL);
    allowed.delete("bob");
    publish();
    await until(() => bob().length === 1);
    allowed.add("bob");
    publish();
    await until(() => bob().length === 4);
    await endpoint.server.close();
  });

  test(`${era} hears nothing where the question fails, and the author does`, async () => {
    let knows = true;
    const { endpoint, publish } = openHarbour(() => {
      if (knows) return true;
      throw new Error("no idea");
    });
    const bob = await join(endpoint, "bob", ALL);
    knows = false;
    publish();
    await until(() => bob().length === 1 && endpoint.reports.length === 2);
    assert.deepEqual(
      endpoint.reports.map(({ error, where }) => [(error as Error).message, where]),
      [
        ["no idea", "visible"],
        ["no idea", "visible"],
      ],
    );
    await endpoint.server.close();
  });
}
