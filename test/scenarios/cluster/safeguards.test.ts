import { deepEqual } from "node:assert/strict";
import type { Bus, Cluster, Logs, Writer } from "bowline/cluster";
import { gate } from "../../support/gate.js";
import { blocks, messages, settle, status, until } from "../../support/legacy-endpoint.js";
import { at, NodesWorld } from "../../support/nodes-world.js";
import { proves } from "../../support/verifies.js";

const wire = "legacy-http";

/** A bus that loses every message, and tells of no gap. */
function silent({ bus }: Cluster): { readonly bus: Bus } {
  return {
    bus: {
      publish: async () => {},
      subscribe: (topic, listener) => bus.subscribe(topic, listener),
      onGap: () => () => {},
    },
  };
}

/** Logs whose appends wait for `opened`. */
function slow({ logs }: Cluster, opened: Promise<void>): { readonly logs: Logs } {
  const claim = async (log: string, stream: string): Promise<Writer> => {
    const writer = await logs.claim(log, stream);
    return {
      async append(seq, data, options) {
        if (data.includes("progress")) await opened;
        return writer.append(seq, data, options);
      },
      wrote: (id) => writer.wrote(id),
    };
  };
  return {
    logs: new Proxy(logs, {
      get(target, name) {
        const value = target[name as keyof Logs] as unknown;
        return name === "claim" ? claim : typeof value === "function" ? value.bind(target) : value;
      },
    }),
  };
}

proves("cluster:session:cache", { wire }, "a session that ended is served for sessionCacheMs at most", async (t) => {
  const world = new NodesWorld(t);
  const [one, other] = [world.node(undefined, silent), world.node(undefined, silent)];
  const client = await one.endpoint.open();
  // The process that serves its first session hears of others from then on, and reads the session again.
  await status(at(other, client).request(1, "ping"), 200);
  await settle();
  await status(at(other, client).request(1, "ping"), 200);
  await status(client.delete(), 200);
  world.clock.advance(400);
  await status(at(other, client).request(2, "ping"), 200);
  world.clock.advance(601);
  await status(at(other, client).request(3, "ping"), 404);
});

proves("cluster:session:refusal-reads", { wire }, "a process that does not know a session reads it", async (t) => {
  const world = new NodesWorld(t);
  const [one, other] = [world.node(undefined, silent), world.node(undefined, silent)];
  await status(at(other, await one.endpoint.open()).request(1, "ping"), 200);
});

proves("cluster:stream:stored-first", { wire }, "a message is sent after it was stored", async (t) => {
  const world = new NodesWorld(t, { resumable: true });
  const stored = gate();
  const one = world.node(
    ({ server }) =>
      server.tool("work", {}, async (_args, ctx) => {
        await ctx.progress(1);
        return "done";
      }),
    (cluster) => slow(cluster, stored.opened),
  );
  const client = await one.endpoint.open();
  const call = client.call(1, "work");
  await until(() => blocks(call).length === 1, "the first event");
  await settle();
  deepEqual(messages(call), []);
  stored.open();
  await call.done;
  deepEqual(
    messages(call).map(({ method, id }) => method ?? id),
    ["notifications/progress", 1],
  );
});
