import { deepEqual, equal, ok, rejects } from "node:assert/strict";
import { McpServer } from "bowline/server";
import * as z from "zod";
import { channelWires, eachWire, legacyChannels, modernHttp } from "../../support/each-wire.js";
import { aborted, gate } from "../../support/gate.js";
import { RawClient, scriptedServers, tokenOf, toolText } from "../../support/raw-peer.js";
import { verifies } from "../../support/verifies.js";

const me = { name: "scenario", version: "1.0.0" };

verifies("protocol:notifications:no-id", eachWire, async ({ connect, era, transport }) => {
  const started = gate();
  const server = new McpServer(me, { capabilities: { logging: true } })
    .tool("talk", {}, async (_, ctx) => {
      await ctx.progress(1);
      await ctx.log("error", "words");
      await ctx.notify("vendor/event", { a: 1 });
    })
    .tool("wait", {}, async (_, ctx) => {
      started.open();
      await aborted(ctx.signal);
    })
    .tool("page", {}, async (_, ctx) => {
      await ctx.elicitUrl("Look", "https://x.test/", { elicitationId: "page" });
    })
    .prompt("p", {}, () => "x")
    .resource("note://1", { name: "n" }, () => "x");
  const client = await connect(server, { roots: [], onElicitUrl: () => ({ action: "accept" }) });
  await client.setLogLevel("debug");
  const lists = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true };
  const watch = await client.watch({ ...lists, resources: ["note://1"] });
  await client.callTool("talk", {}, { onProgress: () => {} });
  server.tool("more", {}, () => "x");
  server.prompt("more", {}, () => "x");
  server.resource("note://2", { name: "m" }, () => "x");
  server.changes.resourceUpdated("note://1");
  const changes = watch[Symbol.asyncIterator]();
  for (let change = 0; change < 4; change++) await changes.next();
  await client.callTool("page");
  server.elicitationCompleted("page");
  if (era === "legacy") await client.elicitationCompleted("page");
  const abort = new AbortController();
  const given = client.callTool("wait", {}, { signal: abort.signal });
  await started.opened;
  abort.abort("enough");
  await rejects(given, /^enough$/);
  if (era === "legacy") await client.notify("notifications/roots/list_changed");
  await client.notify("vendor/hello", {});
  await watch.close();
  await client.listTools();
  const sent = client.wire.frames.flatMap(({ message }) => (message?.method === undefined ? [] : [message]));
  const notifications = sent.filter(
    ({ method = "" }) => method.startsWith("notifications/") || method.startsWith("vendor/"),
  );
  const names = (members: readonly string[]) => members.map((member) => `notifications/${member}`);
  const isShared = transport === "memory" || transport === "stdio";
  deepEqual(
    [...new Set(notifications.map(({ method }) => method))].sort(),
    [
      ...names(["message", "progress", "prompts/list_changed", "resources/list_changed", "resources/updated"]),
      ...names(["tools/list_changed", ...(era === "legacy" || isShared ? ["cancelled"] : [])]),
      ...names(
        era === "legacy"
          ? ["elicitation/complete", "initialized", "roots/list_changed"]
          : ["subscriptions/acknowledged"],
      ),
      "vendor/event",
      "vendor/hello",
    ].sort(),
  );
  for (const notification of notifications) ok(!("id" in notification), JSON.stringify(notification));
});

verifies(
  ["protocol:notifications:no-response", "protocol:notifications:handler-throws"],
  channelWires,
  async (world) => {
    const reported: unknown[] = [];
    const thrown = new Error("thrown");
    const rejected = new Error("rejected");
    const both = gate();
    const onError = (error: unknown) => {
      reported.push(error);
      if (reported.includes(thrown) && reported.includes(rejected)) both.open();
    };
    const server = new McpServer(me, { onError })
      .onNotification("vendor/throws", {}, () => {
        throw thrown;
      })
      .onNotification("vendor/rejects", {}, async () => {
        throw rejected;
      })
      .onNotification("vendor/strict", { params: z.object({ a: z.number() }) }, () => {});
    const client = await RawClient.open(world, server);
    client.notify("vendor/throws", {});
    client.notify("vendor/rejects", {});
    client.notify("vendor/unknown", {});
    client.notify("vendor/strict", { a: "no number" });
    client.notify("notifications/progress", { progressToken: true });
    client.notify("notifications/roots/list_changed", {});
    const before = client.peer.messages.length;
    await client.barrier();
    equal(client.peer.messages.length, before + 1);
    await both.opened;
    equal((await client.request(1, "no/such")).error?.code, -32601);
  },
);

