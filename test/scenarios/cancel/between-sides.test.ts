import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { McpServer } from "bowline/server";
import { FakeClock } from "bowline/testing";
import * as z from "zod";
import { legacyChannels, legacyWires, modernChannels } from "../../support/each-wire.js";
import { aborted, gate } from "../../support/gate.js";
import { RawClient, RawPeer, scriptedLegacy, scriptedModern, toolText } from "../../support/raw-peer.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };
const question = { messages: [], maxTokens: 1 };

verifies("protocol:cancel:initialize-ignored", legacyChannels, async (world) => {
  const peer = await RawPeer.open(await world.channel(new McpServer(me)));
  const params = { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } };
  const answer = peer.answerTo(1);
  peer.send({ id: 1, method: "initialize", params });
  peer.send({ method: "notifications/cancelled", params: { requestId: 1 } });
  equal((await answer).result?.protocolVersion, "2025-11-25");
});

verifies("protocol:cancel:sender-targeting", scriptedLegacy, async ({ peer, connect }) => {
  const asked = gate<AbortSignal>();
  const release = gate();
  const client = await connect({
    onSample: async (_, { signal }) => {
      asked.open(signal);
      await release.opened;
      return { role: "assistant", model: "m", content: { type: "text", text: "hello" } };
    },
  });
  const abort = new AbortController();
  const call = client.callTool("wait", {}, { id: 1, signal: abort.signal });
  await peer.asked("tools/call");
  peer.send({ id: 1, method: "sampling/createMessage", params: question });
  const signal = await asked.opened;
  abort.abort("enough");
  await rejects(call, (reason) => reason === "enough");
  equal((await peer.asked("notifications/cancelled")).params?.requestId, 1);
  equal(signal.aborted, false);
  release.open();
  equal((await peer.answerTo(1)).result?.model, "m");
  equal(client.wire.notifications("client", "notifications/cancelled").length, 1);
});

verifies("protocol:cancel:sender-targeting", "only what is in progress", scriptedModern, async ({ peer, connect }) => {
  const client = await connect();
  const [one, two] = [new AbortController(), new AbortController()];
  const first = client.callTool("a", {}, { id: 1, signal: one.signal });
  const second = client.callTool("b", {}, { id: 2, signal: two.signal });
  await peer.asked("tools/call");
  await peer.asked("tools/call");
  // The server's word about an id is about a request of its own kind, never about this call.
  peer.send({ method: "notifications/cancelled", params: { requestId: 2 } });
  one.abort("enough");
  await rejects(first, (reason) => reason === "enough");
  peer.send({ id: 2, result: toolText("done") });
  equal((await second).text, "done");
  two.abort("too late");
  const last = client.callTool("c");
  const { id } = await peer.asked("tools/call");
  peer.send({ id, result: toolText("last") });
  await last;
  deepEqual(
    client.wire.notifications("client", "notifications/cancelled").map(({ params }) => params?.requestId),
    [1],
  );
});

verifies(["protocol:cancel:server-to-client", "protocol:cancel:reason-logged"], legacyWires, async (world) => {
  const logged: (Record<string, unknown> | undefined)[] = [];
  const asked: { signal: AbortSignal }[] = [];
  let arrived = gate();
  const wait = async ({ signal }: { signal: AbortSignal }): Promise<never> => {
    asked.push({ signal });
    arrived.open();
    throw await aborted(signal);
  };
  const abort = { now: new AbortController() };
  const server = new McpServer(me)
    .tool("sample", {}, (_, ctx) => attempt(ctx.sample(question, { signal: abort.now.signal })))
    .tool("elicit", {}, (_, ctx) => attempt(ctx.elicit("Sure?", z.object({}), { signal: abort.now.signal })))
    .tool("roots", {}, (_, ctx) => attempt(ctx.listRoots({ signal: abort.now.signal })));
  const client = await world.connect(server, {
    onSample: (_, ctx) => wait(ctx),
    onElicit: (_, ctx) => wait(ctx),
    roots: async (ctx) => wait(ctx),
    logger: { debug: (_, fields) => logged.push(fields) },
  });
  for (const [tool, method] of [
    ["sample", "sampling/createMessage"],
    ["elicit", "elicitation/create"],
    ["roots", "roots/list"],
  ] as const) {
    abort.now = new AbortController();
    arrived = gate();
    const call = client.callTool(tool);
    await arrived.opened;
    abort.now.abort("not needed");
    equal((await call).text, "gave up: not needed");
    const [request] = client.wire.serverRequests(method);
    await client.wire.until((wire) =>
      wire.notifications("server", "notifications/cancelled").some(({ params }) => params?.requestId === request?.id),
    );
    const { signal } = asked.pop() as { signal: AbortSignal };
    equal(((await aborted(signal)) as Error).message, "not needed");
    const answers = client.wire.frames.filter(({ from, message }) => {
      return from === "client" && message?.method === undefined && message?.id === request?.id;
    });
    deepEqual(answers, []);
    ok(
      logged.some((fields) => fields?.method === method && fields.reason === "not needed" && fields.id === request?.id),
    );
  }
  // All of it came on the streams of the calls: a stream of the session's own may carry nothing that belongs to a call.
  for (const { method, frames } of client.wire.exchanges) if (method === "GET") deepEqual(frames, []);
  if (world.transport === "memory" || world.transport === "stdio") return;
  for (const tool of ["sample", "elicit", "roots"]) {
    const call = client.wire.exchanges.find(({ body }) => body?.includes(`"name":"${tool}"`));
    const asked = call?.frames.find(({ from, message }) => from === "server" && message?.id !== undefined)?.message;
    const told = call?.frames.find(({ message }) => message?.method === "notifications/cancelled")?.message;
    ok(asked?.method !== undefined);
    equal(told?.params?.requestId, asked.id);
  }
});

async function attempt(question: Promise<unknown>): Promise<string> {
  try {
    await question;
    return "answered";
  } catch (reason) {
    return `gave up: ${reason}`;
  }
}

verifies("protocol:cancel:server-only-listen", modernChannels, async (world) => {
  const clock = new FakeClock();
  const started = gate();
  const server = new McpServer(me, { clock, onError: () => {} })
    .tool("wait", {}, async (_, ctx) => {
      started.open();
      await aborted(ctx.signal);
    })
    .tool("asks", {}, (_, ctx) => ctx.sample(question, { timeoutMs: 10 }))
    .method("vendor/fails", {}, () => {
      throw new Error("a failure");
    });
  const client = await RawClient.open(world, server, { capabilities: { sampling: {} } });
  client.send("sub", "subscriptions/listen", { notifications: { toolsListChanged: true } });
  client.send(1, "tools/call", { name: "wait", arguments: {} });
  await started.opened;
  await client.request(2, "vendor/fails");
  await client.request(3, "tools/call", { name: "asks", arguments: {} });
  clock.advance(1_000_000);
  await server.close();
  await client.peer.closed;
  const cancelled = client.peer.messages.filter(({ method }) => method === "notifications/cancelled");
  deepEqual(
    cancelled.map(({ params }) => params?.requestId),
    ["sub"],
  );
});
