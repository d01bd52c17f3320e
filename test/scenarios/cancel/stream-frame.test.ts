import { deepEqual, equal, rejects } from "node:assert/strict";
import { connect, TimeoutError } from "bowline/client";
import { McpServer } from "bowline/server";
import { createChannelPair, FakeClock } from "bowline/testing";
import {
  channelWires,
  createPipePair,
  eachWire,
  modernChannels,
  type RecordedClient,
} from "../../support/each-wire.js";
import { aborted, gate } from "../../support/gate.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };

const cancelledIds = (client: RecordedClient) =>
  client.wire.notifications("client", "notifications/cancelled").map(({ params }) => params?.requestId);

verifies("protocol:cancel:stream-frame", modernChannels, async (world) => {
  const clock = new FakeClock();
  let started = gate();
  const server = new McpServer(me)
    .tool("wait", {}, async (_, ctx) => {
      started.open();
      await aborted(ctx.signal);
    })
    .tool("quick", {}, () => "done");
  const client = await world.connect(server, { clock });

  for (const id of [7, "7", 0, ""]) {
    started = gate();
    const abort = new AbortController();
    const call = client.callTool("wait", {}, { id, signal: abort.signal });
    await started.opened;
    abort.abort("enough");
    await rejects(call, (reason) => reason === "enough");
  }
  started = gate();
  const timed = client.callTool("wait", {}, { id: "timed", timeoutMs: 1000 });
  await started.opened;
  clock.advance(1000);
  await rejects(timed, TimeoutError);
  const watch = await client.watch({ toolsListChanged: true });
  const listenId = client.wire.requests("subscriptions/listen")[0]?.id;
  await watch.close();

  const late = new AbortController();
  await client.callTool("quick", {}, { signal: late.signal });
  late.abort("too late");
  await client.callTool("quick");
  deepEqual(cancelledIds(client), [7, "7", 0, "", "timed", listenId]);
});

verifies("protocol:cancel:unsent-request-no-frame", eachWire, async (world) => {
  const client = await world.connect(new McpServer(me).tool("quick", {}, () => "done"));
  await rejects(client.callTool("quick", {}, { signal: AbortSignal.abort("no") }), (reason) => reason === "no");
  await client.callTool("quick");
  equal(client.wire.requests("tools/call").length, 1);
  deepEqual(cancelledIds(client), []);
});

verifies("protocol:cancel:unsent-request-no-frame", "a write that fails", channelWires, async ({ era, transport }) => {
  const [ours, theirs] = transport === "stdio" ? createPipePair() : createChannelPair();
  const server = new McpServer(me).tool("quick", {}, () => "done");
  await server.accept(theirs);
  const sent: string[] = [];
  let broken = false;
  const channel = {
    open: (events: Parameters<typeof ours.open>[0]) => ours.open(events),
    close: () => ours.close(),
    send(text: string) {
      sent.push(text);
      if (broken) throw new Error("the pipe is broken");
      return ours.send(text);
    },
  };
  await using client = await connect({ channel }, { era });
  broken = true;
  const abort = new AbortController();
  await rejects(client.callTool("quick", {}, { signal: abort.signal }), {
    code: "connection_error",
    delivery: "sent",
  });
  broken = false;
  abort.abort();
  equal((await client.callTool("quick")).text, "done");
  equal(
    sent.some((text) => text.includes("notifications/cancelled")),
    false,
  );
});