verifies("protocol:notifications:no-response", "by a client", scriptedServers, async ({ peer, connect }) => {
  const problems: unknown[] = [];
  const thrown = new Error("thrown");
  const client = await connect({
    onError: (error) => problems.push(error),
    onNotification: ({ method }) => {
      if (method === "vendor/throws") throw thrown;
    },
  });
  const frames = () => client.wire.frames.filter(({ from }) => from === "client").length;
  const before = frames();
  for (const method of ["vendor/throws", "vendor/unknown", "notifications/tools/list_changed"]) peer.send({ method });
  peer.send({ method: "notifications/resources/updated", params: { uri: 5 } });
  const call = client.callTool("x");
  const { id } = await peer.asked("tools/call");
  peer.send({ id, result: toolText("fine") });
  equal((await call).text, "fine");
  equal(frames(), before + 1);
  ok(problems.includes(thrown));
});

verifies("protocol:notifications:handler-throws", "in a client", scriptedServers, async ({ peer, connect }) => {
  const problems: unknown[] = [];
  const [thrown, rejected] = [new Error("thrown"), new Error("rejected")];
  const client = await connect({
    onError: (error) => problems.push(error),
    onNotification: ({ method }) => {
      if (method === "vendor/throws") throw thrown;
      return Promise.reject(rejected);
    },
  });
  peer.send({ method: "vendor/throws" });
  peer.send({ method: "vendor/rejects" });
  const call = client.callTool("x");
  const { id } = await peer.asked("tools/call");
  peer.send({ id, result: toolText("fine") });
  equal((await call).text, "fine");
  deepEqual(problems, [thrown, rejected]);
});

verifies("protocol:notifications:unknown-ignored", eachWire, async ({ connect }) => {
  const problems: unknown[] = [];
  const errors: string[] = [];
  const logger = { error: (message: string) => errors.push(message) };
  const onError = (error: unknown) => problems.push(error);
  const server = new McpServer(me, { onError, logger }).tool("talk", {}, (_, ctx) => {
    void ctx.notify("vendor/unknown", { a: 1 });
    return "said";
  });
  const client = await connect(server, { onError, logger });
  await client.notify("vendor/unknown", { a: 1 });
  await client.notify("notifications/cancelled", { requestId: "nothing" });
  equal((await client.callTool("talk")).text, "said");
  deepEqual(problems, []);
  deepEqual(errors, []);
});

verifies(
  ["protocol:notifications:malformed-dropped", "custom-methods:notification-handler"],
  eachWire,
  async (world) => {
    const reported: unknown[] = [];
    const received: unknown[] = [];
    let arrived = gate();
    const server = new McpServer(me, {
      onError: (error) => {
        reported.push(error);
        arrived.open();
      },
    })
      .onNotification("vendor/event", { params: z.object({ n: z.coerce.number() }) }, (params) => {
        received.push(params);
        arrived.open();
      })
      .tool("one", {}, () => "1");
    const client = await world.connect(server);
    await client.notify("vendor/event", { n: "not a number" });
    await arrived.opened;
    equal(reported.length, 1);
    deepEqual(received, []);
    arrived = gate();
    await client.notify("vendor/event", { n: "5" });
    await arrived.opened;
    deepEqual(received, [{ n: 5 }]);
    equal(reported.length, 1);
  },
);

verifies("protocol:notifications:malformed-dropped", "by a client", scriptedServers, async ({ peer, connect }) => {
  const problems: unknown[] = [];
  const received: unknown[] = [];
  const client = await connect({
    onError: (error) => problems.push(error),
    onNotification: ({ params }) => void received.push(params),
  });
  peer.send({ method: "notifications/message", params: { level: "loud", data: 1 } });
  peer.send({ method: "notifications/message", params: { level: "info", data: 2 } });
  const call = client.callTool("x");
  const { id } = await peer.asked("tools/call");
  peer.send({ id, result: toolText("fine") });
  await call;
  deepEqual(received, [{ level: "info", data: 2 }]);
  equal(problems.length, 1);
});

