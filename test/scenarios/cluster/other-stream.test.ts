import { deepEqual, equal } from "node:assert/strict";
import { UrlElicitationRequiredError } from "bowline";
import type { Cluster } from "bowline/cluster";
import { LegacyClient, messages, settle, status, until } from "../../support/legacy-endpoint.js";
import { at, NodesWorld, replaceParts } from "../../support/nodes-world.js";
import { proves } from "../../support/verifies.js";

const wire = "legacy-http";
const methods = (exchange: Parameters<typeof messages>[0]) => messages(exchange).map(({ method }) => method);

/** A node that is not told of changed sessions. */
function withoutNews({ bus }: Cluster): Partial<Cluster> {
  const subscribe: typeof bus.subscribe = (topic, listener) =>
    bus.subscribe(topic, (text, from) => text.includes('"changed"') || listener(text, from));
  return { bus: replaceParts(bus, { subscribe }) };
}

proves(
  "cluster:session:any-node",
  { wire },
  "a stream that opens knows of a handshake that ended in another process",
  async (t) => {
    const world = new NodesWorld(t);
    const one = world.node(({ server }) => void server.tool("a", {}, () => "a"), withoutNews);
    const other = world.node(({ server }) => void server.tool("a", {}, () => "a"));
    const opened = one.endpoint.initialize();
    await status(opened, 200);
    const client = new LegacyClient(one.endpoint, { session: opened.headers["mcp-session-id"] });
    await status(at(other, client).notify("notifications/initialized"), 202);
    await settle();
    const stream = client.get();
    await settle();
    one.endpoint.server.changes.toolsChanged();
    await until(() => methods(stream).length > 0, "the change");
    deepEqual(methods(stream), ["notifications/tools/list_changed"]);
  },
);

for (const holder of [0, 1]) {
  proves(
    "cluster:standalone:newest",
    { wire },
    `the end of a URL elicitation is told on the stream in ${["the same", "another"][holder]} process`,
    async (t) => {
      const world = new NodesWorld(t);
      const nodes = [0, 1].map(() =>
        world.node(({ server }) => {
          server.tool("buy", {}, () => {
            throw new UrlElicitationRequiredError([{ message: "Pay", url: "https://x.test/pay", elicitationId: "p1" }]);
          });
        }),
      );
      const [one] = nodes as [(typeof nodes)[0]];
      const client = await one.endpoint.open("2025-11-25", { elicitation: { url: {} } });
      const stream = at(nodes[holder] as typeof one, client).get();
      await settle();
      await status(client.call(1, "buy"), 200);
      one.endpoint.server.elicitationCompleted("p1");
      await until(() => methods(stream).length > 0, "the notification");
      await settle();
      deepEqual(methods(stream), ["notifications/elicitation/complete"]);
      equal(messages(stream)[0]?.params?.elicitationId, "p1");
    },
  );
}
