import { deepEqual, equal, ok } from "node:assert/strict";
import { McpServer } from "bowline/server";
import { FakeClock } from "bowline/testing";
import { legacyChannels, legacyWires } from "../../support/each-wire.js";
import { aborted, gate } from "../../support/gate.js";
import { RawClient } from "../../support/raw-peer.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const question = { messages: [], maxTokens: 1 };

verifies(
  ["protocol:timeout:sends-cancellation", "protocol:timeout:per-request", "protocol:timeout:session-survives"],
  "by a server that asks",
  legacyWires,
  async ({ connect }) => {
    const clock = new FakeClock();
    const asked = gate();
    const stopped = gate<unknown>();
    const server = new McpServer(me, { clock, limits: { askTimeoutMs: 10_000 } })
      .tool("ask", {}, async (_, ctx) => {
        const error = await ctx.sample(question, { timeoutMs: 100 }).catch((reason: unknown) => reason);
        return `${(error as { code?: unknown }).code} ${(error as { afterMs?: unknown }).afterMs}`;
      })
      .tool("roots", {}, async (_, ctx) => String((await ctx.listRoots()).length));
    const client = await connect(server, {
      roots: [],
      onSample: async (_, { signal }) => {
        asked.open();
        const reason = await aborted(signal);
        stopped.open(reason);
        throw reason;
      },
    });
    const call = client.callTool("ask");
    await asked.opened;
    clock.advance(100);
    equal((await call).text, "timeout 100");
    ok((await stopped.opened) instanceof Error);
    const [request] = client.wire.serverRequests("sampling/createMessage");
    deepEqual(
      client.wire.notifications("server", "notifications/cancelled").map(({ params }) => params?.requestId),
      [request?.id],
    );
    equal((await client.callTool("roots")).text, "0");
  },
);

verifies("protocol:timeout:late-response-dropped", "by a server that asked", legacyChannels, async (world) => {
  const clock = new FakeClock();
  const reported: unknown[] = [];
  const server = new McpServer(me, { clock, onError: (error) => reported.push(error) }).tool(
    "ask",
    {},
    async (_, ctx) => {
      await ctx.listRoots({ timeoutMs: 100 }).catch(() => {});
      const roots = await ctx.listRoots();
      return roots.map(({ uri }) => uri).join();
    },
  );
  const client = await RawClient.open(world, server, { capabilities: { roots: {} } });
  const answered = client.request("call", "tools/call", { name: "ask", arguments: {} });
  const late = await client.peer.asked("roots/list");
  clock.advance(100);
  const right = await client.peer.asked("roots/list");
  client.peer.send({ id: late.id, result: { roots: [{ uri: "file:///late" }] } });
  client.peer.send({ id: right.id, result: { roots: [{ uri: "file:///right" }] } });
  deepEqual((await answered).result?.content, [{ type: "text", text: "file:///right" }]);
  deepEqual(reported, []);
});
