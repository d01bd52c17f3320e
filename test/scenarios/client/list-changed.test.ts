import { deepEqual, equal, ok } from "node:assert/strict";
import type { Tool } from "bowline";
import type { ListUpdate } from "bowline/client";
import { McpServer } from "bowline/server";
import { eachWire, legacyWires, modernWires } from "../../support/each-wire.js";
import { gate } from "../../support/gate.js";
import { RawServer, rawError } from "../../support/server-script.js";
import { proves, verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };

/** Collects updates; `next` waits for one more. */
class Updates<T> {
  readonly seen: ListUpdate<T>[] = [];
  #arrived = gate();

  readonly onChange = (update: ListUpdate<T>): void => {
    this.seen.push(update);
    this.#arrived.open();
    this.#arrived = gate();
  };

  async next(count: number): Promise<void> {
    while (this.seen.length < count) await this.#arrived.opened;
  }
}

verifies("client:list-changed:auto-refresh", legacyWires, async ({ connect }) => {
  const server = new McpServer(me).tool("one", {}, () => "");
  const tools = new Updates<Tool>();
  const client = await connect(server, { onListChanged: { tools } });
  equal(client.wire.requests("tools/list").length, 0);
  server.tool("two", {}, () => "");
  await tools.next(1);
  deepEqual(
    tools.seen[0]?.items?.map(({ name }) => name),
    ["one", "two"],
  );
  equal(client.wire.requests("tools/list").length, 1);
});

for (const era of ["legacy", "modern"] as const) {
  const id = era === "legacy" ? "client:list-changed:auto-refresh" : "client:listen:auto-refresh";
  proves(id, { wire: `${era}-memory` }, "a burst is read once", async (t) => {
    const { server, tools, client } = await announcing(era, t, { listChanged: true });
    for (let n = 0; n < 3; n++) server.change();
    await tools.next(1);
    equal(client.wire.requests("tools/list").length, 1);
    equal(tools.seen.length, 1);
    server.change();
    await tools.next(2);
    equal(client.wire.requests("tools/list").length, 2);
  });

  proves(
    "client:list-changed:capability-gated",
    { wire: `${era}-memory` },
    "what is not announced is not heard",
    async (t) => {
      const { server, tools, client, heard } = await announcing(era, t, {});
      server.change();
      await heard.opened;
      await client.callTool("t");
      await new Promise((resolve) => setTimeout(resolve, 0));
      equal(client.wire.requests("tools/list").length, 0);
      equal(client.wire.requests("subscriptions/listen").length, 0);
      equal(tools.seen.length, 0);
    },
  );

  proves("client:list-changed:signal-only", { wire: `${era}-memory` }, "nothing is read", async (t) => {
    const { server, tools, client } = await announcing(era, t, { listChanged: true }, false);
    server.change();
    await tools.next(1);
    deepEqual(tools.seen, [{}]);
    equal(client.wire.requests("tools/list").length, 0);
  });

  proves(
    "client:list-changed:refresh-error",
    { wire: `${era}-memory` },
    "a failure is told, and not the end",
    async (t) => {
      let fails = true;
      const { server, tools } = await announcing(era, t, { listChanged: true }, true, () => {
        const failing = fails;
        fails = false;
        return failing ? rawError(-32603, "not now") : { tools: [] };
      });
      server.change();
      await tools.next(1);
      ok(tools.seen[0]?.error instanceof Error && tools.seen[0].error.message === "not now");
      server.change();
      await tools.next(2);
      deepEqual(tools.seen[1], { items: [] });
    },
  );
}

async function announcing(
  era: "legacy" | "modern",
  t: Parameters<RawServer["connect"]>[0],
  capability: object,
  refetch = true,
  list: () => ReturnType<typeof rawError> | { tools: Tool[] } = () => ({ tools: [] }),
) {
  const heard = gate();
  const tools = new Updates<Tool>();
  let subscription: unknown;
  const raw = new RawServer({
    era,
    capabilities: { tools: capability },
    handlers: {
      "tools/list": () => list() as ReturnType<typeof rawError>,
      "tools/call": () => ({ content: [] }),
      "subscriptions/listen": (params, id) => {
        subscription = id;
        const _meta = { "io.modelcontextprotocol/subscriptionId": id };
        raw.notify("notifications/subscriptions/acknowledged", { notifications: params.notifications, _meta });
        return new Promise(() => {});
      },
    },
  });
  const client = await raw.connect(t, {
    onListChanged: { tools: { onChange: tools.onChange, refetch } },
    onNotification: () => heard.open(),
  });
  const change = () => {
    const _meta =
      subscription === undefined ? undefined : { _meta: { "io.modelcontextprotocol/subscriptionId": subscription } };
    raw.notify("notifications/tools/list_changed", _meta);
  };
  return { server: { change }, tools, client, heard };
}

verifies("client:listen:auto-refresh", modernWires, async ({ connect }) => {
  const server = new McpServer(me, { capabilities: { prompts: { listChanged: false } } })
    .tool("one", {}, () => "")
    .prompt("p", {}, () => "");
  const tools = new Updates<Tool>();
  const ignored = { onChange: () => {} };
  const client = await connect(server, { onListChanged: { tools, prompts: ignored, resources: ignored } });
  const [listen] = client.wire.requests("subscriptions/listen");
  deepEqual(listen?.params?.notifications, { toolsListChanged: true });
  server.tool("two", {}, () => "");
  await tools.next(1);
  deepEqual(
    tools.seen[0]?.items?.map(({ name }) => name),
    ["one", "two"],
  );
  const idle = await connect(server, { onListChanged: { resources: ignored } });
  equal(idle.wire.requests("subscriptions/listen").length, 0);
  await client.close();
  await client.wire.until(({ exchanges }) => exchanges.every(({ ended, gone }) => ended || gone));
});

verifies("client:list-changed:signal-only", eachWire, async ({ connect }) => {
  const server = new McpServer(me).tool("one", {}, () => "");
  const tools = new Updates<Tool>();
  const client = await connect(server, { onListChanged: { tools: { onChange: tools.onChange, refetch: false } } });
  server.tool("two", {}, () => "");
  await tools.next(1);
  deepEqual(tools.seen, [{}]);
  equal(client.wire.requests("tools/list").length, 0);
});
