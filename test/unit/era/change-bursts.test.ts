import { deepEqual, equal, ok } from "node:assert/strict";
import { test } from "node:test";
import { connect } from "bowline/client";
import { serveHttp } from "bowline/node";
import { McpServer } from "bowline/server";
import { LegacyEndpoint, messages, until } from "../../support/legacy-endpoint.js";

/** How many resources, and how often each changes: more characters than a reader may be behind. */
for (const [era, count, times] of [
  ["legacy", 200, 500],
  ["modern", 5_000, 1],
] as const) {
  const uris = Array.from({ length: count }, (_, index) => `note://${index}`);

  test(`${era}: a subscriber that reads stays through ${count * times} updates of one turn`, async (t) => {
    const server = new McpServer(
      { name: "s", version: "1" },
      { http: { remoteOf: () => "one" }, limits: { maxSubscriptionsPerPrincipal: count, maxWaitingChanges: 100 } },
    ).resource("note://{id}", { name: "note" }, () => "");
    const running = await serveHttp(server, { port: 0 });
    t.after(() => running.close());
    const client = await connect(running.url, { era });
    t.after(() => client.close());
    const watch = await client.watch({ resources: uris });
    for (let n = 0; n < times; n++) for (const uri of uris) server.changes.resourceUpdated(uri);
    const heard = new Set<string>();
    for await (const change of watch) {
      ok(change.kind === "resource", "nothing was missed");
      heard.add(change.uri);
      if (heard.size === count) break;
    }
    equal(heard.size, count);
  });
}

test("a session hears of equal changes once while its stream is full, and of none that it does not watch any more", async () => {
  const endpoint = new LegacyEndpoint();
  endpoint.server.resource("note://{id}", { name: "note" }, () => "");
  const client = await endpoint.open();
  for (const [id, uri] of ["note://a", "note://b"].entries())
    await client.request(id, "resources/subscribe", { uri }).done;
  const stream = client.get();
  await until(() => stream.status === 200);
  stream.pause();
  for (let n = 0; n < 1_000; n++)
    for (const uri of ["note://a", "note://b"]) endpoint.server.changes.resourceUpdated(uri);
  await client.request(3, "resources/unsubscribe", { uri: "note://b" }).done;
  equal(messages(stream).length, 1, "one change fills the stream");
  stream.resume();
  await until(() => messages(stream).length === 2);
  deepEqual(
    messages(stream).map(({ params }) => params?.uri),
    ["note://a", "note://a"],
  );
  await endpoint.server.close();
});