verifies("protocol:notifications:order", eachWire, async ({ connect }) => {
  const seen: unknown[] = [];
  const server = new McpServer(me).tool("talk", {}, (_, ctx) => {
    for (const n of [1, 2, 3]) void ctx.notify("vendor/event", { n });
    void ctx.progress(4);
    return "answer";
  });
  const client = await connect(server, { onNotification: ({ params }) => void seen.push(params?.n) });
  const onProgress = ({ progress }: { progress: number }) => seen.push(progress);
  await client.callTool("talk", {}, { onProgress }).then(() => seen.push("answer"));
  deepEqual(seen, [1, 2, 3, 4, "answer"]);
});

verifies("protocol:notifications:order", "of one chunk", scriptedServers, async ({ peer, connect }) => {
  const seen: unknown[] = [];
  const client = await connect({ onNotification: ({ params }) => void seen.push(params?.n) });
  const call = client.callTool("x", {}, { onProgress: ({ progress }) => seen.push(progress) });
  const request = await peer.asked("tools/call");
  for (const n of [1, 2]) peer.send({ method: "vendor/event", params: { n } });
  peer.send({ method: "notifications/progress", params: { progressToken: tokenOf(request), progress: 3 } });
  peer.send({ id: request.id, result: toolText("x") });
  await call.then(() => seen.push("answer"));
  deepEqual(seen, [1, 2, 3, "answer"]);
});

verifies("protocol:notifications:order", "at a server", channelWires, async (world) => {
  const seen: unknown[] = [];
  const server = new McpServer(me)
    .onNotification("vendor/event", { params: z.object({ n: z.number() }) }, ({ n }) => void seen.push(n))
    .onNotification("vendor/plain", {}, ({ n }) => void seen.push(n));
  const client = await RawClient.open(world, server);
  for (const n of [1, 2, 3, 4]) client.notify(n % 2 === 0 ? "vendor/plain" : "vendor/event", { n });
  await client.barrier();
  deepEqual(seen, [1, 2, 3, 4]);
});

verifies("protocol:message:params-omitted", legacyChannels, async (world) => {
  const client = await world.connect(new McpServer(me).tool("one", {}, () => "1"));
  await client.notify("vendor/bare");
  await client.request("tools/list");
  const bare = client.wire.frames.filter(({ message }) => {
    return ["vendor/bare", "tools/list", "notifications/initialized"].includes(message?.method ?? "");
  });
  equal(bare.length, 3);
  for (const { text } of bare) ok(!text.includes('"params"'), text);
});

verifies("protocol:message:params-omitted", "of notifications", modernHttp, async ({ connect }) => {
  const client = await connect(new McpServer(me).tool("one", {}, () => "1"));
  await client.notify("vendor/bare");
  const [bare] = client.wire.frames.filter(({ message }) => message?.method === "vendor/bare");
  ok(bare !== undefined && !bare.text.includes('"params"'), bare?.text);
});

verifies("protocol:fallback-notification-handler", eachWire, async ({ connect }) => {
  const fallback: string[] = [];
  const own: unknown[] = [];
  let arrived = gate();
  const server = new McpServer(me)
    .onNotification("vendor/known", {}, (params) => {
      own.push(params);
      arrived.open();
    })
    .onNotification(({ method }) => {
      fallback.push(method);
      arrived.open();
    });
  const client = await connect(server);
  for (const method of ["vendor/known", "vendor/other", "vendor/known"]) {
    arrived = gate();
    await client.notify(method, { x: 1 });
    await arrived.opened;
  }
  equal(own.length, 2);
  deepEqual(fallback, ["vendor/other"]);
});

verifies("protocol:fallback-notification-handler", "of a client", scriptedServers, async ({ peer, connect }) => {
  const fallback: string[] = [];
  const own: unknown[] = [];
  const client = await connect({
    notifications: { "vendor/known": (params) => void own.push(params) },
    onNotification: ({ method }) => void fallback.push(method),
  });
  for (const method of ["vendor/known", "vendor/other", "constructor"]) peer.send({ method, params: { x: 1 } });
  const call = client.callTool("x");
  const { id } = await peer.asked("tools/call");
  peer.send({ id, result: toolText("fine") });
  await call;
  deepEqual(own, [{ x: 1 }]);
  deepEqual(fallback, ["vendor/other", "constructor"]);
});
